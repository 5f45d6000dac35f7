import { type ByteString, type ClusterTimeMs, invariant } from '@lockstep/model';
import { type AnyKeyspace, WAITER_CANCELLED } from '../contract.ts';
import type { KeyspaceTable } from '../keyspace.ts';
import type { MachineTransaction } from '../transaction.ts';
import { WaiterRow } from './wait-queue.ts';

interface TouchedKey {
  readonly table: KeyspaceTable;
  readonly key: ByteString;
}

/** Waiters queued, served and removed by one transaction. */
export class WaiterWrites {
  readonly #tx: MachineTransaction;
  #touched: TouchedKey[] = [];

  constructor(tx: MachineTransaction) {
    this.#tx = tx;
  }

  /** `args` are owned by the queue from here. */
  enqueue(
    kind: string,
    keyspace: AnyKeyspace,
    keys: readonly ByteString[],
    deadline: ClusterTimeMs,
    args: Uint8Array,
  ): WaiterRow {
    const tx = this.#tx;
    const { store } = tx;
    tx.writing();
    tx.registry.waiterKind(kind);
    const waiter = new WaiterRow(store.table(keyspace), {
      id: ++store.meta.lastWaiter,
      kind,
      keys: [...new Set(keys)],
      origin: tx.origin,
      incarnation: tx.incarnation,
      request: tx.sequence,
      deadline,
      since: store.meta.time,
      args,
    });
    store.queues.add(waiter);
    store.setWaiterDeadline(waiter, deadline);
    tx.touchRow(waiter);
    tx.undoWith(() => {
      store.queues.remove(waiter);
      store.setWaiterDeadline(waiter, 0);
      store.meta.lastWaiter--;
    });
    return waiter;
  }

  remove(waiter: WaiterRow, outcome: 'served' | 'timed-out' | 'cancelled', result: unknown): void {
    const tx = this.#tx;
    const { store } = tx;
    tx.writing();
    store.queues.remove(waiter);
    store.setWaiterDeadline(waiter, 0);
    waiter.removed = true;
    tx.touchRow(waiter);
    tx.tell({ kind: 'waiter', waiter, outcome, result });
    // Whoever stands behind it on a key that is free already may have been waiting for it alone.
    for (const key of waiter.keys) {
      if (waiter.space.queues.has(key)) this.touch(waiter.space, key);
    }
    tx.undoWith(() => {
      waiter.removed = false;
      store.queues.restore(waiter);
      store.setWaiterDeadline(waiter, waiter.deadline);
    });
  }

  /** A key changed: its queue is asked at the end of the transaction. */
  touch(table: KeyspaceTable, key: ByteString): void {
    if (table.queues.has(key)) this.#touched.push({ table, key });
  }

  forget(): void {
    this.#touched = [];
  }

  /**
   * Serves the queues of changed keys, oldest waiter first, until no change is left to look at:
   * what one waiter writes may be what another waits for.
   */
  serve(): void {
    while (this.#touched.length > 0) {
      const touched = this.#touched;
      this.#touched = [];
      for (const waiter of candidates(touched)) this.#offer(waiter, touched);
    }
  }

  #offer(waiter: WaiterRow, touched: readonly TouchedKey[]): void {
    const tx = this.#tx;
    if (waiter.removed) return;
    const kind = tx.registry.waiterKind(waiter.kind);
    if (kind.strict === true && !isAhead(waiter, touched)) return;
    const result = kind.serve(tx, waiter);
    if (result === undefined) return;
    invariant(!waiter.removed, () => `waiter ${waiter.id} removed itself`);
    const cancelled = result === WAITER_CANCELLED;
    this.remove(waiter, cancelled ? 'cancelled' : 'served', cancelled ? undefined : result);
  }
}

/** All waiters of the touched keys, each once, oldest first. */
function candidates(touched: readonly TouchedKey[]): WaiterRow[] {
  const first = touched[0]!;
  if (touched.length === 1) return [...(first.table.queues.get(first.key)?.values() ?? [])];
  const found = new Set<WaiterRow>();
  for (const { table, key } of touched) {
    for (const waiter of table.queues.get(key)?.values() ?? []) found.add(waiter);
  }
  return [...found].sort((x, y) => x.id - y.id);
}

/** Whether no earlier waiter of the same kind stands in the queue of one of its touched keys. */
function isAhead(waiter: WaiterRow, touched: readonly TouchedKey[]): boolean {
  for (const { table, key } of touched) {
    if (table !== waiter.space || !waiter.keys.includes(key)) continue;
    for (const other of table.queues.get(key)?.values() ?? []) {
      if (other === waiter) return true;
      if (other.kind === waiter.kind) break;
    }
  }
  return false;
}
