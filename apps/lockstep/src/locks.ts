import Table from 'cli-table3';
import { askLocks } from './admin-client.ts';

/** Prints the locks of all doors in one list. */
export async function printLocks(addresses: readonly string[], json: boolean): Promise<void> {
  const { locks } = await askLocks(addresses);
  if (json) {
    console.log(JSON.stringify({ locks }));
    return;
  }
  if (locks.length === 0) {
    console.log('no locks are held');
    return;
  }
  const table = new Table({
    head: ['name', 'door', 'token', 'holder', 'lease left', 'waiters'],
    style: { head: [], border: [], compact: true },
  });
  for (const lock of locks) {
    const left =
      lock.leaseMsLeft === undefined ? 'none' : `${(lock.leaseMsLeft / 1000).toFixed(1)} s`;
    table.push([lock.name, lock.door, String(lock.token), lock.holder, left, String(lock.waiters)]);
  }
  console.log(table.toString());
}
