import { type ByteString, type ClusterTimeMs, invariant } from '@lockstep/model';
import { type AnyKeyspace, WAITER_CANCELLED } from '../contract.ts';
import type { KeyspaceTable } from '../keyspace.ts';
import type { MachineTransaction } from '../transaction.ts';
import { WaiterRow } from './wait-queue.ts';

type TouchedKeys = Map<KeyspaceTable, Set<ByteString>>;

/** Waiters queued, served and removed by one transaction. */
export class WaiterWrites {
  readonly #tx: MachineTransaction;
  #touched: TouchedKeys = new Map();

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
    if (!table.queues.has(key)) return;
    const keys = this.#touched.get(table);
    if (keys === undefined) this.#touched.set(table, new Set([key]));
    else keys.add(key);
  }

  forget(): void {
    this.#touched.clear();
  }

  /**
   * Serves the queues of changed keys, oldest waiter first, until no change is left to look at:
   * what one waiter writes may be what another waits for.
   */
  serve(): void {
    while (this.#touched.size > 0) {
      const touched = this.#touched;
      this.#touched = new Map();
      for (const waiter of this.#candidates(touched)) this.#offer(waiter, touched);
    }
  }

  /**
   * Waiters of the touched keys, each once, oldest first. Of a queue that is strict throughout
   * only the head: when it is served, that touches the key, and the next has its turn in the next
   * round. So a hand-over costs the same however long the queue is.
   */
  #candidates(touched: TouchedKeys): WaiterRow[] {
    const { registry } = this.#tx;
    const found = new Set<WaiterRow>();
    for (const [table, keys] of touched) {
      for (const key of keys) {
        const queue = table.queues.get(key);
        if (queue === undefined) continue;
        const { onlyKind } = queue;
        if (onlyKind !== undefined && registry.waiterKind(onlyKind).strict === true) {
          found.add(queue.head!);
        } else {
          for (const waiter of queue.values()) found.add(waiter);
        }
      }
    }
    return [...found].sort((x, y) => x.id - y.id);
  }

  #offer(waiter: WaiterRow, touched: TouchedKeys): void {
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

/** Whether no earlier waiter of the same kind stands in the queue of one of its touched keys. */
function isAhead(waiter: WaiterRow, touched: TouchedKeys): boolean {
  const keys = touched.get(waiter.space);
  for (const key of waiter.keys) {
    if (keys?.has(key) !== true) continue;
    for (const other of waiter.space.queues.get(key)!.values()) {
      if (other === waiter) return true;
      if (other.kind === waiter.kind) break;
    }
  }
  return false;
}
