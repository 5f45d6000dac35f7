import {
  type ClusterTimeMs,
  invariant,
  type LeaseHandle,
  type LeaseKind,
  type MemberId,
} from '@lockstep/model';
import type { MachineTransaction } from '../transaction.ts';
import { LeaseRow } from './lease-table.ts';

/** Leases opened, moved and ended by one transaction. */
export class LeaseWrites {
  readonly #tx: MachineTransaction;

  constructor(tx: MachineTransaction) {
    this.#tx = tx;
  }

  /** `payload` is owned by the table from here. A ttl of 0 never expires. */
  grant(kind: LeaseKind, id: bigint, ttlMs: number, payload: Uint8Array): LeaseRow {
    const tx = this.#tx;
    const { meta, leases } = tx.store;
    tx.writing();
    invariant(leases.byId(kind, id) === undefined, () => `lease ${kind}/${id} is granted twice`);
    invariant(ttlMs >= 0, () => `lease ttl of ${ttlMs} ms`);
    const handle = ++meta.lastLease;
    const lease = new LeaseRow(handle, kind, id, ttlMs, 1, payload, tx.origin, tx.incarnation);
    leases.add(lease);
    tx.store.setLeaseDeadline(lease, this.#deadline(ttlMs));
    tx.kinds.push(kind);
    tx.touchRow(lease);
    tx.touchRow(lease.deadlineRow);
    tx.undoWith(() => {
      leases.remove(lease);
      tx.store.setLeaseDeadline(lease, 0);
      meta.lastLease--;
    });
    return lease;
  }

  #deadline(ttlMs: number): ClusterTimeMs {
    return ttlMs === 0 ? 0 : this.#tx.store.meta.time + ttlMs;
  }

  renew(handle: LeaseHandle): void {
    this.#tx.writing();
    this.#setDeadline(this.#known(handle));
  }

  attach(handle: LeaseHandle, ttlMs: number | undefined): LeaseRow {
    const tx = this.#tx;
    tx.writing();
    const lease = this.#known(handle);
    const { epoch, ttlMs: formerTtl, origin, incarnation } = lease;
    lease.epoch++;
    if (ttlMs !== undefined) lease.ttlMs = ttlMs;
    this.#setOrigin(lease, tx.origin, tx.incarnation);
    tx.touchRow(lease);
    tx.undoWith(() => {
      lease.epoch = epoch;
      lease.ttlMs = formerTtl;
      this.#setOrigin(lease, origin, incarnation);
    });
    this.#setDeadline(lease);
    return lease;
  }

  #setOrigin(lease: LeaseRow, origin: MemberId, incarnation: number): void {
    lease.origin = origin;
    lease.incarnation = incarnation;
  }

  #setDeadline(lease: LeaseRow): void {
    const tx = this.#tx;
    const before = lease.deadline;
    tx.store.setLeaseDeadline(lease, this.#deadline(lease.ttlMs));
    tx.touchRow(lease.deadlineRow);
    tx.undoWith(() => tx.store.setLeaseDeadline(lease, before));
  }

  #known(handle: LeaseHandle): LeaseRow {
    const lease = this.#tx.store.leases.get(handle);
    invariant(lease !== undefined, () => `lease ${handle} is unknown`);
    return lease;
  }

  /** Ends a lease with all that hangs on it: its kind's hook deletes that, or byte order does. */
  end(lease: LeaseRow, cause: 'expired' | 'revoked'): void {
    const tx = this.#tx;
    const { store } = tx;
    tx.writing();
    const hook = tx.registry.leaseEnded(lease.kind);
    if (hook !== undefined) {
      hook(tx, lease);
    } else {
      for (const slot of lease.sortedSlots()) {
        tx.records.delete(slot.generation.table.definition, slot.key);
      }
    }
    invariant(
      lease.keyCount === 0,
      () => `lease ${lease.kind}/${lease.id} ended with ${lease.keyCount} records`,
    );
    store.leases.remove(lease);
    store.removeLeaseDeadline(lease);
    tx.kinds.push(lease.kind);
    for (const row of [lease, lease.deadlineRow]) {
      row.removed = true;
      tx.touchRow(row);
    }
    tx.tell({ kind: 'lease-ended', lease, cause });
    tx.undoWith(() => {
      lease.removed = false;
      lease.deadlineRow.removed = false;
      store.leases.add(lease);
      store.setLeaseDeadline(lease, lease.deadline);
    });
  }
}
