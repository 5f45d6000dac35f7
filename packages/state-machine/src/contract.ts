import type {
  BinaryReader,
  BinaryWriter,
  ByteString,
  ClusterTimeMs,
  CommandSession,
  Incarnation,
  Index,
  LeaseHandle,
  LeaseKind,
  LogEntry,
  MemberId,
  Principal,
  RenewalGroup,
  Revision,
  Sequence,
  Term,
  Token,
  WallTimeMs,
} from '@lockstep/model';

/**
 * The contract between the state machine and whoever contributes to it (design §2, §5–§9).
 * The state machine knows no protocol: a door contributes an `Extension` of keyspaces, procedures
 * and hooks, and reads through `StateView`.
 */

// ---- records and keyspaces -----------------------------------------------------------------

/** A live record. Immutable: a change replaces it, so that readers may keep it. */
export interface LiveRecord<V = unknown> {
  readonly value: V;
  /** Revision at which this life of the key began (etcd create revision, ZooKeeper czxid). */
  readonly createRevision: Revision;
  /** Revision of the last put (etcd mod revision). */
  readonly modRevision: Revision;
  /** Puts in this life; 1 at creation (etcd version). */
  readonly version: number;
  /** Fencing token: revision at which the present owner got the record (design §5). */
  readonly token: Token;
  /** Lease the record hangs on; 0 none. Ends with it. */
  readonly lease: LeaseHandle;
  /** Cluster time at which the record expires; 0 never. */
  readonly deadline: ClusterTimeMs;
}

/** Turns a record's value into image bytes and back; also what the state hash covers. */
export interface ValueCodec<V> {
  encode(writer: BinaryWriter, value: V): void;
  /** Must copy bytes it keeps. */
  decode(reader: BinaryReader): V;
  /** Bytes that count against the quota, key and fixed fields excluded. */
  sizeBytes(value: V): number;
}

export interface KeyspaceDefinition<V = unknown> {
  /** Table number in the image, 16 … 65535, never reused. Below 16 is the state machine's own. */
  readonly id: number;
  /** `etcd`, `zookeeper`, `redis/0` … */
  readonly name: string;
  /** Keeps every version until compaction (etcd). */
  readonly history: boolean;
  readonly codec: ValueCodec<V>;
  /** Ordered keyspaces answer `range`; the others only exact keys (and `scan`). */
  readonly ordered: boolean;
  /**
   * False when replacing `before` by `after` keeps the owner, so that the token stays. Left out:
   * the token is the create revision for the whole life of the key.
   */
  readonly changesOwner?: (before: V, after: V) => boolean;
  /**
   * What LOCK needs of a value: its owner (undefined: not a kind that can be a lock) and a value
   * for an owner. Left out: the keyspace holds no locks of the lock table.
   */
  readonly lock?: {
    ownerOf(value: V): ByteString | undefined;
    valueOf(owner: ByteString): V;
  };
  /** Runs instead of a plain delete when a record's deadline passes; must delete the record. */
  readonly expired?: (tx: Transaction, key: ByteString, record: LiveRecord<V>) => void;
  /** Derived, member-local index (children, SCAN buckets); told of each change, also at load. */
  readonly index?: (keyspace: Keyspace<V>) => KeyspaceIndex<V>;
}

/** A keyspace of any value type. */
// biome-ignore lint/suspicious/noExplicitAny: values are invariant, tables of mixed ones need it.
export type AnyKeyspace = KeyspaceDefinition<any>;

/** A keyspace of one state machine; made by the machine from its definition. */
export interface Keyspace<V = unknown> {
  readonly definition: KeyspaceDefinition<V>;
}

/** Kept beside a keyspace, rebuilt at load, never in the image; must not hold what a procedure can
 * see in an order that depends on history (design §2 rule c). */
export interface KeyspaceIndex<V = unknown> {
  changed(
    key: ByteString,
    before: LiveRecord<V> | undefined,
    after: LiveRecord<V> | undefined,
  ): void;
  /** The keyspace was emptied by a generation swap. */
  cleared(): void;
}

// ---- events ---------------------------------------------------------------------------------

/** A change of a door's keyspace, in order. */
export interface ChangeEvent {
  readonly kind: 'change';
  readonly keyspace: AnyKeyspace;
  readonly key: ByteString;
  readonly revision: Revision;
  /** Position among the changes of its revision: 0, 1, 2 … */
  readonly sub: number;
  /** Undefined when deleted. */
  readonly record: LiveRecord | undefined;
  readonly previous: LiveRecord | undefined;
}

