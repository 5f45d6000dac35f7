import { type Incarnation, LeaseKind, type MemberId, mark } from '@lockstep/model';
import type { MachineTransaction } from '../transaction.ts';

/** A member's incarnation lives no longer: its waiters and the locks of its connections go, and
 * what it still sends is void (design §4). */
export function endIncarnation(tx: MachineTransaction, member: MemberId): void {
  const row = tx.store.duplicates.rows.get(member);
  if (row === undefined) return;
  mark('lease of a member expired');
  const { alive } = row;
  row.alive = false;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.alive = alive;
  });
  endBelow(tx, member, row.incarnation + 1);
}

/** Opens an incarnation: the former ones end, and its commands are counted from 1. */
export function openIncarnation(
  tx: MachineTransaction,
  member: MemberId,
  incarnation: Incarnation,
): void {
  endBelow(tx, member, incarnation);
  const row = tx.store.duplicates.ofMember(member);
  const { incarnation: former, lastSequence, alive } = row;
  row.incarnation = incarnation;
  row.lastSequence = 0;
  row.alive = true;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.incarnation = former;
    row.lastSequence = lastSequence;
    row.alive = alive;
  });
}

function endBelow(tx: MachineTransaction, member: MemberId, below: Incarnation): void {
  const { queues, leases } = tx.store;
  for (const waiter of queues.ofIncarnations(member, below)) tx.removeWaiter(waiter.id);
  for (const lease of leases.ofKind(LeaseKind.RedisConnection)) {
    if (lease.origin === member && lease.incarnation < below) tx.endLease(lease, 'revoked');
  }
}
