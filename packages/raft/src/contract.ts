import type { Incarnation, Index, MemberId, Term } from '@lockstep/model';

/**
 * The contract of the consensus core (Ongaro's thesis; reference: Ready/step/tick of etcd-io/raft,
 * with sequence-numbered appends instead of `advance`). Pure: inputs are method calls, outputs are
 * one `Ready`. The driver must hand `append` tasks to one log in order, send `after` messages only
 * when their task is durable, and apply entries in order.
 */

export const EntryType = {
  /** Data for the state machine. */
  Normal: 0,
  /** First entry of a term; also goes to the state machine (its data carries the time base). */
  TermStart: 1,
  /** Membership change; the driver answers with `applyConfChange` when it applies it. */
  Configuration: 2,
} as const;
export type EntryType = (typeof EntryType)[keyof typeof EntryType];

export interface Entry {
  readonly index: Index;
  readonly term: Term;
  readonly type: EntryType;
  /** Opaque to raft; never copied or changed. */
  readonly data: Uint8Array;
}

export interface HardState {
  readonly term: Term;
  /** Whom this member voted for in `term`; 0 none. */
  readonly vote: MemberId;
  /** A hint that speeds restart; never above the last durable index, never a reason to sync. */
  readonly commit: Index;
}

/** Configuration in force: a pure function of the applied index. */
export interface Configuration {
  readonly voters: readonly MemberId[];
  /** Non-empty while a joint change is under way. */
  readonly votersOutgoing: readonly MemberId[];
  readonly learners: readonly MemberId[];
  readonly learnersNext: readonly MemberId[];
  readonly autoLeave: boolean;
}

/** Names a snapshot; the state itself travels outside of raft (bulk channel). */
export interface SnapshotMeta {
  readonly index: Index;
  readonly term: Term;
  readonly configuration: Configuration;
}

