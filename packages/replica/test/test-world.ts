import {
  type Clock,
  type FileError,
  type LockstepError,
  listenToMarks,
  type MemberId,
  type Network,
  type Random,
  type Scheduler,
  toByteString,
  utf8Bytes,
} from '@lockstep/model';
import {
  createStateMachine,
  type Extension,
  encodeCheckHash,
  encodeHello,
  FEATURE_LEVEL,
} from '@lockstep/state-machine';
import {
  DataDirectory,
  MemoryDisk,
  MemoryImageDisk,
  MemoryLogContents,
  openMemoryLog,
  openWal,
} from '@lockstep/storage';
import { LoopbackHub } from '@lockstep/transport';
import {
  isLedByAnother,
  type MemberDirectory,
  type MemberReplica,
  openReplica,
  peerRefusal,
  type ReplicaOptions,
  type Tuning,
} from '../src/index.ts';
import { journalCommand, journalExtension, journalSpace } from './journal-extension.ts';
import { VirtualTime } from './virtual-time.ts';

/** A small deterministic generator (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const u32 = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const fill = (bytes: Uint8Array) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = u32() & 255;
  };
  return { u32, fill };
}

export interface Answer {
  readonly text: string;
  readonly outcome: string;
}

/** One member: its disk outlives its process. */
export class TestMember {
  readonly id: MemberId;
  readonly log = new MemoryLogContents();
  readonly images: MemoryImageDisk;
  readonly disk: { image: string | undefined; incarnation: number };
  /** Medium of the write-ahead log and the data directory, where the world uses them. */
  readonly files: MemoryDisk;
  directory: DataDirectory | undefined;
  /** How long each of its disk operations takes. */
  diskDelayMs = 0;
  replica!: MemberReplica;
  network: Network | undefined;
  /** False once this process life is over; nothing of it runs any more. */
  life = { alive: false };
  /** Texts in the order this life's doors saw them. */
  journal: string[] = [];
  answers: Answer[] = [];
  skipped: [number, number][] = [];
  gossip: string[] = [];
  marks: string[] = [];
  fatal: Error | undefined;
  joins = false;
  /** Its event loop stands still until then; what comes meanwhile waits, frames in their queue. */
  stalledUntilMs = 0;

  constructor(id: MemberId, world: World) {
    this.id = id;
    const scheduler: Scheduler = {
      post: (callback) => world.time.post(() => world.runAs(this, callback)),
    };
    this.images = new MemoryImageDisk({ random: world.random, scheduler });
    this.disk = { image: undefined, incarnation: 0 };
    this.files = new MemoryDisk({ random: world.random, scheduler, clock: world.time });
    this.files.delayMs = () => this.diskDelayMs;
  }

  /** Submits a text and notes its answer. */
  write(text: string): void {
    this.replica.submit(journalCommand(text), {
      applied: (outcome) => {
        const told = outcome.kind === 'done' ? String(outcome.result) : outcome.reason;
        this.answers.push({ text, outcome: told });
      },
      failed: (error: LockstepError) => this.answers.push({ text, outcome: error.code }),
    });
  }

  has(text: string): boolean {
    return this.replica.state.get(journalSpace, toByteString(utf8Bytes(text))) !== undefined;
  }

  outcome(text: string): string | undefined {
    return this.answers.find((answer) => answer.text === text)?.outcome;
  }
}

export interface WorldOptions {
  readonly members?: number;
  readonly seed?: number;
  readonly tuning?: Partial<Tuning>;
  readonly requestTimeoutMs?: number;
  /** The real log and data directory on a memory disk, instead of their simple twins. */
  readonly wal?: boolean;
  /** Commands of the first entry, as each member would have it; then nothing is seeded before. */
  readonly formation?: (member: MemberId) => readonly Uint8Array[];
  /** Level that every member says it knows; left out: this software's. */
  readonly featureLevel?: number;
  /** Beside that of the journal. */
  readonly extensions?: readonly Extension[];
}

/** Small segments, so that a short run fills several. */
const WAL_SIZES = { segmentBytes: 32_768, firstSegmentBytes: 8192, cacheBytesMax: 16_384 };

function directoryOf(directory: DataDirectory): MemberDirectory {
  return {
    get image() {
      return directory.image;
    },
    nextIncarnation: (done) => directory.nextIncarnation(done),
    switchImage: (name, done) => directory.setImage(name, done),
  };
}

