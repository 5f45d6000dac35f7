import type { ByteString, Revision } from '@lockstep/model';
import type { EventSink, Replica } from '@lockstep/replica';
import type { AppliedTransaction, ChangeEvent } from '@lockstep/state-machine';
import type { KeyRange } from '../key-range.ts';
import { ETCD } from '../keyspace.ts';
import { IntervalTree } from './interval-tree.ts';

/** Somebody who wants the changes of a range, in order. */
export interface Subscriber {
  readonly range: KeyRange;
  /** A change in its range. True when it wants `flush` at the end of the transaction. */
  offer(event: ChangeEvent): boolean;
  /** All changes of the transaction were offered; `revision` is its last. */
  flush(revision: Revision): void;
  /** Changes after `seen` were skipped by a snapshot: catch up or look again. */
  skipped(seen: Revision): void;
}

/**
 * Where the door's watchers hang on the ordered event stream. One subscription per door; each
 * transaction finds only the subscribers concerned, by exact key (map) or range (interval tree).
 */
export class WatchHub implements EventSink {
  readonly #exact = new Map<ByteString, Set<Subscriber>>();
  readonly #ranges = new IntervalTree<Subscriber>();
  readonly #touched: Subscriber[] = [];
  readonly #changedListeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  /** Last revision whose events were delivered here. */
  #seen: Revision;

  constructor(replica: Replica) {
    this.#seen = replica.state.revision;
    this.#unsubscribe = replica.subscribe(this);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Subscribers, for metrics. */
  get size(): number {
    let exact = 0;
    for (const set of this.#exact.values()) exact += set.size;
    return exact + this.#ranges.size;
  }

  add(subscriber: Subscriber): void {
    const { range } = subscriber;
    if (!range.single) {
      this.#ranges.insert(range.from, range.to, subscriber);
      return;
    }
    const set = this.#exact.get(range.from);
    if (set === undefined) this.#exact.set(range.from, new Set([subscriber]));
    else set.add(subscriber);
  }

  remove(subscriber: Subscriber): void {
    const { range } = subscriber;
    if (!range.single) {
      this.#ranges.remove(range.from, range.to, subscriber);
      return;
    }
    const set = this.#exact.get(range.from);
    if (set?.delete(subscriber) && set.size === 0) this.#exact.delete(range.from);
  }

  /** Calls back when leader, contact or serving state may have changed; returns the undo. */
  onChanged(listener: () => void): () => void {
    this.#changedListeners.add(listener);
    return () => this.#changedListeners.delete(listener);
  }

  transaction(transaction: AppliedTransaction): void {
    if (transaction.revision > this.#seen) this.#seen = transaction.revision;
    if (this.#exact.size === 0 && this.#ranges.size === 0) return;
    const touched = this.#touched;
    for (const event of transaction.events) {
      if (event.kind !== 'change' || event.keyspace !== ETCD) continue;
      const offer = (subscriber: Subscriber): void => {
        if (subscriber.offer(event)) touched.push(subscriber);
      };
      this.#exact.get(event.key)?.forEach(offer);
      this.#ranges.find(event.key, offer);
    }
    // Flushing may add or remove subscribers, which the searches above must not see.
    for (const subscriber of touched) subscriber.flush(transaction.revision);
    touched.length = 0;
  }

  skipped(_from: Revision, to: Revision): void {
    const seen = this.#seen;
    if (to > seen) this.#seen = to;
    const all = new Set<Subscriber>();
    for (const set of this.#exact.values()) for (const one of set) all.add(one);
    this.#ranges.forEach((one) => {
      all.add(one);
    });
    for (const subscriber of all) subscriber.skipped(seen);
  }

  changed(): void {
    for (const listener of [...this.#changedListeners]) listener();
  }
}
