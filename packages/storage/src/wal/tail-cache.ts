import type { Index } from '@lockstep/model';
import type { Entry } from '@lockstep/raft';
import { pageOf } from '../memory-log-store.ts';

/** Accounted beside an entry's data for the objects around it. */
const ENTRY_OVERHEAD_BYTES = 64;

/** The newest entries of the log, bounded by bytes; the last one always stays. */
export class TailCache {
  readonly #bytesMax: number;
  #entries: Entry[] = [];
  #head = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** First index held; `undefined` when empty. */
  get firstIndex(): Index | undefined {
    return this.#entries[this.#head]?.index;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += entry.data.length + ENTRY_OVERHEAD_BYTES;
    while (this.#bytes > this.#bytesMax && this.#entries.length - this.#head > 1) this.#shift();
  }

  #shift(): void {
    const entry = this.#entries[this.#head]!;
    this.#bytes -= entry.data.length + ENTRY_OVERHEAD_BYTES;
    this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    } else {
      // The slot must not keep the entry's bytes alive until the array is compacted.
      this.#entries[this.#head - 1] = EVICTED;
    }
  }

  /** Forgets indexes ≥ `index`. */
  cut(index: Index): void {
    while (this.#entries.length > this.#head && this.#entries.at(-1)!.index >= index) {
      const entry = this.#entries.pop()!;
      this.#bytes -= entry.data.length + ENTRY_OVERHEAD_BYTES;
    }
  }

  /** Forgets indexes < `index`. */
  drop(index: Index): void {
    while (this.#head < this.#entries.length && this.#entries[this.#head]!.index < index) {
      this.#shift();
    }
  }

  /** Entries from `lo`, below `hi`; `undefined` when `lo` is not held. */
  page(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | undefined {
    const first = this.firstIndex;
    if (first === undefined || lo < first) return undefined;
    const start = this.#head + lo - first;
    if (start >= this.#entries.length) return undefined;
    const end = Math.min(this.#head + hi - first, this.#entries.length);
    return pageOf(this.#entries, start, end, bytesMax);
  }
}

const EVICTED: Entry = { index: 0, term: 0, type: 0, data: new Uint8Array(0) };
