import type {
  ByteString,
  ClusterTimeMs,
  Incarnation,
  Index,
  LeaseHandle,
  LeaseKind,
  MemberId,
  Revision,
  Term,
  Token,
  WallTimeMs,
} from '@lockstep/model';
import type { Lease, LockNote, Waiter } from './coordination.ts';
import type { ClusterOption } from './extension.ts';
import type {
  AnyKeyspace,
  Keyspace,
  KeyspaceDefinition,
  KeyspaceIndex,
  LiveRecord,
} from './record.ts';

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
  /** Those that were removed, in ascending order of id; the newest thousand. */
  removedMembers(): readonly RemovedMember[];
  /** Highest id given to a member so far; ids only grow. */
  readonly lastMember: MemberId;

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
  /**
   * The revision of the `keep`-th newest change of a keyspace with history, counting revisions that
   * changed it and no others: compacted there, the last `keep` can still be read. 0 when fewer are
   * kept. What a running compaction has not removed yet still counts.
   */
  historyRevision(keyspace: AnyKeyspace, keep: number): Revision;
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

/** Tombstone of a member: neither its id nor its data directory is let in again. */
export type RemovedMember = Pick<
  MemberRecord,
  'id' | 'name' | 'etcdId' | 'peerAddress' | 'dataDirectory'
>;

/** A cluster option and what the cluster has set it to. */
export interface OptionSetting {
  readonly option: ClusterOption;
  readonly value: number | string | boolean;
}

/** Read-only state of this member: everything applied here. */
export interface StateView extends StateReader {
  readonly appliedIndex: Index;
  readonly appliedTerm: Term;
  /** State hash over all live records, as 16 hex digits (design §11). */
  stateHash(): string;
  readonly clusterId: bigint;
  /** Every cluster option there is, by name. */
  options(): readonly OptionSetting[];
}
