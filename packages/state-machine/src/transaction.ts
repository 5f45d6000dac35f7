import {
  type ByteString,
  type ClusterTimeMs,
  type CommandSession,
  copyBytes,
  type Incarnation,
  type Index,
  invariant,
  type LeaseHandle,
  type LeaseKind,
  type MemberId,
  mark,
  type Principal,
  type Revision,
  type Sequence,
  type Term,
  type Token,
} from '@lockstep/model';
import {
  type AnyKeyspace,
  BudgetExceeded,
  type ClusterOption,
  type KeyspaceDefinition,
  type Lease,
  type LiveRecord,
  type LockNote,
  type PutOptions,
  type StateEvent,
  type Transaction,
  type Waiter,
} from './contract.ts';
import type { SystemRow } from './image.ts';
import type { KeyspaceTable } from './keyspace.ts';
import type { LeaseRow } from './lease/lease-table.ts';
import { LeaseWrites } from './lease/lease-writes.ts';
import { raiseFence, removeFence } from './lock/fence-writes.ts';
import { setLockNote } from './lock/note-writes.ts';
import type { WaiterRow } from './lock/wait-queue.ts';
import { WaiterWrites } from './lock/waiter-writes.ts';
import type { MachineRegistry } from './procedure.ts';
import { commitChange, RecordChange } from './record-change.ts';
import { RecordWrites } from './record-writes.ts';
import { StoreReader } from './state-reader.ts';
import type { Store } from './store.ts';
import { OptionRow } from './system/option-table.ts';

/** Who and what a transaction runs for; filled in anew for each. */
export interface TransactionHead {
  origin: MemberId;
  incarnation: Incarnation;
  sequence: Sequence;
  principal: Principal;
  session: CommandSession | undefined;
  wanted: boolean;
  /** A procedure that writes nothing; a write is a programmer error. */
  readOnly: boolean;
  /** Steps it may spend. */
  budget: number;
}

/**
 * The one transaction of a machine, begun afresh for each command and expiry. Writes go straight
 * into the store, so that reads see them; undo puts everything back, commit makes rows and hashes.
 */
export class MachineTransaction extends StoreReader implements Transaction {
  origin: MemberId = 0;
  incarnation: Incarnation = 0;
  sequence: Sequence = 0;
  principal: Principal = 0;
  session: CommandSession | undefined = undefined;
  wanted = false;
  entryIndex: Index = 0;
  entryTerm: Term = 0;
  readonly registry: MachineRegistry;
  readonly records: RecordWrites;
  readonly leaseWrites: LeaseWrites;
  readonly waiterWrites: WaiterWrites;
  /** Revision carried by the next write; 0 until the first. */
  taken: Revision = 0;
  /** Position of the next change within that revision. */
  sub = 0;
  /** Kinds whose leases were opened or closed. */
  readonly kinds: LeaseKind[] = [];
  #startRevision: Revision = 0;
  #readOnly = false;
  #budget = 0;
  #spent = 0;
  #events: StateEvent[] | undefined = undefined;
  #rows: SystemRow[] = [];
  #atCommit: (() => void)[] = [];
  /** Changes and how to take other steps back, in order. Kept between transactions with its
   * length, because a list made anew costs more than the put it is made for. */
  readonly #steps: (RecordChange | (() => void) | undefined)[] = [];
  #stepCount = 0;

  constructor(store: Store, registry: MachineRegistry) {
    super(store);
    this.registry = registry;
    this.records = new RecordWrites(this);
    this.leaseWrites = new LeaseWrites(this);
    this.waiterWrites = new WaiterWrites(this);
  }

  begin(head: TransactionHead): void {
    this.origin = head.origin;
    this.incarnation = head.incarnation;
    this.sequence = head.sequence;
    this.principal = head.principal;
    this.session = head.session;
    this.wanted = head.wanted;
    this.#readOnly = head.readOnly;
    this.#budget = head.budget;
    this.#spent = 0;
    this.#startRevision = this.store.meta.revision;
    this.taken = 0;
    this.sub = 0;
    this.#events = undefined;
    this.records.begin();
  }

  // ---- bookkeeping shared by the writers ----------------------------------------------------

