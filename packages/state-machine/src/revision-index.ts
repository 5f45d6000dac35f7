import type { Revision } from '@lockstep/model';
import type { KeyHistory } from './history.ts';

const CHUNK = 1024;

interface Chunk {
  readonly revisions: Float64Array;
  /** Sub-revision × 2, + 1 for a live version. */
  readonly marks: Uint32Array;
  readonly keys: KeyHistory[];
  count: number;
  /** Items that are the first of their revision. */
  starts: number;
}

/**
 * All changes of a keyspace in (revision, sub) order, for catch-up of watchers and as the work
 * list of compaction. A deque in chunks: appended at the end, popped at the front.
 */
export class RevisionIndex {
  #chunks: Chunk[] = [];
  /** Items already popped from the first chunk. */
  #head = 0;
  #firstChunk = 0;
  /** Revision appended last. */
  #last: Revision = 0;

  append(revision: Revision, sub: number, live: boolean, key: KeyHistory): void {
    let chunk = this.#chunks[this.#chunks.length - 1];
    if (chunk === undefined || chunk.count === CHUNK) {
      chunk = {
        revisions: new Float64Array(CHUNK),
        marks: new Uint32Array(CHUNK),
        keys: new Array<KeyHistory>(CHUNK),
        count: 0,
        starts: 0,
      };
      this.#chunks.push(chunk);
    }
    if (revision !== this.#last) chunk.starts++;
    this.#last = revision;
    chunk.revisions[chunk.count] = revision;
    chunk.marks[chunk.count] = sub * 2 + (live ? 1 : 0);
    chunk.keys[chunk.count] = key;
    chunk.count++;
  }

  /** The oldest change; undefined when there is none. */
  first(): { revision: Revision; sub: number; key: KeyHistory } | undefined {
    const chunk = this.#chunks[this.#firstChunk];
    if (chunk === undefined || this.#head >= chunk.count) return undefined;
    return {
      revision: chunk.revisions[this.#head]!,
      sub: chunk.marks[this.#head]! >>> 1,
      key: chunk.keys[this.#head]!,
    };
  }

  /** Drops the oldest change. */
  shift(): void {
    this.#head++;
    if (this.#head < CHUNK) return;
    this.#head = 0;
    // Slots of dropped chunks are cut off together, so that shifting stays O(1) on average.
    delete (this.#chunks as (Chunk | undefined)[])[this.#firstChunk];
    this.#firstChunk++;
    if (this.#firstChunk < 64 || this.#firstChunk * 2 < this.#chunks.length) return;
    this.#chunks = this.#chunks.slice(this.#firstChunk);
    this.#firstChunk = 0;
  }

  /** The `nth` newest revision, each counted once however many changes it has; 0 when there are
   * fewer. Goes by whole chunks. */
  newest(nth: number): Revision {
    let left = nth;
    for (let c = this.#chunks.length - 1; c >= this.#firstChunk; c--) {
      const chunk = this.#chunks[c]!;
      if (left > chunk.starts) {
        left -= chunk.starts;
        continue;
      }
      const head = c === this.#firstChunk ? this.#head : 0;
      for (let i = chunk.count - 1; i >= head; i--) {
        const revision = chunk.revisions[i]!;
        if (this.#startsAt(c, i) && --left === 0) return revision;
      }
    }
    return 0;
  }

  /** True when the item before that one is of another revision, or dropped. */
  #startsAt(c: number, i: number): boolean {
    const revision = this.#chunks[c]!.revisions[i]!;
    if (i > 0) return this.#chunks[c]!.revisions[i - 1] !== revision;
    const before = c > this.#firstChunk ? this.#chunks[c - 1] : undefined;
    return before?.revisions[CHUNK - 1] !== revision;
  }

  /** Changes with first ≤ revision ≤ last in order, until `visit` returns false. */
  scan(
    first: Revision,
    last: Revision,
    visit: (key: KeyHistory, revision: Revision, sub: number, live: boolean) => boolean | undefined,
  ): void {
    for (let c = this.#chunkOf(first); c < this.#chunks.length; c++) {
      const chunk = this.#chunks[c]!;
      for (let i = c === this.#firstChunk ? this.#head : 0; i < chunk.count; i++) {
        const revision = chunk.revisions[i]!;
        if (revision < first) continue;
        if (revision > last) return;
        const mark = chunk.marks[i]!;
        if (visit(chunk.keys[i]!, revision, mark >>> 1, (mark & 1) === 1) === false) return;
      }
    }
  }

  /** First chunk whose last revision is not below `revision`. */
  #chunkOf(revision: Revision): number {
    let low = this.#firstChunk;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const chunk = this.#chunks[middle]!;
      if (chunk.revisions[chunk.count - 1]! < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
