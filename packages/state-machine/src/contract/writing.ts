import type {
  ByteString,
  ClusterTimeMs,
  CommandSession,
  Incarnation,
  Index,
  LeaseHandle,
  LeaseKind,
  MemberId,
  Principal,
  Revision,
  Sequence,
  Term,
  Token,
} from '@lockstep/model';
import type { Lease, LockNote, Waiter } from './coordination.ts';
import type { ClusterOption } from './extension.ts';
import type { StateReader } from './reading.ts';
import type { AnyKeyspace, KeyspaceDefinition, LiveRecord } from './record.ts';

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