  /** Before any write that takes no revision. */
  writing(): void {
    invariant(!this.#readOnly, 'a read-only procedure writes');
  }

  get nextRevision(): Revision {
    return this.taken === 0 ? this.store.meta.revision + 1 : this.taken;
  }

  takeRevision(): Revision {
    if (this.taken === 0) {
      this.writing();
      this.anotherRevision();
    }
    return this.taken;
  }

  /** The revision that a change of that keyspace carries. */
  revisionFor(keyspace: AnyKeyspace): Revision {
    if (keyspace.unnumbered !== true) return this.takeRevision();
    this.writing();
    return this.store.meta.revision;
  }

  /** Takes a further revision: one key gets a second token. */
  anotherRevision(): Revision {
    this.taken = ++this.store.meta.revision;
    this.sub = 0;
    return this.taken;
  }

  /** Takes a revision far ahead; every keyspace and session counts as changed by it. */
  jumpRevision(to: Revision): void {
    const { meta, tables } = this.store;
    this.writing();
    invariant(to > meta.revision, () => `jump from revision ${meta.revision} to ${to}`);
    meta.revision = to;
    this.taken = to;
    this.sub = 0;
    this.atCommit(() => {
      for (const table of tables) table.lastRevision = to;
      meta.sessionRevisions.fill(to);
    });
  }

  /** Notes a change made; it is committed or undone with the transaction. */
  changed(change: RecordChange): void {
    this.tell(change);
    this.#steps[this.#stepCount++] = change;
  }

  /** Adds an event for the subscribers. */
  tell(event: StateEvent): void {
    // Most transactions have one event: a literal of one is far smaller than a list that grew.
    if (this.#events === undefined) this.#events = [event];
    else this.#events.push(event);
  }

  /** Events so far; the caller owns the list once the transaction is committed. */
  get events(): readonly StateEvent[] {
    return this.#events ?? [];
  }

  /** Marks a row to be written at commit. */
  touchRow(row: SystemRow): void {
    if (row.dirty) return;
    row.dirty = true;
    this.#rows.push(row);
  }

  /** How to take the step just made back. */
  undoWith(step: () => void): void {
    this.#steps[this.#stepCount++] = step;
  }

  /** What must happen only if the transaction stays. */
  atCommit(step: () => void): void {
    this.#atCommit.push(step);
  }

  /** Changes of this transaction so far. */
  changes(): RecordChange[] {
    const steps = this.#steps.slice(0, this.#stepCount);
    return steps.filter((step) => step instanceof RecordChange);
  }

  /** Writes rows, hashes and history. Returns the last revision taken, 0 when none. */
  commit(): Revision {
    const { store } = this;
    for (let i = 0; i < this.#stepCount; i++) {
      const step = this.#steps[i];
      if (step instanceof RecordChange) commitChange(store, step);
    }
    for (const row of this.#rows) store.image.flush(row);
    for (const step of this.#atCommit) step();
    if (this.taken !== 0) {
      for (const kind of this.kinds) store.meta.sessionRevisions[kind] = this.taken;
    }
    this.#clear();
    return this.taken;
  }

  /** Puts the store back to what it was at `begin`. */
  undo(): void {
    mark('transaction over its budget undone');
    for (let i = this.#stepCount - 1; i >= 0; i--) {
      const step = this.#steps[i];
      if (step instanceof RecordChange) this.records.undo(step);
      else step?.();
    }
    for (const row of this.#rows) row.dirty = false;
    this.store.meta.revision = this.#startRevision;
    this.taken = 0;
    this.#events = undefined;
    this.waiterWrites.forget();
    this.#clear();
  }

  #clear(): void {
    // A kept step would keep records alive; a list that grew large is not worth keeping.
    if (this.#steps.length > 1024) this.#steps.length = 0;
    for (let i = Math.min(this.#stepCount, this.#steps.length) - 1; i >= 0; i--) {
      this.#steps[i] = undefined;
    }
    this.#stepCount = 0;
    if (this.#rows.length > 0) this.#rows = [];
    if (this.#atCommit.length > 0) this.#atCommit = [];
    this.kinds.length = 0;
  }

  // ---- records ------------------------------------------------------------------------------

  put<V>(
    keyspace: KeyspaceDefinition<V>,
    key: ByteString,
    value: V,
    options?: PutOptions,
  ): LiveRecord<V> {
    return this.records.put(keyspace, key, value, options) as LiveRecord<V>;
  }

  delete<V>(keyspace: KeyspaceDefinition<V>, key: ByteString): LiveRecord<V> | undefined {
    return this.records.delete(keyspace, key) as LiveRecord<V> | undefined;
  }

  deleteRange(
    keyspace: AnyKeyspace,
    from: ByteString,
    to: ByteString | undefined,
    deleted?: (key: ByteString, record: LiveRecord) => void,
  ): number {
    return this.records.deleteRange(keyspace, from, to, deleted);
  }

  clear(keyspace: AnyKeyspace): void {
    this.records.clear(keyspace);
  }

  compact(keyspace: AnyKeyspace, revision: Revision): void {
    this.writing();
    const { history } = this.store.table(keyspace);
    invariant(history !== undefined, () => `keyspace ${keyspace.name} keeps no history`);
    invariant(
      revision <= this.store.meta.revision,
      () => `compaction at ${revision}, current is ${this.store.meta.revision}`,
    );
    const { compacted, scanned } = history;
    history.compact(revision);
    this.undoWith(() => history.uncompact(compacted, scanned));
  }

  // ---- leases -------------------------------------------------------------------------------

  grantLease(kind: LeaseKind, id: bigint, ttlMs: number, payload: Uint8Array): Lease {
    return this.leaseWrites.grant(kind, id, ttlMs, copyBytes(payload));
  }

  revokeLease(handle: LeaseHandle): void {
    const lease = this.store.leases.get(handle);
    invariant(lease !== undefined, () => `revoke of unknown lease ${handle}`);
    this.endLease(lease, 'revoked');
  }

  endLease(lease: LeaseRow, cause: 'expired' | 'revoked'): void {
    this.leaseWrites.end(lease, cause);
  }

  renewLease(handle: LeaseHandle): void {
    this.leaseWrites.renew(handle);
  }

  attachLease(handle: LeaseHandle, ttlMs?: number): Lease {
    return this.leaseWrites.attach(handle, ttlMs);
  }

  // ---- waiters, locks, fences, options ------------------------------------------------------

  enqueueWaiter(
    kind: string,
    keyspace: AnyKeyspace,
    keys: readonly ByteString[],
    deadline: ClusterTimeMs,
    args: Uint8Array,
  ): Waiter {
    return this.waiterWrites.enqueue(kind, keyspace, keys, deadline, copyBytes(args));
  }

  removeWaiter(id: number): boolean {
    const waiter = this.store.queues.byId.get(id);
    if (waiter === undefined) return false;
    this.waiterWrites.remove(waiter, 'cancelled', undefined);
    return true;
  }

  /** Ends a waiter whose time has run out. */
  expireWaiter(waiter: WaiterRow): void {
    mark('waiter expired');
    this.waiterWrites.remove(waiter, 'timed-out', undefined);
  }

  /** Told of each changed key, for the queues. */
  touchKey(table: KeyspaceTable, key: ByteString): void {
    this.waiterWrites.touch(table, key);
  }

  setLockNote(keyspace: AnyKeyspace, key: ByteString, note: LockNote | undefined): void {
    setLockNote(this, keyspace, key, note);
  }

  raiseFence(resource: ByteString, token: Token): void {
    raiseFence(this, resource, token);
  }

  removeFence(resource: ByteString): boolean {
    return removeFence(this, resource);
  }

  setOption(option: ClusterOption, value: number | string | boolean): void {
    this.writing();
    const { options } = this.store;
    const present = options.get(option.name);
    const row = present ?? new OptionRow(option.name, value);
    const before = row.value;
    row.value = value;
    options.set(option.name, row);
    this.touchRow(row);
    this.undoWith(() => {
      row.value = before;
      if (present === undefined) options.delete(option.name);
    });
  }

  emit(door: string, payload: unknown): void {
    this.tell({ kind: 'door', door, payload });
  }

  spend(steps: number): void {
    this.#spent += steps;
    if (this.#spent > this.#budget) {
      throw new BudgetExceeded(`transaction spent ${this.#spent} of ${this.#budget} steps`);
    }
  }
}