/** Emptied as a whole (FLUSHDB); no single change events are given. */
export interface ClearEvent {
  readonly kind: 'clear';
  readonly keyspace: AnyKeyspace;
  readonly revision: Revision;
}

/** A lease or session is no more; its keys' changes came before, in the same transaction. */
export interface LeaseEndedEvent {
  readonly kind: 'lease-ended';
  readonly lease: Lease;
  readonly cause: 'expired' | 'revoked';
}

/** What a procedure or hook says to its own door on every member (publish, notification, watch). */
export interface DoorEvent {
  readonly kind: 'door';
  readonly door: string;
  readonly payload: unknown;
}

/** A queued waiter got what it waited for, or its time ran out. Only its origin replies. */
export interface WaiterEvent {
  readonly kind: 'waiter';
  readonly waiter: Waiter;
  readonly outcome: 'served' | 'timed-out' | 'cancelled';
  /** Result of `serve`; undefined unless served. */
  readonly result: unknown;
}

export type StateEvent = ChangeEvent | ClearEvent | LeaseEndedEvent | DoorEvent | WaiterEvent;

/** One transaction as event subscribers see it, before its command's call-back. */
export interface AppliedTransaction {
  /** Last revision taken by it; 0 when it took none. */
  readonly revision: Revision;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  /** The command's origin and number; origin 0 for expiry and the leader's own commands. */
  readonly origin: MemberId;
  readonly sequence: Sequence;
  readonly events: readonly StateEvent[];
}

// ---- leases, waiters, locks, fences ----------------------------------------------------------

export interface Lease {
  readonly handle: LeaseHandle;
  readonly kind: LeaseKind;
  /** The protocol's id: etcd int64, ZooKeeper session id; unique within its kind. */
  readonly id: bigint;
  readonly ttlMs: number;
  readonly deadline: ClusterTimeMs;
  /** Counts attachments (ZooKeeper); a command with another epoch is void. */
  readonly epoch: number;
  /** Door's own bytes (password); the machine never looks inside. */
  readonly payload: Uint8Array;
  /** Records hanging on it. */
  readonly keyCount: number;
  /** Member and incarnation that opened or last attached it. A RedisConnection lease ends with
   * that incarnation. */
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
}

/** Somebody queued for keys: LOCK ACQUIRE … BLOCK, BLPOP (design §9). Replicated, FIFO per key. */
export interface Waiter {
  /** Replicated counter: queue order. */
  readonly id: number;
  /** Names the `WaiterKind` that serves it. */
  readonly kind: string;
  readonly keyspace: AnyKeyspace;
  readonly keys: readonly ByteString[];
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  /** Sequence of the command that queued it; how its origin finds the client. */
  readonly request: Sequence;
  /** Cluster time; 0 waits for ever. */
  readonly deadline: ClusterTimeMs;
  /** Queued at (cluster time), for LOCK QUEUE. */
  readonly since: ClusterTimeMs;
  readonly args: Uint8Array;
}

export interface WaiterKind {
  readonly name: string;
  /**
   * True when one waiter that stays queued means that no later one of this kind on the same key
   * can be served (locks): the queue is then not asked further. Default false: all are asked.
   */
  readonly strict?: boolean;
  /**
   * Called at the end of a transaction that changed one of its keys, oldest waiter first. Serves
   * it (writes through `tx`) and returns a result, or returns undefined and it stays queued, or
   * returns `WAITER_CANCELLED` and it leaves the queue with outcome `cancelled`.
   */
  serve(tx: Transaction, waiter: Waiter): unknown;
}

/** Returned by `WaiterKind.serve` for a waiter that can never be served any more. */
export const WAITER_CANCELLED: unique symbol = Symbol('waiter cancelled');

/**
 * What is known of a lock beside its record: kept by the lock table under the record's key and
 * token, gone when the record is deleted or gets another token.
 */
