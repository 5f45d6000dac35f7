import type {
  Clock,
  Done,
  FileError,
  ImageDirectory,
  Incarnation,
  MemberId,
  Network,
  PeerAddress,
  Random,
  Scheduler,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { ImageSink, StateMachine } from '@lockstep/state-machine';
import type { LogIdentity, OpenLog } from '@lockstep/storage';

/** What a member's data directory remembers beside log and images (design §4, §11). */
export interface MemberDirectory {
  /** Name of the image in force; undefined before the first. */
  readonly image: string | undefined;
  /** Takes the next incarnation; durable before `done`. */
  nextIncarnation(done: (error: FileError | undefined, incarnation: Incarnation) => void): void;
  /** Makes another image the one in force; atomic and durable before `done`. */
  switchImage(name: string, done: Done): void;
}

export interface ReplicaOptions {
  readonly identity: LogIdentity;
  /** Taken from the directory and durable before the network was opened. */
  readonly incarnation: Incarnation;
  /** Configuration of a fresh cluster; the log's or the image's wins once there is one. */
  readonly bootstrap: Configuration;
  /**
   * This member joins a running cluster: a fresh directory starts by fetching the state from the
   * leader, whatever `createStateMachine` bootstraps. `bootstrap` then is the cluster's present
   * configuration, with this member as learner or not in it at all.
   */
  readonly joins?: boolean;
  /** Where the members of `bootstrap` listen; later ones come from the replicated records. */
  readonly peers: readonly PeerAddress[];

  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly openLog: OpenLog;
  readonly images: ImageDirectory;
  readonly directory: MemberDirectory;
  readonly createStateMachine: (image: ImageSink) => StateMachine;
  /** Encoded `hello` command that opens an incarnation (design §4). */
  readonly hello: (incarnation: Incarnation) => Uint8Array;
  /**
   * Commands of the very first entry of a cluster: seeds of the cluster options. Members may be
   * started with other values; those of the first leader count, for all (design §10).
   */
  readonly formation?: readonly Uint8Array[];
  /** Command that carries the majority's state hash at an index; left out: no checks are made. */
  readonly hashCheck?: (index: number, hash: string) => Uint8Array;

  readonly heartbeatMs?: number;
  readonly electionMs?: number;
  /** How long a client waits for its command, barrier or renewal. */
  readonly requestTimeoutMs?: number;
  readonly tuning?: Partial<Tuning>;

  /** The member has stopped itself: a broken invariant, or a device that failed. */
  readonly onFatal: (error: Error) => void;
  readonly log?: (text: string) => void;
}

/** Sizes and intervals with their defaults (reference raft.md §1, design §11). */
export interface Tuning {
  readonly tickMs: number;
  readonly imageFlushMs: number;
  readonly imageFlushBytes: number;
  readonly imageSyncMs: number;
  readonly imageSyncBytes: number;
  readonly imageBacklogBytesMax: number;
  /** The log is compacted beyond either. */
  readonly logBytesMax: number;
  readonly logEntriesMax: number;
  /** Entries kept behind for followers that lag a little. */
  readonly logEntriesTrailing: number;
  readonly snapshotChunkBytes: number;
  readonly snapshotChunksInFlight: number;
  readonly renewalIntervalMs: number;
  /** Commands of this member handed to the leader and not applied. */
  readonly forwardBytesMax: number;
  /** Log and image are read again and verified at this rate; 0: they are not. */
  readonly scrubBytesPerSecond: number;
  /** Rounds of that begin no sooner than so long after each other. */
  readonly scrubIntervalMs: number;
  /** State hashes are compared at the multiples of this index. */
  readonly hashCheckEntries: number;
  /** One append request carries at least one entry, then up to both. */
  readonly appendBytesMax: number;
  readonly appendEntriesMax: number;
  readonly inflightAppendsMax: number;
  readonly inflightBytesMax: number;
  readonly uncommittedBytesMax: number;
  /** Page of committed entries handed to the state machine in one piece. */
  readonly committedBytesMax: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_TUNING: Tuning = {
  tickMs: 50,
  imageFlushMs: 100,
  imageFlushBytes: 4 * 1024 * 1024,
  imageSyncMs: 3000,
  imageSyncBytes: 32 * 1024 * 1024,
  imageBacklogBytesMax: 64 * 1024 * 1024,
  logBytesMax: 64 * 1024 * 1024,
  logEntriesMax: 100_000,
  logEntriesTrailing: 10_000,
  snapshotChunkBytes: 1024 * 1024,
  snapshotChunksInFlight: 4,
  renewalIntervalMs: 50,
  forwardBytesMax: 16 * 1024 * 1024,
  scrubBytesPerSecond: 1024 * 1024,
  scrubIntervalMs: 10 * 60 * 1000,
  hashCheckEntries: 10_000,
  appendBytesMax: 1 * MIB,
  appendEntriesMax: 1024,
  inflightAppendsMax: 256,
  inflightBytesMax: 16 * MIB,
  uncommittedBytesMax: 64 * MIB,
  committedBytesMax: 4 * MIB,
};

/** Options with every default filled in. */
export interface Settings extends Tuning {
  readonly member: MemberId;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  readonly requestTimeoutMs: number;
}

export function settingsOf(options: ReplicaOptions): Settings {
  const { heartbeatMs = 100, electionMs = 1000 } = options;
  const tickMs = Math.min(DEFAULT_TUNING.tickMs, Math.max(1, Math.floor(heartbeatMs / 2)));
  return {
    ...DEFAULT_TUNING,
    tickMs,
    ...options.tuning,
    member: options.identity.member,
    heartbeatMs,
    electionMs,
    requestTimeoutMs: options.requestTimeoutMs ?? 5000 + 2 * electionMs,
  };
}
