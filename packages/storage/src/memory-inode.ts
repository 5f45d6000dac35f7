import type { Random } from '@lockstep/model';

/** What a disk persists whole or not at all; tearing inside one is the crash's choice. */
export const SECTOR_BYTES = 512;

/** Bytes that grow by doubling; everything past the size reads as zero. */
class Extent {
  bytes: Uint8Array = new Uint8Array(0);
  size = 0;

  write(offset: number, data: Uint8Array): void {
    this.resize(Math.max(this.size, offset + data.length));
    this.bytes.set(data, offset);
  }

  resize(size: number): void {
    if (size > this.bytes.length) {
      const bigger = new Uint8Array(
        Math.max(size, Math.min(this.bytes.length * 2, size + 2 ** 22)),
      );
      bigger.set(this.bytes.subarray(0, this.size));
      this.bytes = bigger;
    }
    if (size < this.size) this.bytes.fill(0, size, this.size);
    this.size = size;
  }

  copy(): Extent {
    const copy = new Extent();
    copy.write(0, this.bytes.subarray(0, this.size));
    copy.size = this.size;
    return copy;
  }
}

type Change =
  | { readonly kind: 'write'; readonly offset: number; readonly data: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number };

/**
 * One file of the memory disk: what reads see (the page cache), what the medium holds, and the
 * changes between them, in order. A sync moves the changes that were pending when it was called;
 * a power loss keeps, drops or tears each pending sector by itself.
 */
export class MemoryInode {
  #cache = new Extent();
  #durable = new Extent();
  #pending: { order: number; change: Change }[] = [];
  #order = 0;

  get size(): number {
    return this.#cache.size;
  }

  /** Position in the order of changes: a sync called now covers all up to here. */
  get order(): number {
    return this.#order;
  }

  read(offset: number, length: number): Uint8Array {
    const end = Math.min(this.#cache.size, offset + length);
    return end <= offset ? new Uint8Array(0) : this.#cache.bytes.slice(offset, end);
  }

  /** The data become the inode's: callers hand over a copy. */
  write(offset: number, data: Uint8Array): void {
    this.#cache.write(offset, data);
    this.#push({ kind: 'write', offset, data });
  }

  truncate(size: number): void {
    this.#cache.resize(size);
    this.#push({ kind: 'truncate', size });
  }

  #push(change: Change): void {
    this.#order += 1;
    this.#pending.push({ order: this.#order, change });
  }

  /** Makes every change up to `order` durable. */
  sync(order: number): void {
    for (const { change } of this.#take(order)) apply(this.#durable, change);
  }

  /** A failed sync: the pages count as clean, reads still show them, the medium never gets them. */
  loseDirty(order: number): void {
    this.#take(order);
  }

  #take(order: number): { order: number; change: Change }[] {
    const count = this.#pending.findIndex((item) => item.order > order);
    return this.#pending.splice(0, count < 0 ? this.#pending.length : count);
  }

  /** Bit rot at rest, seen by reads and kept over a crash. */
  flipBit(offset: number, bit: number): void {
    for (const extent of [this.#cache, this.#durable]) {
      if (offset < extent.size) extent.bytes[offset] = extent.bytes[offset]! ^ (1 << bit);
    }
  }

  /** Power loss: what the medium holds becomes what reads see. */
  crash(random: Random): void {
    for (const { change } of this.#pending) {
      if (change.kind === 'truncate') {
        if (random.u32() % 2 === 0) apply(this.#durable, change);
      } else crashWrite(this.#durable, change.offset, change.data, random);
    }
    this.#pending = [];
    this.#cache = this.#durable.copy();
  }
}

function apply(extent: Extent, change: Change): void {
  if (change.kind === 'truncate') extent.resize(change.size);
  else extent.write(change.offset, change.data);
}

function crashWrite(extent: Extent, offset: number, data: Uint8Array, random: Random): void {
  // Half of the crashes treat all sectors alike, else long writes would always end up mixed.
  const uniform = random.u32() % 8;
  if (uniform === 0) return;
  for (let at = 0; at < data.length; ) {
    const length = Math.min(SECTOR_BYTES - ((offset + at) % SECTOR_BYTES), data.length - at);
    const choice = uniform < 4 ? 0 : random.u32() % 8;
    const kept = choice < 4 ? length : choice < 7 ? 0 : random.u32() % length;
    if (kept > 0) extent.write(offset + at, data.subarray(at, at + kept));
    at += length;
  }
}
