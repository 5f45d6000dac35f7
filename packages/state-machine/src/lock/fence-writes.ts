import { type ByteString, invariant, type Token } from '@lockstep/model';
import type { MachineTransaction } from '../transaction.ts';
import { FenceRow } from './fence-table.ts';

/** Raises a resource's mark; a mark never falls. Takes a revision when it changes (design §5). */
export function raiseFence(tx: MachineTransaction, resource: ByteString, token: Token): void {
  const { fences } = tx.store;
  const present = fences.get(resource);
  invariant(Number.isSafeInteger(token) && token > 0, () => `fence token ${token}`);
  if (present !== undefined && present.token >= token) return;
  tx.takeRevision();
  if (present === undefined) {
    const row = new FenceRow(resource, token);
    fences.add(row);
    tx.touchRow(row);
    tx.undoWith(() => fences.remove(row));
    return;
  }
  const before = present.token;
  present.token = token;
  tx.touchRow(present);
  tx.undoWith(() => {
    present.token = before;
  });
}

/** Removes a mark; false when there is none. */
export function removeFence(tx: MachineTransaction, resource: ByteString): boolean {
  const { fences } = tx.store;
  const row = fences.get(resource);
  if (row === undefined) return false;
  tx.takeRevision();
  fences.remove(row);
  row.removed = true;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.removed = false;
    fences.add(row);
  });
  return true;
}