export interface LockNote {
  readonly token: Token;
  /** When the present owner got the lock: cluster time and wall stamp. */
  readonly acquiredAt: ClusterTimeMs;
  readonly acquiredWall: WallTimeMs;
  /** Member through which it was taken. */
  readonly origin: MemberId;
  /** Re-entrant acquisitions not yet released; 1 for a plain lock. */
  readonly holds: number;
  /** Owner's own bytes (META of LOCK ACQUIRE). */
  readonly meta: Uint8Array;
}

/** One row of `lockstep locks` (design §9): a view for people, sorted by name. */
export interface LockRow {
  readonly door: 'etcd' | 'zookeeper' | 'redis';
  readonly name: string;
  readonly holder: string;
  readonly token: Token;
  /** Milliseconds of lease or TTL left; undefined when it has none. */
  readonly leaseMsLeft: number | undefined;
  readonly waiters: number;
}

// ---- procedures --------------------------------------------------------------------------------

/**
 * A named, versioned step of the replicated state. Rules of design §2: log and state only; decide
 * every branch and error before the first write; no order from Map or Set history.
 */
export interface Procedure<A = unknown, R = unknown> {
  /** See ProcedureFamily; (id, version) is unique and never reused. */
  readonly id: number;
  readonly version: number;
  readonly name: string;
  /** Writes nothing: runs only on the member whose client waits, takes no revision. */
  readonly readOnly: boolean;
  /** Views into the log entry: copy what is stored. Throws BinaryFormatError; since every door
   * validates before proposing, that stops the member. */
  decode(reader: BinaryReader): A;
  /** The result goes to the origin's door; errors a client can cause are results, not throws. */
  run(tx: Transaction, args: A): R;
}

// biome-ignore lint/suspicious/noExplicitAny: tables hold procedures of mixed argument types.
export type AnyProcedure = Procedure<any, unknown>;

/** Thrown by `Transaction.spend` over budget; the machine undoes the transaction (design §12). */
export class BudgetExceeded extends Error {
  override name = 'BudgetExceeded';
}

/** Option that changes what apply does: replicated, seeded at formation (design §10). */
export interface ClusterOption<T extends number | string | boolean = number | string | boolean> {
  readonly name: string;
  readonly default: T;
  readonly doc: string;
}

/** What a door contributes. */
export interface Extension {
  readonly name: string;
  readonly keyspaces: readonly AnyKeyspace[];
  readonly procedures: readonly AnyProcedure[];
  readonly waiters?: readonly WaiterKind[];
  readonly options?: readonly ClusterOption[];
  /**
   * Runs inside the transaction in which a lease of that kind ends, before it is removed: deletes
   * the records that hang on it. Left out: they are deleted in (keyspace, key) order.
   */
  readonly leaseEnded?: ReadonlyMap<LeaseKind, (tx: Transaction, lease: Lease) => void>;
}

// ---- reading --------------------------------------------------------------------------------------

/** A version of a key in a keyspace with history; its value is fetched after apply (design §12). */
export interface HistoryReference {
  readonly keyspace: AnyKeyspace;
  readonly key: ByteString;
  readonly revision: Revision;
  readonly sub: number;
  /** False for a tombstone, which has no value to fetch. */
  readonly live: boolean;
}

/** Reads common to views and transactions. All results are live records, never copies. */
export interface StateReader {
  /** Current revision: of the last transaction that took one. */
  readonly revision: Revision;
  /** Cluster time and wall stamp of the entry being or last applied. */
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;

  keyspace<V>(definition: KeyspaceDefinition<V>): Keyspace<V>;
  index<I extends KeyspaceIndex>(definition: AnyKeyspace): I;
  get<V>(keyspace: KeyspaceDefinition<V>, key: ByteString): LiveRecord<V> | undefined;
  /** Live keys in it. */
  size(keyspace: AnyKeyspace): number;
  /**
   * Ascending over from ≤ key < to (`to` undefined: to the end) until `visit` returns false.
   * Ordered keyspaces only. The keyspace must not be changed inside `visit`.
   */
  range<V>(
    keyspace: KeyspaceDefinition<V>,
    from: ByteString,
    to: ByteString | undefined,
    visit: (key: ByteString, record: LiveRecord<V>) => boolean | undefined,
  ): void;
  /** Every live key, in no promised order; for listings outside of procedures only. */
  scan<V>(
    keyspace: KeyspaceDefinition<V>,
    visit: (key: ByteString, record: LiveRecord<V>) => boolean | undefined,
  ): void;
  /** Last revision that changed this keyspace (or, given a kind, opened or closed its sessions). */
  lastRevision(keyspace: AnyKeyspace, sessions?: LeaseKind): Revision;

