import type { Index } from '@lockstep/model';

/** Where the entries `first` … `last` stand; `last` shrinks when later ones are overwritten. */
export interface RecordLocation {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
  readonly previousCrc: number;
  readonly first: Index;
  last: Index;
}

/** The records that hold the live entries, in order of index. */
export class RecordIndex {
  #locations: RecordLocation[] = [];
  #head = 0;

  get firstSegment(): number | undefined {
    return this.#locations[this.#head]?.segment;
  }

  /** Last index in a segment or below it; 0 when none is. */
  lastUpTo(segment: number): Index {
    let last = 0;
    for (let at = this.#head; at < this.#locations.length; at++) {
      if (this.#locations[at]!.segment > segment) break;
      last = this.#locations[at]!.last;
    }
    return last;
  }

  /** Adds a record that begins right behind the last one. */
  push(location: RecordLocation): void {
    this.#locations.push(location);
  }

  /** Forgets indexes ≥ `index`. */
  cut(index: Index): void {
    while (this.#locations.length > this.#head && this.#locations.at(-1)!.first >= index) {
      this.#locations.pop();
    }
    const last = this.#locations.length > this.#head ? this.#locations.at(-1) : undefined;
    if (last !== undefined && last.last >= index) last.last = index - 1;
  }

  /** Forgets records that hold nothing ≥ `index`. */
  drop(index: Index): void {
    const locations = this.#locations;
    while (this.#head < locations.length && locations[this.#head]!.last < index) this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > locations.length) {
      this.#locations = locations.slice(this.#head);
      this.#head = 0;
    }
  }

  /**
   * The record with `index` and those behind it in the same segment, together at most `bytesMax`
   * of the file, at least one.
   */
  run(index: Index, bytesMax: number): readonly RecordLocation[] {
    let low = this.#head;
    let high = this.#locations.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#locations[middle]!.last < index) low = middle + 1;
      else high = middle;
    }
    const first = this.#locations[low];
    if (first === undefined || first.first > index) return [];
    const run = [first];
    for (let at = low + 1; at < this.#locations.length; at++) {
      const next = this.#locations[at]!;
      const bytes = next.offset + next.length - first.offset;
      if (next.segment !== first.segment || bytes > bytesMax) break;
      run.push(next);
    }
    return run;
  }
}
