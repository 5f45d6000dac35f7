import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FileError,
  type ImageDirectory,
  type ImageStore,
  type Network,
  type Random,
  toByteString,
  utf8Bytes,
} from '@lockstep/model';
import { type MemberReplica, openReplica, type Tuning } from '@lockstep/replica';
import { createStateMachine, encodeHello, FEATURE_LEVEL } from '@lockstep/state-machine';
import {
  DataDirectory,
  LevelImageDirectory,
  type LogState,
  NodeFileSystem,
  openWal,
} from '@lockstep/storage';
import { LoopbackHub } from '@lockstep/transport';
import {
  journalCommand,
  journalExtension,
  journalSpace,
} from '../../packages/replica/test/journal-extension.ts';
import { nodeClock, nodeScheduler } from '../../packages/replica/test/real-member.ts';

const CLUSTER = '00000000000000dd';
export const IDS = [1, 2, 3] as const;

/** Small files, so that a run copies little and a hit is seldom in unused zeros. */
const WAL_SIZES = {
  segmentBytes: 128 * 1024,
  firstSegmentBytes: 64 * 1024,
  cacheBytesMax: 32 * 1024,
};

/** How one run looks at, or into, what a member does. */
export interface Hooks {
  readonly wrapNetwork?: (network: Network) => Network;
  readonly wrapImages?: (images: ImageDirectory) => ImageDirectory;
}

/** One member on real files, in this process. */
export interface DamageMember {
  readonly id: number;
  /** Undefined when it refused to start. */
  replica: MemberReplica | undefined;
  logState: LogState | undefined;
  /** Why it refused to start, or stopped. */
  refusal: string | undefined;
  readonly said: string[];
  /** Health before the first turn. */
  firstHealth: string;
}

/** Members on the write-ahead log and classic-level, joined by a network in memory. */
export class DamageCluster {
  readonly root: string;
  readonly hub = new LoopbackHub(nodeScheduler);
  readonly members = new Map<number, DamageMember>();
  readonly #random: Random;
  readonly #tuning: Partial<Tuning>;
  readonly #stores = new Set<ImageStore>();

  constructor(root: string, random: Random, tuning: Partial<Tuning>) {
    this.root = root;
    this.#random = random;
    this.#tuning = tuning;
  }

  path(id: number): string {
    return join(this.root, `member-${id}`);
  }

  get running(): MemberReplica[] {
    return [...this.members.values()]
      .filter(({ refusal }) => refusal === undefined)
      .map(({ replica }) => replica!);
  }