  lease(handle: LeaseHandle): Lease | undefined;
  leaseById(kind: LeaseKind, id: bigint): Lease | undefined;
  /** Soonest deadline first, then id. */
  leases(kind: LeaseKind): readonly Lease[];
  /** Records hanging on a lease in (keyspace, key) order. */
  leaseKeys(
    handle: LeaseHandle,
  ): readonly { readonly keyspace: AnyKeyspace; readonly key: ByteString }[];

  /** Length of a key's queue, without listing it. */
  waiterCount(keyspace: AnyKeyspace, key: ByteString): number;
  /** Queue of a key, oldest first. */
  waiters(keyspace: AnyKeyspace, key: ByteString): readonly Waiter[];
  /** High-water mark of a fenced resource; 0 when there is none. */
  fence(resource: ByteString): Token;
  /** Every fenced resource in byte order, until `visit` returns false. */
  fences(visit: (resource: ByteString, token: Token) => boolean | undefined): void;
  /** Lock table's note on a record; undefined when it was not taken through the lock table. */
  lockNote(keyspace: AnyKeyspace, key: ByteString): LockNote | undefined;
  /** Bytes counted against the quota: records, history, queues, notes and fences. Within a
   * transaction: as it stood before. */
  readonly liveBytes: number;
  /** Replicated feature level (design §2). */
  readonly featureLevel: number;
  option<T extends number | string | boolean>(option: ClusterOption<T>): T;
  members(): readonly MemberRecord[];

