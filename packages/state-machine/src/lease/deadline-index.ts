import type { ClusterTimeMs } from '@lockstep/model';

/** Width of a bucket. Small enough that sorting one is quick, large enough that few are open. */
const BUCKET_MS = 64;

interface Bucket {
  readonly number: number;
  readonly entries: DeadlineEntry[];
  /** Entries stand latest first, so that the soonest is popped. */
  sorted: boolean;
  /** Soonest deadline inside; −1 when it left and must be looked for. */
  soonest: ClusterTimeMs;
}

/** One deadline. Order among equal ones: table number, then id within the table (design §6). */
export class DeadlineEntry<S = unknown> {
  readonly subject: S;
  readonly table: number;
  readonly id: number | string;
  deadline: ClusterTimeMs = 0;
  bucket: Bucket | undefined = undefined;
  position = 0;

  constructor(subject: S, table: number, id: number | string) {
    this.subject = subject;
    this.table = table;
    this.id = id;
  }
}

/** Latest first. Ids of one table are of one type. */
function compareLatestFirst(x: DeadlineEntry, y: DeadlineEntry): number {
  if (x.deadline !== y.deadline) return y.deadline - x.deadline;
  if (x.table !== y.table) return y.table - x.table;
  return x.id < y.id ? 1 : x.id > y.id ? -1 : 0;
}

/**
 * Deadlines of leases, records and waiters in time buckets. Adding, moving and removing cost O(1);
 * a bucket is sorted only when its time has come. An entry leaves with its subject, so nothing
 * dead is ever due.
 */
export class DeadlineIndex<S> {
  readonly #buckets = new Map<number, Bucket>();
  /** Binary min-heap of bucket numbers; one whose bucket is empty is dropped when it surfaces. */
  readonly #heap: number[] = [];

  /** Sets an entry's deadline; 0 takes it out. */
  set(entry: DeadlineEntry<S>, deadline: ClusterTimeMs): void {
    this.remove(entry);
    entry.deadline = deadline;
    if (deadline === 0) return;
    const number = Math.floor(deadline / BUCKET_MS);
    let bucket = this.#buckets.get(number);
    if (bucket === undefined) {
      bucket = { number, entries: [], sorted: false, soonest: deadline };
      this.#buckets.set(number, bucket);
      this.#push(number);
    } else if (bucket.entries.length === 0) {
      bucket.soonest = deadline;
    } else if (bucket.soonest !== -1 && deadline < bucket.soonest) {
      bucket.soonest = deadline;
    }
    bucket.sorted = false;
    entry.bucket = bucket;
    entry.position = bucket.entries.length;
    bucket.entries.push(entry);
  }

  /** Takes an entry out; it keeps its deadline for whoever still looks at it. */
  remove(entry: DeadlineEntry<S>): void {
    if (entry.bucket !== undefined) this.#remove(entry, entry.bucket);
  }

  /** Earliest deadline; 0 when there is none. */
  get next(): ClusterTimeMs {
    const bucket = this.#first();
    if (bucket === undefined) return 0;
    if (bucket.soonest === -1) {
      let soonest = bucket.entries[0]!.deadline;
      for (const entry of bucket.entries) if (entry.deadline < soonest) soonest = entry.deadline;
      bucket.soonest = soonest;
    }
    return bucket.soonest;
  }

  /** The first entry, in order, whose deadline is at or before `now`; it stays in the index. */
  due(now: ClusterTimeMs): DeadlineEntry<S> | undefined {
    const next = this.next;
    if (next === 0 || next > now) return undefined;
    const bucket = this.#first()!;
    if (!bucket.sorted) {
      const { entries } = bucket;
      entries.sort(compareLatestFirst);
      for (let i = 0; i < entries.length; i++) entries[i]!.position = i;
      bucket.sorted = true;
    }
    return bucket.entries[bucket.entries.length - 1] as DeadlineEntry<S>;
  }

  #remove(entry: DeadlineEntry, bucket: Bucket): void {
    const { entries } = bucket;
    const last = entries.pop()!;
    if (last !== entry) {
      entries[entry.position] = last;
      last.position = entry.position;
      bucket.sorted = false;
    }
    entry.bucket = undefined;
    if (entry.deadline !== bucket.soonest) return;
    // In a sorted bucket the new last one is the soonest: no need to look for it.
    bucket.soonest =
      bucket.sorted && entries.length > 0 ? entries[entries.length - 1]!.deadline : -1;
  }

  #first(): Bucket | undefined {
    for (;;) {
      const number = this.#heap[0];
      if (number === undefined) return undefined;
      const bucket = this.#buckets.get(number)!;
      if (bucket.entries.length > 0) return bucket;
      this.#buckets.delete(number);
      this.#pop();
    }
  }

  #push(number: number): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= number) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = number;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    const size = heap.length;
    if (size === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= last) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}