  async start(id: number, hooks: Hooks = {}): Promise<DamageMember> {
    const path = this.path(id);
    mkdirSync(path, { recursive: true });
    const files = new NodeFileSystem(path);
    const directory = await openDirectory(files, id);
    const incarnation = await new Promise<number>((resolve, reject) => {
      directory.nextIncarnation((error, next) => (error ? reject(error) : resolve(next)));
    });
    const member: DamageMember = {
      id,
      replica: undefined,
      logState: undefined,
      refusal: undefined,
      said: [],
      firstHealth: '',
    };
    this.members.set(id, member);
    const images = this.#watch(
      new LevelImageDirectory(join(path, 'images'), { writeBufferBytes: 64 * 1024 }),
    );
    const network = this.hub.join(id, incarnation);
    const openLog = openWal(files, { scheduler: nodeScheduler, clock: nodeClock, ...WAL_SIZES });
    await new Promise<void>((resolve) => {
      openReplica(
        {
          identity: { cluster: CLUSTER, member: id },
          incarnation,
          bootstrap: {
            voters: [...IDS],
            votersOutgoing: [],
            learners: [],
            learnersNext: [],
            autoLeave: false,
          },
          peers: IDS.map((peer) => ({ id: peer, address: `member-${peer}` })),
          clock: nodeClock,
          random: this.#random,
          scheduler: nodeScheduler,
          network: hooks.wrapNetwork?.(network) ?? network,
          openLog: (identity, bootstrap, handlers, done) =>
            openLog(identity, bootstrap, handlers, (error, log, state) => {
              member.logState = state;
              done(error, log, state);
            }),
          images: hooks.wrapImages?.(images) ?? images,
          directory: {
            get image() {
              return directory.image;
            },
            nextIncarnation: (done) => directory.nextIncarnation(done),
            switchImage: (name, done) => directory.setImage(name, done),
          },
          createStateMachine: (image) =>
            createStateMachine({
              extensions: [journalExtension],
              image,
              bootstrap: {
                clusterId: 0xddn,
                members: IDS.map((peer) => ({
                  id: peer,
                  name: `n${peer}`,
                  etcdId: BigInt(peer),
                  peerAddress: `member-${peer}`,
                })),
                options: {},
                electionTimeoutMs: 200,
              },
            }),
          hello: (number) =>
            encodeHello({
              member: id,
              incarnation: number,
              name: `n${id}`,
              version: '0.1.0',
              featureLevel: FEATURE_LEVEL,
              dataDirectory: `uuid-${id}`,
              addresses: {},
            }),
          heartbeatMs: 20,
          electionMs: 200,
          tuning: this.#tuning,
          onFatal: (error) => {
            member.refusal ??= error.message;
          },
          log: (text) => member.said.push(text),
        },
        (error, replica) => {
          if (error === undefined) {
            member.replica = replica;
            member.firstHealth = replica.status().health;
          } else {
            member.refusal = error.message;
            network.close(() => {});
          }
          resolve();
        },
      );
    });
    return member;
  }

  /** Remembers every open image, so that each is closed whatever became of its member. */
  #watch(images: ImageDirectory): ImageDirectory {
    return {
      open: (name, create, done) =>
        images.open(name, create, (error, store) => {
          if (error === undefined) {
            this.#stores.add(store);
            const close = store.close.bind(store);
            store.close = (closed) => {
              this.#stores.delete(store);
              close(closed);
            };
          }
          done(error, store);
        }),
      remove: (name, done) => images.remove(name, done),
      rename: (from, to, done) => images.rename(from, to, done),
    };
  }

  async stop(id: number): Promise<void> {
    const { replica } = this.members.get(id)!;
    this.members.delete(id);
    if (replica !== undefined) await new Promise<void>((done) => replica.close(done));
  }

  async close(): Promise<void> {
    await Promise.all([...this.members.keys()].map((id) => this.stop(id)));
    for (const store of [...this.#stores]) {
      await new Promise<void>((done) => store.close(() => done()));
    }
  }

  /** A copy of all data directories as they are now. */
  copyTo(root: string): void {
    for (const id of IDS) cpSync(this.path(id), join(root, `member-${id}`), { recursive: true });
  }
}

async function openDirectory(files: NodeFileSystem, id: number): Promise<DataDirectory> {
  const identity = { uuid: `uuid-${id}`, name: `n${id}`, member: id, cluster: CLUSTER };
  return new Promise((resolve, reject) => {
    const opened = (error: FileError | undefined, directory: DataDirectory): void => {
      if (error?.code === 'ENOENT') DataDirectory.create(files, identity, opened);
      else if (error === undefined) resolve(directory);
      else reject(new Error(error.message));
    };
    DataDirectory.open(files, opened);
  });
}

/** Answer of the state machine, or the error's code. */
export function write(replica: MemberReplica, text: string): Promise<string> {
  return new Promise((resolve) => {
    replica.submit(journalCommand(text), {
      applied: (outcome) =>
        resolve(outcome.kind === 'done' ? String(outcome.result) : outcome.reason),
      failed: (error) => resolve(error.code),
    });
  });
}

export function has(replica: MemberReplica, text: string): boolean {
  return replica.state.get(journalSpace, toByteString(utf8Bytes(text))) !== undefined;
}