  /** Oldest revision that can be read of a keyspace with history; 0 before any compaction. */
  compactedRevision(keyspace: AnyKeyspace): Revision;
  /** True while what was compacted is still being removed from the image (etcd's `physical`). */
  compacting(keyspace: AnyKeyspace): boolean;
  /**
   * The version of each key in [from, to) at `revision`, ascending, tombstones left out.
   * Caller has checked compacted ≤ revision ≤ current.
   */
  rangeAt(
    keyspace: AnyKeyspace,
    from: ByteString,
    to: ByteString | undefined,
    revision: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void;
  /** All changes with first ≤ revision ≤ last in (revision, sub) order: catch-up of watchers. */
  changesBetween(
    keyspace: AnyKeyspace,
    first: Revision,
    last: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void;
  /** The newest version of `key` strictly before `revision`, for prev_kv. */
  versionBefore(
    keyspace: AnyKeyspace,
    key: ByteString,
    revision: Revision,
  ): HistoryReference | undefined;
}

/** A member as the replicated state knows it (design §10). */
export interface MemberRecord {
  readonly id: MemberId;
  readonly name: string;
  /** 64-bit id shown by the etcd door. */
  readonly etcdId: bigint;
  readonly peerAddress: string;
  /** Published client addresses by door: `etcd`, `zookeeper`, `redis`, `admin`; from `hello`. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly learner: boolean;
  /** Software version and highest feature level, from `hello`; '' and 0 before the first. */
  readonly version: string;
  readonly featureLevel: number;
  readonly incarnation: Incarnation;
  readonly dataDirectory: string;
}

/** Read-only state of this member: everything applied here. */
export interface StateView extends StateReader {
  readonly appliedIndex: Index;
  readonly appliedTerm: Term;
  /** State hash over all live records, as 16 hex digits (design §11). */
  stateHash(): string;
  readonly clusterId: bigint;
}

// ---- writing ------------------------------------------------------------------------------------------

export interface PutOptions {
  /** Lease to hang the record on; left out: keeps the present one (`NO_LEASE` detaches). */
  readonly lease?: LeaseHandle;
  /** Deadline in cluster time; left out: keeps the present one (0 removes it). */
  readonly deadline?: ClusterTimeMs;
  /** Overrides the keyspace's rule: `new` forces a token (RENAME), `keep` keeps it. */
  readonly token?: 'new' | 'keep';
  /** False keeps modRevision and version (only lease or deadline move); the revision is taken
   * all the same. Default true. */
  readonly touch?: boolean;
}

/**
 * The view handed to a procedure: reads see its own writes. The first write takes the next
 * revision; a second token for one key takes another one.
 */
export interface Transaction extends StateReader {
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  readonly sequence: Sequence;
  readonly principal: Principal;
  readonly session: CommandSession | undefined;
  /** True only on the member whose client waits: results nobody reads need not be built. */
  readonly wanted: boolean;
  /** Log index and term of the entry; seeds for what must look random (SPOP). */
  readonly entryIndex: Index;
  readonly entryTerm: Term;
  /** The revision that writes of this transaction carry (taken on the first of them). */
  readonly nextRevision: Revision;

  put<V>(
    keyspace: KeyspaceDefinition<V>,
    key: ByteString,
    value: V,
    options?: PutOptions,
  ): LiveRecord<V>;
  delete<V>(keyspace: KeyspaceDefinition<V>, key: ByteString): LiveRecord<V> | undefined;
  /** Deletes from ≤ key < to, ascending. Returns how many. */
  deleteRange(
    keyspace: AnyKeyspace,
    from: ByteString,
    to: ByteString | undefined,
    deleted?: (key: ByteString, record: LiveRecord) => void,
  ): number;
  /** Empties a keyspace by a generation swap, O(1) here and freed in the background. */
  clear(keyspace: AnyKeyspace): void;
  /** Drops history below `revision` of a keyspace with history. */
  compact(keyspace: AnyKeyspace, revision: Revision): void;
  /** Takes the next revision although no record changes (ZooKeeper session open and close). */
  takeRevision(): Revision;

  /** Opens a lease; its handle is returned. The caller has checked that (kind, id) is free. */
  grantLease(kind: LeaseKind, id: bigint, ttlMs: number, payload: Uint8Array): Lease;
  /** Ends a lease with all that hangs on it, in this transaction. */
  revokeLease(handle: LeaseHandle): void;
  /** Sets the deadline to now + ttl, as a renewal in the entry's head does. */
  renewLease(handle: LeaseHandle): void;
  /** Attaches a session to its newest connection: next epoch, renewed, perhaps a new ttl. */
  attachLease(handle: LeaseHandle, ttlMs?: number): Lease;

  /** Queues a waiter for this command; its origin is told by a WaiterEvent. */
  enqueueWaiter(
    kind: string,
    keyspace: AnyKeyspace,
    keys: readonly ByteString[],
    deadline: ClusterTimeMs,
    args: Uint8Array,
  ): Waiter;
  /** Takes a waiter out of its queues; its origin is told `cancelled`. False when there is none. */
  removeWaiter(id: number): boolean;
  /** Sets or removes the lock table's note on a present record; it must carry its token. */
  setLockNote(keyspace: AnyKeyspace, key: ByteString, note: LockNote | undefined): void;
  /** Raises a mark to `token` if that is higher; the caller has compared before. */
  raiseFence(resource: ByteString, token: Token): void;
  removeFence(resource: ByteString): boolean;
  setOption(option: ClusterOption, value: number | string | boolean): void;

  emit(door: string, payload: unknown): void;
  /** Counts work against the transaction's budget. Throws BudgetExceeded (design §12). */
  spend(steps: number): void;
}

// ---- the machine as the replica drives it ------------------------------------------------------------

export type CommandOutcome =
  | { readonly kind: 'done'; readonly result: unknown; readonly revision: Revision }
  /** Not applied: duplicate, gap, old incarnation, session gone or moved, over budget, empty. */
  | { readonly kind: 'void'; readonly reason: VoidReason };

export type VoidReason =
  | 'duplicate'
  | 'gap'
  | 'old-incarnation'
  | 'empty'
  | 'session-expired'
  | 'session-moved'
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
}

/** What a fresh store starts from; the same on every member of a new cluster. */
export interface Bootstrap {
  readonly clusterId: bigint;
  readonly members: readonly { id: MemberId; name: string; etcdId: bigint; peerAddress: string }[];
  readonly options: Readonly<Record<string, number | string | boolean>>;
  readonly electionTimeoutMs: number;
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

  /** Rebuilds the state from image records in key order; then `loaded` verifies the state hash. */
  load(key: Uint8Array, value: Uint8Array): void;
  /** Throws InvariantError with both hashes when the image does not match its hash. */
  loaded(): void;
  /** Image key and value decoder of a history version, for the replica's reader. */
  historyKey(reference: HistoryReference): ByteString;
  decodeHistory(reference: HistoryReference, value: Uint8Array): LiveRecord;
}
