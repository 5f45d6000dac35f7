import type { Done, FileError, Index, MemberId } from '@lockstep/model';
import type { AppendTask, Configuration, Entry, HardState, LogReader } from '@lockstep/raft';

/** Who owns the log; every segment carries it, a log of another member or cluster is refused. */
export interface LogIdentity {
  /** 64-bit cluster id as 16 hex digits. */
  readonly cluster: string;
  readonly member: MemberId;
}

/** What recovery found, before anything is written. */
export interface LogState {
  readonly hardState: HardState;
  /** Log position behind which entries begin, and the configuration in force there. */
  readonly snapshotIndex: Index;
  readonly snapshotTerm: number;
  readonly configuration: Configuration;
  readonly firstIndex: Index;
  readonly lastIndex: Index;
  /**
   * `clean`: every record verified. `torn`: the last record was never promised and was cut.
   * `damaged`: a record that may have been acknowledged is bad (design §11): the member neither
   * campaigns nor votes until caught up; a one-member cluster refuses to start.
   */
  readonly health: 'clean' | 'torn' | 'damaged';
  /** File and offset of the damage, for the message. */
  readonly damage?: { readonly file: string; readonly offset: number; readonly reason: string };
  /** Good entries behind the damage, if there are any. The first append gives them up. */
  readonly salvage?: Salvage;
}

/**
 * What good records behind damage still hold. Entries below `from` are in the log as it was
 * written; of `from` … `last` those are known that `entries` has, the others are lost here.
 */
export interface Salvage {
  readonly from: Index;
  readonly last: Index;
  /** Each was in the log when it ended at `last`. */
  readonly entries: ReadonlyMap<Index, Entry>;
  /** Nothing else can be lost: with the missing entries the log is exactly what it was. */
  readonly isComplete: boolean;
}

/**
 * The durable Raft log. One writer; tasks are written in order and several that wait are written
 * as one record with one sync (self-clocking group commit). Errors are latched: after the first
 * failed write or sync nothing is acknowledged any more and `failed` is called once.
 */
export interface LogStore extends LogReader {
  /**
   * Queues a task; never blocks. `done` runs, in order, when it and all before it are durable.
   * A task that need not sync is done as soon as those before it are: nothing depends on its
   * commit hint, which is written along with a later task, or on close.
   * Entry bytes are referenced until then and may be kept in the tail cache.
   */
  append(task: AppendTask, done: (sequence: number) => void): void;
  /** Latest configuration and applied index, told by the driver for `initialState`. */
  setApplied(index: Index, configuration: Configuration): void;
  /** Entries ≤ `index` may go: their effect is durable in the image. Deletes whole segments. */
  compact(index: Index, term: number, configuration: Configuration): void;
  /**
   * The member has caught up after damage, in the driver's judgement: the mark that makes each
   * start report `damaged` goes with the next record.
   */
  repaired(): void;
  /**
   * Reads about `bytes` more of what is no longer written and verifies it; handlers hear of damage.
   * One at a time. Done with how many were read, 0 at the end of a round.
   */
  scrub(bytes: number, done: (bytesRead: number) => void): void;
  /** Bytes of log on disk, for the compaction policy. */
  readonly sizeBytes: number;
  /** True while the spare segment cannot be made for lack of space (design §11). */
  readonly outOfSpace: boolean;
  close(done: Done): void;
}

export interface LogStoreHandlers {
  /** Latched: the member must stop. */
  failed(error: FileError): void;
  /** Entries asked for as `pending` are in memory now. */
  available(): void;
  /**
   * Scrubbing found damage in a part of the log that ends at entry `last`: it goes as soon as the
   * log is compacted to there. A member that starts before would have to repair it.
   */
  damaged?(damage: { file: string; offset: number; reason: string; last: Index }): void;
  /** Lack of space for the spare segment began or ended. */
  space(outOfSpace: boolean): void;
}

export type OpenLog = (
  identity: LogIdentity,
  bootstrap: Configuration,
  handlers: LogStoreHandlers,
  done: (error: FileError | undefined, log: LogStore, state: LogState) => void,
) => void;
