import type {
  BinaryReader,
  BinaryWriter,
  ByteString,
  ClusterTimeMs,
  LeaseHandle,
  Revision,
  Token,
} from '@lockstep/model';
import type { Transaction } from './writing.ts';

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
  /** True when its changes take no revision (design §5: scripts): records carry the present one
   * and no token of theirs fences anything. */
  readonly unnumbered?: boolean;
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