/** Members of one cluster on virtual time, loopback network and memory disks. */
export class World {
  readonly time = new VirtualTime();
  readonly random: Random;
  readonly hub = new LoopbackHub(this.time);
  readonly members: TestMember[] = [];
  readonly options: WorldOptions;
  /** Whose code runs: coverage marks are its. */
  #running: TestMember | undefined;

  constructor(options: WorldOptions = {}) {
    this.options = options;
    listenToMarks((name) => this.#running?.marks.push(name));
    this.random = seededRandom(options.seed ?? 1);
    const ids = Array.from({ length: options.members ?? 3 }, (_, i) => i + 1);
    for (const id of ids) this.members.push(new TestMember(id, this));
    for (const member of this.members) this.start(member);
  }

  runAs(member: TestMember, callback: () => void): void {
    const before = this.#running;
    this.#running = member;
    callback();
    this.#running = before;
  }

  get ids(): MemberId[] {
    return this.members.map((member) => member.id);
  }

  /** The only leader that its majority follows, if there is one. */
  get leader(): TestMember | undefined {
    const leaders = this.members.filter(
      (member) => member.life.alive && member.replica.status().role === 'leader',
    );
    return leaders.sort((a, b) => b.replica.status().term - a.replica.status().term)[0];
  }

  member(id: MemberId): TestMember {
    return this.members[id - 1]!;
  }

  elect(): TestMember {
    this.time.until('a leader is elected and in contact', () => {
      const { leader } = this;
      return leader?.replica.inContact === true && leader.replica.incarnation > 0;
    });
    return this.leader!;
  }

  followers(): TestMember[] {
    const { leader } = this;
    return this.members.filter((member) => member !== leader && member.life.alive);
  }

  /** A new process life of a member on the disk it has. */
  start(member: TestMember): void {
    const life = { alive: true };
    member.life = life;
    member.journal = [];
    member.fatal = undefined;
    const incarnation = this.#takeIncarnation(member);
    let opened: MemberReplica | undefined;
    member.network = this.hub.join(member.id, incarnation, (other) => {
      if (opened === undefined || !life.alive) return false;
      const theirs = { member: other, dataDirectory: `directory-${other}` };
      const isLed = isLedByAnother(opened, other);
      return peerRefusal(opened.state, theirs, false, isLed) === undefined;
    });
    openReplica(this.#optionsOf(member, life, incarnation), (error, replica) => {
      if (error !== undefined) throw new Error(`${error.message}`);
      opened = replica;
    });
    this.#stepUntil(() => opened !== undefined);
    member.replica = opened!;
    opened!.subscribe({
      transaction: ({ events }) => {
        for (const event of events) {
          if (event.kind === 'door') member.journal.push(String(event.payload));
        }
      },
      skipped: (from, to) => member.skipped.push([from, to]),
      gossip: (from, door, payload) => {
        member.gossip.push(`${from} ${door} ${toByteString(payload)}`);
      },
    });
  }

