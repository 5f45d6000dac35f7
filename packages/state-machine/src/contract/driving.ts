import type {
  ByteString,
  ClusterTimeMs,
  Incarnation,
  Index,
  LogEntry,
  MemberId,
  RenewalGroup,
  Revision,
  Sequence,
  Term,
} from '@lockstep/model';
import type { AppliedTransaction } from './event.ts';
import type { Extension } from './extension.ts';
import type { HistoryReference, StateView } from './reading.ts';
import type { LiveRecord } from './record.ts';

export type CommandOutcome =
  | { readonly kind: 'done'; readonly result: unknown; readonly revision: Revision }
  /** Not applied: duplicate, gap, old incarnation, session gone or moved, malformed, over budget,
   * empty. */
  | { readonly kind: 'void'; readonly reason: VoidReason };

export type VoidReason =
  | 'duplicate'
  | 'gap'
  | 'old-incarnation'
  | 'empty'
  | 'session-expired'
  | 'session-moved'
  /** Its bytes are no command of that procedure: damaged on the way, or made by a faulty peer. */
  | 'malformed'
  | 'budget';

/** Where apply reports; called synchronously, in log order. */
export interface ApplySink {
  /** Whether this member's client waits for that command's result. */
  wanted(origin: MemberId, incarnation: Incarnation, sequence: Sequence): boolean;
  /** Events of one transaction, before the result of its command. */
  transaction(transaction: AppliedTransaction): void;
  /** Once per command of the entry, in order. */
  result(
    origin: MemberId,
    incarnation: Incarnation,
    sequence: Sequence,
    outcome: CommandOutcome,
  ): void;
  /** Keep-alives of one group were applied; `alive[i]` tells of `group.leases[i]`. */
  renewed(group: RenewalGroup, alive: readonly boolean[]): void;
}

/** Receives what changes in the image; coalesced per key by the receiver. Bytes are handed over. */
export interface ImageSink {
  set(key: ByteString, value: Uint8Array | undefined): void;
}

export interface StateMachineOptions {
  readonly extensions: readonly Extension[];
  readonly image: ImageSink;
  readonly bootstrap: Bootstrap;
  /** Highest feature level that counts as known; for tests. Default: that of this software. */
  readonly featureLevelMax?: number;
}

/** What a fresh store starts from; the same on every member of a new cluster. */
export interface Bootstrap {
  readonly clusterId: bigint;
  readonly members: readonly { id: MemberId; name: string; etcdId: bigint; peerAddress: string }[];
  readonly options: Readonly<Record<string, number | string | boolean>>;
  /** Left out: the option's default until the first entry sets it. */
  readonly electionTimeoutMs?: number;
}

export interface StateMachine extends StateView {
  /**
   * Begins an entry: renewals and due expiry come first, then its commands, one transaction per
   * `next()`. Resumable so that the driver may let heartbeats pass between transactions.
   */
  begin(index: Index, term: Term, entry: LogEntry, sink: ApplySink): void;
  /** Runs the next transaction of the entry; false when the entry is finished (then hash, applied
   * index and stamps are in the image sink too). */
  next(): boolean;
  /** Earliest deadline of a lease, record or waiter; 0 when none. The leader ticks when it passes,
   * and again while `expiryPending`. */
  readonly nextDeadline: ClusterTimeMs;
  /** True when the last entry left due expiry over (bounded per entry). */
  readonly expiryPending: boolean;
  /** True while compaction or the freeing of a cleared keyspace has work left. It goes on with
   * every entry; an idle leader may tick for it. */
  readonly backgroundPending: boolean;
  /** Last sequence applied of that member's incarnation; 0 when unknown. Where to resend from. */
  lastSequence(member: MemberId, incarnation: Incarnation): Sequence;

  /** False for bytes that no command known here begins with: a leader keeps them out of the log,
   * where they would stop every member. */
  knows(command: Uint8Array): boolean;
  /** Feature level that a command known here needs, when the cluster is not there yet; else 0. */
  levelWanted(command: Uint8Array): number;

  /** Rebuilds the state from image records in key order; then `loaded` verifies the state hash. */
  load(key: Uint8Array, value: Uint8Array): void;
  /** Throws InvariantError with both hashes when the image does not match its hash. */
  loaded(): void;
  /** Verifies the check of an image row without taking it in. Throws InvariantError, or
   * BinaryFormatError, when the row is damaged. */
  checkRow(key: Uint8Array, value: Uint8Array): void;
  /** Image key and value decoder of a history version, for the replica's reader. */
  historyKey(reference: HistoryReference): ByteString;
  decodeHistory(reference: HistoryReference, value: Uint8Array): LiveRecord;
}
