import { etcdExtension } from '@lockstep/adapter-etcd';
import { redisExtension } from '@lockstep/adapter-redis';
import { zookeeperExtension } from '@lockstep/adapter-zookeeper';
import type { FileError, FileSystem } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import {
  isLedByAnother,
  type MemberReplica,
  openReplica,
  peerRefusal,
  type ReplicaOptions,
} from '@lockstep/replica';
import {
  createStateMachine,
  encodeCheckHash,
  encodeHello,
  FEATURE_LEVEL,
  type ImageSink,
  type StateMachine,
} from '@lockstep/state-machine';
import { DataDirectory, openWal } from '@lockstep/storage';
import { type NodeClock, schedulerOf } from './clock.ts';
import type { Defects } from './defects.ts';
import { SimDisk } from './disk.ts';
import type { Greeting, SimNetwork, Wires } from './network.ts';
import type { Observer } from './observer.ts';
import type { Settings } from './settings.ts';
import { beginLife, type Life, type World } from './world.ts';

const CLUSTER = '00000000000000cc';
/** An orderly stop takes no longer: a hand-over, the image's backlog, a few syncs. */
const STOP_MS = 10_000;
const EXTENSIONS = [etcdExtension, zookeeperExtension, redisExtension];

/** What the nodes of one cluster share. */
export interface Cluster {
  readonly world: World;
  readonly wires: Wires;
  readonly settings: Settings;
  readonly observer: Observer;
  readonly defects: Defects;
}

/** How a member comes into the cluster. */
export interface Admission {
  readonly joins: boolean;
  readonly configuration: Configuration;
}

/** A state machine of the composition that production uses, over any image. */
export function makeStateMachine(image: ImageSink, settings: Settings): StateMachine {
  const ids = Array.from({ length: settings.members }, (_, at) => at + 1);
  return createStateMachine({
    extensions: EXTENSIONS,
    image,
    bootstrap: {
      clusterId: 0xccn,
      members: ids.map((id) => ({
        id,
        name: `n${id}`,
        etcdId: BigInt(id),
        peerAddress: `n${id}:2380`,
      })),
      options: {},
      electionTimeoutMs: settings.electionMs,
    },
  });
}

/** One machine of the cluster and the member that runs on it, if it runs. */
export class SimNode {
  readonly id: number;
  disk: SimDisk;
  readonly clock: NodeClock;
  /** The present process life, or the last one. */
  life: Life;
  /** Present once it has opened, until its life ends. */
  replica: MemberReplica | undefined;
  /** A fault was injected that a member answers by stopping itself. */
  mayStop = false;
  /** It stopped itself. */
  stopped: string | undefined;
  starts = 0;
  crashes = 0;
  /** It may leave: its removal was asked for. */
  mayLeave = false;
  /** It was removed and its machine is gone for good. */
  retired = false;
  /** Its medium was damaged at rest: what was durable may be gone. */
  damaged = false;
  /** Its disk was lost, and an empty one bears its id now. */
  isWiped = false;
  #closing = false;
  #atEnd: (() => void)[] = [];
  readonly #cluster: Cluster;
  #network: SimNetwork | undefined;
  readonly #admission: Admission;

  constructor(id: number, cluster: Cluster, clock: NodeClock, admission: Admission) {
    this.id = id;
    this.#admission = admission;
    this.clock = clock;
    this.#cluster = cluster;
    this.life = beginLife(id);
    this.life.alive = false;
    this.disk = this.#newDisk();
  }

