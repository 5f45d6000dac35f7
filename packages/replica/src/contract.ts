import type {
  Incarnation,
  Index,
  LeaseHandle,
  LockstepError,
  MemberId,
  Revision,
  Sequence,
  Term,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type {
  AppliedTransaction,
  CommandOutcome,
  HistoryReference,
  LiveRecord,
  StateView,
} from '@lockstep/state-machine';

/**
 * One member as its doors see it (design §4, §7). Everything is call-back style and synchronous in
 * log order: for one transaction first `EventSink.transaction`, then the waiter of its command,
 * before the next transaction applies. A door builds its reply inside the call-back.
 */
export interface Replica {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  /** This member's applied state. Read it freely between call-backs; it never blocks. */
  readonly state: StateView;

  /**
   * Numbers a command and hands it to the log, here or through the leader. The bytes are owned by
   * the replica from here. Commands of one member apply in the order submitted, each at most once.
   * The waiter is called exactly once; without a waiter nobody waits for the result.
   * Returns the command's number, which names queued waiters (`Waiter.request`).
   */
  submit(command: Uint8Array, waiter?: CommandWaiter): Sequence;

  /** Linearizable barrier: calls back once this member has applied all that was committed when it
   * was called. Barriers of one turn share one read index. */
  barrier(waiter: BarrierWaiter): void;

  /** Renews a lease through the log; gathered per turn, answered after commit. */
  renew(lease: LeaseHandle, waiter: RenewalWaiter): void;

  /** Values of history versions, in the order asked, from unflushed batches or the image. */
  readHistory(
    references: readonly HistoryReference[],
    done: (error: LockstepError | undefined, records: readonly LiveRecord[]) => void,
  ): void;

  /** Adds a subscriber to the ordered event stream; the returned function removes it. */
  subscribe(sink: EventSink): () => void;

  /** Sends a small message to the same door on every other member; best effort, not ordered with
   * the log. The newest per door replaces one not yet sent. */
  gossip(door: string, payload: Uint8Array): void;

  status(): ReplicaStatus;

  /** True while a majority was heard through the leader less than an election timeout ago: the
   * leader acknowledged a frame this member sent, or it leads with a live quorum (design §6). */
  readonly inContact: boolean;
  /** False until local replay is done; then local (serializable) reads may be answered. */
  readonly serving: boolean;

  /** Hands leadership to `target` or the most caught-up voter; done when it moved or failed. */
  transferLeadership(
    target: MemberId | undefined,
    done: (error: LockstepError | undefined) => void,
  ): void;
}

export interface CommandWaiter {
  /** Applied here at its place in the log. */
  applied(outcome: CommandOutcome): void;
  /**
   * Will not be answered: `error.outcome` is `failed` (certainly not applied, now or later) or
   * `unknown` (design §4). Called from a turn of its own, never from inside `submit`.
   */
  failed(error: LockstepError): void;
}

export interface BarrierWaiter {
  /** Local state is at least as new as the moment of the call. `times` are the leader's present
   * cluster and wall time: for TTL, PTTL, TimeToLive and TIME only (design §6). */
  reached(times: { readonly clusterMs: number; readonly wallMs: number }): void;
  failed(error: LockstepError): void;
}

export interface RenewalWaiter {
  /** Committed and applied: whether the lease was alive at that place in the log. */
  renewed(alive: boolean): void;
  failed(error: LockstepError): void;
}

export interface EventSink {
  /** In log order, before the result of the transaction's command. */
  transaction(transaction: AppliedTransaction): void;
  /** A snapshot was installed: events between were skipped (design §8). */
  skipped(from: Revision, to: Revision): void;
  /** Something the same door on another member gossiped. */
  gossip?(from: MemberId, door: string, payload: Uint8Array): void;
  /** Leader, contact, serving state or configuration changed; look at the replica. */
  changed?(): void;
}

export interface ReplicaStatus {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly role: 'follower' | 'pre-candidate' | 'candidate' | 'leader';
  readonly leader: MemberId;
  readonly term: Term;
  readonly lastIndex: Index;
  readonly commitIndex: Index;
  readonly appliedIndex: Index;
  readonly revision: Revision;
  readonly logBytes: number;
  readonly imageBytes: number;
  readonly pendingCommands: number;
  /** Healthy unless it says why not (`damaged log`, `out of space` …). */
  readonly health: 'ok' | string;
  /** Rounds over log and image, bytes verified, damages found, in this life. */
  readonly scrub?: { readonly rounds: number; readonly bytes: number; readonly damages: number };
  /** Who votes and who learns, as applied here. */
  readonly configuration: Configuration;
  readonly peers: readonly {
    readonly id: MemberId;
    readonly connected: boolean;
    /** A learner that the leader, or this member leading, finds fit to be promoted. */
    readonly caughtUp: boolean;
    readonly match: Index;
    readonly state: 'probe' | 'replicate' | 'snapshot' | 'unknown';
  }[];
}