/** Synchronous view of the stable log: what is durable, and of that what is in memory. */
export interface LogReader {
  initialState(): { hardState: HardState; configuration: Configuration; applied: Index };
  /** First index that can be read; `lastIndex() + 1` when the log is empty. */
  firstIndex(): Index;
  lastIndex(): Index;
  /** `undefined` when compacted or beyond the end, never 0. Known for `firstIndex() - 1`. */
  term(index: Index): Term | undefined;
  /**
   * Entries lo ≤ index < hi, at least one, then up to `bytesMax`. `pending` when they must first
   * come from disk: the reader fetches them and the driver calls `raft.logAvailable()`.
   */
  entries(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'compacted' | 'pending';
}

// ---- messages between cores ---------------------------------------------------------------

interface Addressed {
  readonly from: MemberId;
  readonly to: MemberId;
  readonly term: Term;
}

export type Message =
  | AppendRequest
  | AppendResponse
  | HeartbeatRequest
  | HeartbeatResponse
  | VoteRequest
  | VoteResponse
  | ReadIndexRequest
  | ReadIndexResponse
  | TransferRequest
  | TimeoutNow;

export interface AppendRequest extends Addressed {
  readonly kind: 'append';
  readonly prevIndex: Index;
  readonly prevTerm: Term;
  readonly entries: readonly Entry[];
  readonly commit: Index;
  /** Newest read round of the sender; echoed, so that appends confirm reads as heartbeats do. */
  readonly readRound: number;
}

export interface AppendResponse extends Addressed {
  readonly kind: 'append-response';
  /** Accepted: the last index known to match. Rejected: `prevIndex` of the refused request. */
  readonly index: Index;
  readonly reject: boolean;
  /** Rejected: where the follower's log could match (term hint both ways, etcd's fast back-up). */
  readonly hintIndex: Index;
  readonly hintTerm: Term;
}

export interface HeartbeatRequest extends Addressed {
  readonly kind: 'heartbeat';
  /** min(match, commit) of that follower. */
  readonly commit: Index;
  readonly readRound: number;
}

/** Sent at once on heartbeat and append; carries no promise about the log. */
export interface HeartbeatResponse extends Addressed {
  readonly kind: 'heartbeat-response';
  readonly readRound: number;
}

export interface VoteRequest extends Addressed {
  readonly kind: 'vote';
  readonly preVote: boolean;
  /** Skips stickiness: the present leader asked for this election. */
  readonly transfer: boolean;
  readonly lastIndex: Index;
  readonly lastTerm: Term;
  /** Identifies the sender's process life and try; responses to another one are dropped. */
  readonly incarnation: Incarnation;
  readonly campaign: number;
}

export interface VoteResponse extends Addressed {
  readonly kind: 'vote-response';
  readonly preVote: boolean;
  readonly reject: boolean;
  /** Granted by a member whose log may lack what it acknowledged (`mayVote` is false): counts
   * only when every voter of both halves has granted, so that nobody's log is passed over. */
  readonly conditional: boolean;
  readonly incarnation: Incarnation;
  readonly campaign: number;
}

/** A follower asks the leader for a read index. Contexts are never reused, not even on retry. */
export interface ReadIndexRequest extends Addressed {
  readonly kind: 'read-index';
  readonly context: ReadContext;
}

export interface ReadIndexResponse extends Addressed {
  readonly kind: 'read-index-response';
  readonly context: ReadContext;
  /** 0 when refused (not leader): the asker tries again with a new context. */
  readonly index: Index;
}

/** A follower asks the leader to hand over to `target`. */
export interface TransferRequest extends Addressed {
  readonly kind: 'transfer';
  readonly target: MemberId;
}

export interface TimeoutNow extends Addressed {
  readonly kind: 'timeout-now';
}

export interface ReadContext {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly counter: number;
}

// ---- what the driver must do ---------------------------------------------------------------

/** Work for the one log, executed strictly in order of `sequence`. */
export interface AppendTask {
  readonly sequence: number;
  /** Writing index i discards all stored entries ≥ i. */
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  /** The log restarts behind this snapshot, whose state the driver has already installed. */
  readonly snapshot: SnapshotMeta | undefined;
  /** False when only the commit hint changed: may wait for the next record. */
  readonly mustSync: boolean;
  /** Promises: sent only after this task and all before it are durable. Messages addressed to the
   * member itself are given back with `step`. */
  readonly after: readonly Message[];
}

export interface ReadState {
  readonly context: ReadContext;
  /** The read may run once the state machine has applied this index. */
  readonly index: Index;
}

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

export interface Ready {
  /** Present when leader, role or term changed. */
  readonly soft: { leader: MemberId; role: Role; term: Term } | undefined;
  /** May be sent now, in parallel with `append`. */
  readonly messages: readonly Message[];
  readonly append: AppendTask | undefined;
  /** Committed and durable here, in order, each exactly once per process life. */
  readonly committed: readonly Entry[];
  readonly readStates: readonly ReadState[];
  /** Reads that certainly will not be answered (leader lost); ask again with a new context. */
  readonly readsDropped: readonly ReadContext[];
  /** Followers that need a snapshot streamed to them (leader only). */
  readonly snapshotsNeeded: readonly MemberId[];
}

export interface RaftConfig {
  readonly id: MemberId;
  readonly incarnation: Incarnation;
  /** A timeout is drawn from electionTicks … 2 × electionTicks − 1. */
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  /** Entries of one append request; always at least one entry. */
  readonly appendBytesMax: number;
  readonly appendEntriesMax: number;
  readonly inflightAppendsMax: number;
  readonly inflightBytesMax: number;
  /** Proposals are refused beyond this much that is not committed. */
  readonly uncommittedBytesMax: number;
  /** Page of `Ready.committed`. */
  readonly committedBytesMax: number;
  /** The only randomness: uniform in 0 … 2^32 − 1. */
  readonly random: () => number;
  readonly log: LogReader;
  /**
   * Data of the first entry of a term won by this member. `last` is the last entry of its log as
   * it then stands, undefined when the log holds none (then the image's stamps count).
   */
  readonly termStart: (last: Entry | undefined, transferred: boolean) => Uint8Array;
  /** False while this member must not lead (image being replaced, no room for the log). */
  readonly mayCampaign: () => boolean;
  /**
   * False while the log may lack what this member acknowledged, and the hard state a vote it gave
   * (damaged log, reference §6.4). It then wins, and its votes count, only in an election in which
   * every voter takes part: whoever still holds more refuses (design §11).
   */
  readonly mayVote: () => boolean;
  /**
   * How much a member is preferred as leader, larger is more; left out: all alike. Asked at each
   * election, so it may follow replicated state, but every member should give the same answers. A
   * member leaves so many election timeouts to those preferred to it (three at most), no more: it
   * never refuses a vote for this reason, and wins when they do not come forward.
   */
  readonly priorityOf?: (id: MemberId) => number;
  /**
   * A member with more committed entries than this that it has not applied lets all others try
   * first, as one of the lowest priority does, and does not take over at a leader's request: it
   * could serve nobody for a while. Left out: any lag will do.
   */
  readonly applyLagMax?: number;
  /** Told every step of the algorithm, for checking runs against a specification. No cost when
   * left out. */
  readonly trace?: (event: TraceEvent) => void;
}

export type TraceName =
  | 'InitState'
  | 'BecomeFollower'
  | 'BecomePreCandidate'
  | 'BecomeCandidate'
  | 'BecomeLeader'
  /** The leader appended entries of its term. */
  | 'Replicate'
  /** The leader appended a configuration. */
  | 'ChangeConf'
  | 'ApplyConfChange'
  | 'InstallSnapshot'
  | 'Commit'
  | 'Ready'
  | 'Send'
  | 'Receive';

/**
 * What happened and the state right after it (before it for `Receive`); in the event set of the
 * trace specification that etcd-io/raft checks with TLA+. Plain data: one JSON line each.
 */
export interface TraceEvent {
  readonly name: TraceName;
  readonly member: MemberId;
  readonly role: Role;
  readonly term: Term;
  readonly vote: MemberId;
  readonly commit: Index;
  readonly lastIndex: Index;
  readonly configuration: Configuration;
  /** Of `Send` and `Receive`; of an append only the number of its entries. */
  readonly message: Exclude<Message, AppendRequest> | TracedAppend | undefined;
}

export type TracedAppend = Omit<AppendRequest, 'entries'> & { readonly entries: number };

export type ProposeResult = 'ok' | 'not-leader' | 'overloaded' | 'transferring';

export interface ConfChange {
  readonly configuration: Configuration;
}

export interface PeerStatus {
  readonly id: MemberId;
  readonly match: Index;
  readonly next: Index;
  readonly state: 'probe' | 'replicate' | 'snapshot';
  /** Heard within the last one or two election timeouts. With `match` against the leader's
   * `lastIndex` this tells whether a learner may be promoted. */
  readonly recentlyActive: boolean;
  /** What `RaftConfig.priorityOf` says of it; 0 without. */
  readonly priority: number;
}

export interface RaftStatus {
  readonly id: MemberId;
  readonly term: Term;
  readonly vote: MemberId;
  readonly role: Role;
  readonly leader: MemberId;
  readonly commit: Index;
  readonly lastIndex: Index;
  readonly stableIndex: Index;
  readonly applied: Index;
  readonly transferTarget: MemberId;
  readonly configuration: Configuration;
  /** Leader only. */
  readonly peers: readonly PeerStatus[];
}

/** The core. No method throws on bad input from peers; broken invariants throw InvariantError. */
export interface Raft {
  tick(): void;
  step(message: Message): void;
  /** Appends one entry per element, in order; all or none. */
  propose(data: readonly Uint8Array[]): ProposeResult;
  proposeConfiguration(data: Uint8Array): ProposeResult;
  /**
   * Must follow each applied Configuration entry, before the next page is applied; undefined for a
   * change that the driver vetoes. The one in force may change by one voter, enter a joint
   * configuration (its voters become the outgoing ones), or leave it (`kindOfChange`); anything
   * else breaks an invariant, as quorums that need not overlap would follow.
   */
  applyConfiguration(change: ConfChange | undefined): Configuration;
  /** Answered by a ReadState (perhaps through the leader) or by `readsDropped`. */
  readIndex(context: ReadContext): void;
  campaign(): void;
  /** Aborted after one election timeout; proposals are refused meanwhile. */
  transferLeader(to: MemberId): void;
  /** The socket to the leader was lost: shortens this member's timer to `ticks` (random below it)
   * and ends its own stickiness; the others keep theirs (design §10). */
  leaderLinkLost(ticks: number): void;
  reportUnreachable(id: MemberId): void;
  /** The stream of a snapshot to `id` ended; on success the follower holds state up to `index`. */
  reportSnapshot(id: MemberId, ok: boolean): void;
  /**
   * The driver has installed the state of `meta` (it holds back apply meanwhile, so
   * `meta.index` is above the applied index). A log that holds (index, term) keeps its suffix;
   * otherwise the log restarts behind it, by an AppendTask with `snapshot`, whose acknowledgement
   * to the leader follows when that is durable.
   * A leader too may get one, when it was elected for its log while its state was being replaced:
   * then its log must hold (index, term).
   */
  snapshotInstalled(meta: SnapshotMeta): void;
  /**
   * Gives back entries that this member's log held and lost to damage: exactly those, found here
   * or at members that held the same log. Before the first message or tick. They follow on from
   * the log, or from the snapshot installed before, and leave with the next append task.
   */
  restore(entries: readonly Entry[]): void;
  /** All append tasks up to this sequence are durable. */
  appendDone(sequence: number): void;
  /** The state machine has applied up to this index. */
  appliedTo(index: Index): void;
  /** The log now begins at this index. */
  compacted(firstIndex: Index): void;
  /** Entries that were `pending` can now be read. */
  logAvailable(): void;
  hasReady(): boolean;
  /** Hands over all work; there is no `advance`. */
  ready(): Ready;
  readonly role: Role;
  readonly leader: MemberId;
  readonly term: Term;
  readonly lastIndex: Index;
  readonly commit: Index;
  status(): RaftStatus;
}