  #newDisk(): SimDisk {
    const { world, settings } = this.#cluster;
    const speed = { meanUs: settings.diskMeanUs, slowUntilUs: 0, stuckUntilUs: 0 };
    return new SimDisk(world, this.id, speed, { crash: () => this.crash(true) });
  }

  /** The machine burns; an empty one takes its place. */
  wipe(): void {
    this.crash(true);
    this.disk = this.#newDisk();
    this.isWiped = true;
    this.#cluster.observer.wiped(this);
  }

  get isUp(): boolean {
    const open = this.life.alive && this.replica !== undefined && !this.#closing;
    return open && this.stopped === undefined;
  }

  get isClosing(): boolean {
    return this.life.alive && this.#closing;
  }

  /** Calls back when the present life is over. */
  onEnd(callback: () => void): void {
    this.#atEnd.push(callback);
  }

  /** The process ends at once; with `power` the machine goes too and unsynced writes are lost. */
  crash(power: boolean): void {
    if (!this.life.alive) return;
    const { world, wires, observer } = this.#cluster;
    world.trace(() => `n${this.id} ${power ? 'loses power' : 'is killed'}`);
    world.note(`crash ${this.id} ${power}`);
    this.life.alive = false;
    this.crashes += 1;
    if (this.#network !== undefined) wires.gone(this.#network);
    this.#network = undefined;
    this.replica = undefined;
    if (power) this.disk.powerLoss();
    else this.disk.kill();
    observer.ended(this);
    const callbacks = this.#atEnd;
    this.#atEnd = [];
    for (const callback of callbacks) callback();
  }

  /** An orderly stop; the process ends when the member has closed. */
  close(): void {
    const { replica, life } = this;
    if (!this.isUp || replica === undefined) return;
    this.#closing = true;
    const { world } = this.#cluster;
    world.trace(() => `n${this.id} closes`);
    replica.close(() => {
      if (this.life === life) this.crash(false);
    });
    this.#expectEnd(life);
  }

  /** OrderlyStopEnds: within this time, not counting what a pause or a stuck disk takes. */
  #expectEnd(life: Life): void {
    const { world } = this.#cluster;
    world.after(STOP_MS * 1000, undefined, 'expect-end', () => {
      if (this.life !== life || !life.alive) return;
      const { slowUntilUs, stuckUntilUs } = this.disk.speed;
      const heldUntilUs = Math.max(life.pausedUntilUs, slowUntilUs, stuckUntilUs);
      if (heldUntilUs + STOP_MS * 1000 > world.nowUs) this.#expectEnd(life);
      else world.fail('OrderlyStopEnds', `member ${this.id} still closes after ${STOP_MS} ms`);
    });
  }

  pause(us: number): void {
    if (this.life.alive) this.#cluster.world.pause(this.life, us);
  }

  /** The machine is taken away. */
  retire(): void {
    this.crash(true);
    this.retired = true;
  }

  /** A new process life on the disk as it is. */
  start(): void {
    if (this.life.alive || this.retired) return;
    const { world, defects } = this.#cluster;
    this.starts += 1;
    this.stopped = undefined;
    this.mayStop = false;
    this.#closing = false;
    const life = beginLife(this.id);
    this.life = life;
    this.disk.serve(life);
    world.trace(() => `n${this.id} starts`);
    const mounted = this.disk.files.mount();
    const files = defects.files?.(mounted, this.id) ?? mounted;
    this.#openDirectory(life, files);
  }

  get #dataDirectory(): string {
    return `directory-${this.id}${this.isWiped ? '-new' : ''}`;
  }

  #openDirectory(life: Life, files: FileSystem): void {
    const identity = { uuid: this.#dataDirectory, name: `n${this.id}` };
    DataDirectory.open(files, (error, directory) => {
      if (error === undefined) this.#takeIncarnation(life, files, directory);
      else if (error.code !== 'ENOENT') this.#refused(life, error);
      else {
        const owner = { ...identity, member: this.id, cluster: CLUSTER };
        DataDirectory.create(files, owner, (failed, created) => {
          if (failed !== undefined) this.#refused(life, failed);
          else this.#takeIncarnation(life, files, created);
        });
      }
    });
  }

  #takeIncarnation(life: Life, files: FileSystem, directory: DataDirectory): void {
    directory.nextIncarnation((error, incarnation) => {
      if (error !== undefined) {
        this.#refused(life, error);
        return;
      }
      const greeting: Greeting = {
        dataDirectory: this.#dataDirectory,
        refuses: (member, dataDirectory, isPeer) => {
          const { replica } = this;
          if (replica === undefined) return !isPeer;
          const theirs = { member, dataDirectory };
          const isLed = isLedByAnother(replica, member);
          return peerRefusal(replica.state, theirs, isPeer, isLed) !== undefined;
        },
      };
      const network = this.#cluster.wires.join(this.id, incarnation, life, greeting);
      this.#network = network;
      const options = this.#options(life, files, directory, network, incarnation);
      openReplica(options, (failed, replica) => {
        if (!life.alive) return;
        if (failed !== undefined) this.#refused(life, failed);
        else this.#opened(replica);
      });
    });
  }

  #opened(replica: MemberReplica): void {
    const { observer, defects } = this.#cluster;
    this.replica = defects.replica?.(replica, this.id) ?? replica;
    observer.opened(this, this.replica);
  }

  #refused(life: Life, error: Error | FileError): void {
    if (life.alive) this.#stop(`does not start: ${error.message}`);
  }

  #stop(reason: string): void {
    const { world, settings } = this.#cluster;
    world.trace(() => `n${this.id} stops: ${reason}`);
    this.stopped = reason;
    if (this.mayStop || this.mayLeave || this.disk.isFull || this.disk.misreads > 0) return;
    if (this.damaged && settings.damage === 'beyond') return;
    world.fail('NoMemberStops', `member ${this.id} ${reason}`);
  }

  #options(
    life: Life,
    files: FileSystem,
    directory: DataDirectory,
    network: SimNetwork,
    incarnation: number,
  ): ReplicaOptions {
    const { world, settings, observer, defects } = this.#cluster;
    const clock = this.clock.clockOf(life);
    const scheduler = schedulerOf(world, life);
    const { joins, configuration } = this.#admission;
    const members = [...configuration.voters, ...configuration.learners];
    const { segmentBytes, logCacheBytes } = settings;
    const wal = openWal(files, {
      scheduler,
      clock,
      segmentBytes,
      firstSegmentBytes: Math.min(segmentBytes, 4096),
      cacheBytesMax: logCacheBytes,
    });
    return {
      identity: { cluster: CLUSTER, member: this.id },
      incarnation,
      bootstrap: configuration,
      joins,
      peers: members.map((id) => ({ id, address: `n${id}:2380` })),
      clock,
      scheduler,
      random: world.stream(`member:${this.id}:${this.starts}`),
      network: defects.network?.(network, this.id) ?? network,
      openLog: observer.log(this, life, defects.log?.(wal, this.id) ?? wal),
      images: this.disk.images.mount(),
      directory: {
        get image() {
          return directory.image;
        },
        nextIncarnation: (done) => directory.nextIncarnation(done),
        switchImage: (name, done) => directory.setImage(name, done),
      },
      createStateMachine: (image) => {
        const make = (sink: ImageSink) => {
          const machine = makeStateMachine(sink, settings);
          return defects.machine?.(machine, this.id) ?? machine;
        };
        return observer.machine(this, life, image, make);
      },
      hello: (number) =>
        encodeHello({
          member: this.id,
          incarnation: number,
          name: `n${this.id}`,
          version: '0.1.0',
          featureLevel: FEATURE_LEVEL,
          dataDirectory: this.#dataDirectory,
          addresses: {},
        }),
      hashCheck: encodeCheckHash,
      heartbeatMs: settings.heartbeatMs,
      electionMs: settings.electionMs,
      requestTimeoutMs: settings.requestTimeoutMs,
      tuning: settings.tuning,
      onFatal: (error) => {
        if (life.alive) this.#stop(error.stack ?? error.message);
      },
      log: (text) => world.trace(() => `n${this.id} says: ${text}`),
    };
  }
}
