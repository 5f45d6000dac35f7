import { randomFillSync } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Random, Scheduler } from '@lockstep/model';
import {
  createStateMachine,
  type Extension,
  encodeCheckHash,
  encodeHello,
  FEATURE_LEVEL,
} from '@lockstep/state-machine';
import { DataDirectory, LevelImageDirectory, NodeFileSystem, openWal } from '@lockstep/storage';
import { type Mesh, openMesh } from '@lockstep/transport';
import { type MemberReplica, openReplica, type Tuning } from '../src/index.ts';
import { journalExtension } from './journal-extension.ts';

export const nodeClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
export const nodeScheduler: Scheduler = { post: (callback) => void setImmediate(callback) };
const word = new Uint32Array(1);
const nodeRandom: Random = {
  u32: () => randomFillSync(word)[0]!,
  fill: (bytes) => void randomFillSync(bytes),
};

const CLUSTER = '00000000000000ee';

function call<T>(run: (done: (error: unknown, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    run((error, value) => {
      if (error === undefined) resolve(value);
      else reject(new Error(JSON.stringify(error)));
    });
  });
}

/** A data directory with its next incarnation taken, and the mesh that listens for the member. */
export interface Prepared {
  readonly id: number;
  readonly path: string;
  readonly directory: DataDirectory;
  readonly incarnation: number;
  readonly mesh: Mesh;
}

export async function prepare(root: string, id: number, listen: string): Promise<Prepared> {
  const path = join(root, `member-${id}`);
  mkdirSync(path, { recursive: true });
  const files = new NodeFileSystem(path);
  const identity = { uuid: `uuid-${id}`, name: `n${id}`, member: id, cluster: CLUSTER };
  const directory = await call<DataDirectory>((done) => DataDirectory.open(files, done)).catch(() =>
    call<DataDirectory>((done) => DataDirectory.create(files, identity, done)),
  );
  const incarnation = await call<number>((done) => directory.nextIncarnation(done));
  const mesh = await call<Mesh>((done) => {
    const dataDirectory = identity.uuid;
    openMesh({ listen, cluster: CLUSTER, member: id, incarnation, dataDirectory }, done);
  });
  return { id, path, directory, incarnation, mesh };
}

export function open(
  prepared: Prepared,
  addresses: ReadonlyMap<number, string>,
  onFatal: (error: Error) => void,
  options: { readonly extensions?: readonly Extension[]; readonly tuning?: Partial<Tuning> } = {},
): Promise<MemberReplica> {
  const { id, path, directory, incarnation, mesh } = prepared;
  const voters = [...addresses.keys()];
  return call((done) =>
    openReplica(
      {
        identity: { cluster: CLUSTER, member: id },
        incarnation,
        bootstrap: { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
        peers: voters.map((peer) => ({ id: peer, address: addresses.get(peer)! })),
        clock: nodeClock,
        random: nodeRandom,
        scheduler: nodeScheduler,
        network: mesh,
        openLog: openWal(new NodeFileSystem(path), { scheduler: nodeScheduler, clock: nodeClock }),
        images: new LevelImageDirectory(join(path, 'images')),
        directory: {
          get image() {
            return directory.image;
          },
          nextIncarnation: (next) => directory.nextIncarnation(next),
          switchImage: (name, switched) => directory.setImage(name, switched),
        },
        createStateMachine: (image) =>
          createStateMachine({
            extensions: [journalExtension, ...(options.extensions ?? [])],
            image,
            bootstrap: {
              clusterId: 0xeen,
              members: voters.map((member) => ({
                id: member,
                name: `n${member}`,
                etcdId: BigInt(member),
                peerAddress: addresses.get(member)!,
              })),
              options: {},
              electionTimeoutMs: 500,
            },
          }),
        hello: (number) =>
          encodeHello({
            member: id,
            incarnation: number,
            name: '',
            version: '0.1.0',
            featureLevel: FEATURE_LEVEL,
            dataDirectory: `uuid-${id}`,
            addresses: {},
          }),
        hashCheck: encodeCheckHash,
        ...(options.tuning === undefined ? {} : { tuning: options.tuning }),
        heartbeatMs: 50,
        electionMs: 500,
        onFatal,
      },
      done,
    ),
  );
}
