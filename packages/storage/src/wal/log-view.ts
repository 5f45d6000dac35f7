import type { Index, Term } from '@lockstep/model';
import type { HardState } from '@lockstep/raft';
import { checkChange, type LogBase, type LogChange } from '../log-change.ts';
import { RecordIndex } from './record-index.ts';
import { TailCache } from './tail-cache.ts';
import { TermRuns } from './term-runs.ts';

/** Place of the record that carries a change. */
export interface ChangePlace {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
  readonly previousCrc: number;
}

/** The durable log as the process knows it: built by recovery, advanced by each synced record. */
export class LogView {
  hardState: HardState;
  base: LogBase;
  lastIndex: Index;
  readonly records = new RecordIndex();
  readonly cache: TailCache;
  readonly #terms = new TermRuns();
  /** Grows with each cut, so that a read under way knows that what it fetched may be dead. */
  #generation = 0;

  constructor(hardState: HardState, base: LogBase, cacheBytesMax: number) {
    this.hardState = hardState;
    this.base = base;
    this.lastIndex = base.index;
    this.cache = new TailCache(cacheBytesMax);
  }

  get firstIndex(): Index {
    return this.base.index + 1;
  }

  get generation(): number {
    return this.#generation;
  }

  get lastTerm(): Term {
    return this.term(this.lastIndex)!;
  }

  term(index: Index): Term | undefined {
    if (index === this.base.index) return this.base.term;
    if (index <= this.base.index || index > this.lastIndex) return undefined;
    return this.#terms.at(index);
  }

  apply(change: LogChange, place: ChangePlace): void {
    checkChange(change, this.base.index, this.lastIndex);
    if (change.snapshot !== undefined) {
      const { index, term, configuration } = change.snapshot;
      this.cutTo({ index, term, configuration });
    }
    const first = change.entries[0];
    if (first !== undefined) {
      if (first.index <= this.lastIndex) this.#cut(first.index);
      const last = first.index + change.entries.length - 1;
      this.records.push({ ...place, first: first.index, last });
      for (const entry of change.entries) {
        this.#terms.push(entry.index, entry.term);
        this.cache.push(entry);
      }
      this.lastIndex = last;
    }
    this.hardState = change.hardState ?? this.hardState;
  }

  /** Forgets every entry: the log then begins and ends behind `base`. */
  cutTo(base: LogBase): void {
    this.#cut(0);
    this.base = base;
    this.lastIndex = base.index;
  }

  #cut(index: Index): void {
    this.#generation += 1;
    this.#terms.cut(index);
    this.records.cut(index);
    this.cache.cut(index);
  }

  /** Entries ≤ `base.index` go. */
  compact(base: LogBase): void {
    this.base = base;
    this.#terms.drop(base.index + 1);
    this.records.drop(base.index + 1);
    this.cache.drop(base.index + 1);
  }
}
