import { type Index, invariant } from '@lockstep/model';

/**
 * Appends sent to one follower and not yet acknowledged: a ring of (last index, bytes) that grows
 * by doubling up to `countMax`. Limited by messages and, softly, by bytes: one append may go
 * beyond the byte limit, so that a large entry can pass at all.
 */
export class Inflights {
  readonly #countMax: number;
  readonly #bytesMax: number;
  #indexes: Float64Array;
  #sizes: Float64Array;
  #start = 0;
  #count = 0;
  #bytes = 0;

  constructor(countMax: number, bytesMax: number) {
    this.#countMax = countMax;
    this.#bytesMax = bytesMax;
    const capacity = Math.min(countMax, 8);
    this.#indexes = new Float64Array(capacity);
    this.#sizes = new Float64Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    return this.#count >= this.#countMax || this.#bytes >= this.#bytesMax;
  }

  /** Records an append whose newest entry is `last`. */
  add(last: Index, bytes: number): void {
    invariant(!this.full, () => `append ${last} sent beyond the window of ${this.#count}`);
    if (this.#count === this.#indexes.length) this.#grow();
    const at = (this.#start + this.#count) % this.#indexes.length;
    this.#indexes[at] = last;
    this.#sizes[at] = bytes;
    this.#count++;
    this.#bytes += bytes;
  }

  /** Frees every append whose entries are all ≤ `index`. */
  freeTo(index: Index): void {
    while (this.#count > 0 && this.#indexes[this.#start]! <= index) this.freeFirst();
  }

  /** Frees the oldest append: it may have been lost, and one message must be able to tell. */
  freeFirst(): void {
    if (this.#count === 0) return;
    this.#bytes -= this.#sizes[this.#start]!;
    this.#start = (this.#start + 1) % this.#indexes.length;
    this.#count--;
  }

  /** Forgets all, bytes included: a leak here would stop replication for good (B-7). */
  reset(): void {
    this.#start = 0;
    this.#count = 0;
    this.#bytes = 0;
  }

  #grow(): void {
    const old = this.#indexes.length;
    const capacity = Math.min(this.#countMax, old * 2);
    const indexes = new Float64Array(capacity);
    const sizes = new Float64Array(capacity);
    for (let i = 0; i < this.#count; i++) {
      indexes[i] = this.#indexes[(this.#start + i) % old]!;
      sizes[i] = this.#sizes[(this.#start + i) % old]!;
    }
    this.#indexes = indexes;
    this.#sizes = sizes;
    this.#start = 0;
  }
}