  /** Step by step: a test may look into what follows. */
  #stepUntil(condition: () => boolean): void {
    for (let i = 0; !condition(); i++) {
      if (i > 10_000) throw new Error('it does not come about');
      this.time.step();
    }
  }

  #takeIncarnation(member: TestMember): number {
    if (this.options.wal !== true) return ++member.disk.incarnation;
    const files = member.files.mount();
    const cluster = '00000000000000cc';
    const identity = { uuid: `directory-${member.id}`, name: '', member: member.id, cluster };
    let incarnation = 0;
    const opened = (error: FileError | undefined, directory: DataDirectory) => {
      if (error !== undefined) throw new Error(error.message);
      member.directory = directory;
      directory.nextIncarnation((failed, next) => {
        if (failed !== undefined) throw new Error(failed.message);
        incarnation = next;
      });
    };
    DataDirectory.open(files, (error, directory) => {
      if (error?.code === 'ENOENT') DataDirectory.create(files, identity, opened);
      else opened(error, directory);
    });
    this.#stepUntil(() => incarnation > 0);
    return incarnation;
  }

  /** Starts a member that was added to the running cluster. */
  join(id: MemberId): TestMember {
    const member = new TestMember(id, this);
    member.joins = true;
    this.members.push(member);
    this.start(member);
    return member;
  }

  /** kill -9: what the log acknowledged and the image was given survives. */
  kill(member: TestMember): void {
    member.life.alive = false;
    member.network?.close(() => {});
    member.images.kill();
    member.files.kill();
    // A log of an earlier life writes nothing any more.
    member.log.life += 1;
  }

  /** The machine of a member loses power: what was not synced is kept, torn or lost. */
  powerLoss(member: TestMember): void {
    member.life.alive = false;
    member.network?.close(() => {});
    member.images.crash();
    member.files.crash();
    member.log.life += 1;
  }

  /** Cuts a member off from all others. */
  isolate(member: TestMember): void {
    for (const other of this.members) if (other !== member) this.hub.cut(member.id, other.id);
  }

  rejoin(member: TestMember): void {
    for (const other of this.members) if (other !== member) this.hub.heal(member.id, other.id);
  }

  #markedNetwork(member: TestMember): Network {
    const network = member.network!;
    const start = network.start.bind(network);
    network.start = (handler) =>
      start({
        linkUp: (link) => this.runAs(member, () => handler.linkUp(link)),
        linkDown: (link) => this.runAs(member, () => handler.linkDown(link)),
        frame: (link, frame, channel) =>
          this.runAs(member, () => handler.frame(link, frame, channel)),
      });
    return network;
  }

  #optionsOf(member: TestMember, life: { alive: boolean }, incarnation: number): ReplicaOptions {
    const { time } = this;
    const during = (callback: () => void) => (): void => {
      const stillMs = member.stalledUntilMs - time.monotonicMs();
      if (life.alive && stillMs > 0) time.setTimer(stillMs, during(callback));
      else if (life.alive) this.runAs(member, callback);
    };
    const clock: Clock = {
      monotonicMs: () => time.monotonicMs(),
      wallMs: () => time.wallMs(),
      setTimer: (delayMs, callback) => time.setTimer(delayMs, during(callback)),
    };
    const scheduler: Scheduler = { post: (callback) => time.post(during(callback)) };
    const founders = this.ids.slice(0, this.options.members ?? 3);
    const voters = founders;
    const peers = voters.map((id) => ({ id, address: `member-${id}` }));
    const { disk } = member;
    return {
      identity: { cluster: '00000000000000cc', member: member.id },
      incarnation,
      bootstrap: { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
      peers,
      joins: member.joins,
      clock,
      scheduler,
      random: this.random,
      network: this.#markedNetwork(member),
      openLog:
        this.options.wal === true
          ? openWal(member.files.mount(), { scheduler, clock, ...WAL_SIZES })
          : openMemoryLog(scheduler, member.log),
      images: member.images.mount(),
      directory:
        this.options.wal === true
          ? directoryOf(member.directory!)
          : {
              get image() {
                return disk.image;
              },
              nextIncarnation: (done) =>
                scheduler.post(() => {
                  disk.incarnation += 1;
                  done(undefined, disk.incarnation);
                }),
              switchImage: (name, done) =>
                scheduler.post(() => {
                  disk.image = name;
                  done(undefined);
                }),
            },
      createStateMachine: (image) =>
        createStateMachine({
          extensions: [journalExtension, ...(this.options.extensions ?? [])],
          image,
          bootstrap: {
            clusterId: 0xccn,
            members: voters.map((id) => ({
              id,
              name: `n${id}`,
              etcdId: BigInt(id),
              peerAddress: `member-${id}`,
            })),
            options: {},
            ...(this.options.formation === undefined ? { electionTimeoutMs: 1000 } : {}),
          },
        }),
      hello: (number) =>
        encodeHello({
          member: member.id,
          incarnation: number,
          name: `n${member.id}`,
          version: '0.1.0',
          featureLevel: this.options.featureLevel ?? FEATURE_LEVEL,
          dataDirectory: `directory-${member.id}`,
          addresses: {},
        }),
      ...(this.options.formation === undefined
        ? {}
        : { formation: this.options.formation(member.id) }),
      hashCheck: encodeCheckHash,
      ...(this.options.tuning === undefined ? {} : { tuning: this.options.tuning }),
      ...(this.options.requestTimeoutMs === undefined
        ? {}
        : { requestTimeoutMs: this.options.requestTimeoutMs }),
      onFatal: (error) => {
        member.fatal = error;
      },
    };
  }
}
