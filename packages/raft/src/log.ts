import { type Index, invariant, mark, type Term } from '@lockstep/model';
import { entryBytes } from './config.ts';
import type { Entry, LogReader, SnapshotMeta } from './contract.ts';
import { EntryType } from './contract.ts';
import { Tail } from './tail.ts';

export type EntriesOrReason = readonly Entry[] | 'compacted' | 'pending';

/** Bytes looked at in one go when the unapplied part of the log is scanned. */
const SCAN_BYTES = 1 << 20;

/**
 * The log as the core sees it: the durable part behind a `LogReader`, the tail in memory above,
 * and the marks commit and applied. Invariants: applied ≤ commit ≤ last; nothing at or below
 * commit is ever discarded (Raft §5.3 leader append-only, §5.4 state machine safety).
 */
export class RaftLog {
  readonly #reader: LogReader;
  readonly #tail: Tail;
  /** The log restarts behind this; not yet durable, so the reader is not asked meanwhile. */
  #snapshot: SnapshotMeta | undefined;
  #snapshotSequence = 0;
  #last: Index;
  #commit: Index;
  #applied: Index;
  #lastEntry: Entry | undefined;
  // The newest slice of the tail: followers in step are sent one and the same array.
  #slice: readonly Entry[] = [];
  #sliceLow: Index = 0;
  #sliceHigh: Index = 0;

  constructor(reader: LogReader, commitHint: Index, applied: Index) {
    this.#reader = reader;
    this.#last = reader.lastIndex();
    this.#tail = new Tail(this.#last + 1);
    const first = reader.firstIndex();
    invariant(applied <= this.#last, `applied ${applied} is ahead of the log (${this.#last})`);
    invariant(applied >= first - 1, `log begins at ${first}, applied is only ${applied}`);
    this.#applied = applied;
    // The commit index on disk is a hint; what was applied was committed in any case.
    this.#commit = Math.min(Math.max(commitHint, applied), this.#last);
  }

  get lastIndex(): Index {
    return this.#last;
  }

  get commit(): Index {
    return this.#commit;
  }

  get applied(): Index {
    return this.#applied;
  }

  /** Everything up to here is durable. */
  get stableIndex(): Index {
    return this.#tail.first - 1;
  }

  get firstIndex(): Index {
    return this.#snapshot === undefined ? this.#reader.firstIndex() : this.#snapshot.index + 1;
  }

  get snapshotPending(): boolean {
    return this.#snapshot !== undefined;
  }

  /** `undefined` is "unknown" (compacted or beyond the end), never a term (B-6). */
  term(index: Index): Term | undefined {
    if (index >= this.#tail.first) return this.#tail.at(index)?.term;
    const snapshot = this.#snapshot;
    if (snapshot !== undefined) return index === snapshot.index ? snapshot.term : undefined;
    if (index === 0) return this.#reader.firstIndex() === 1 ? 0 : undefined;
    return this.#reader.term(index);
  }

  get lastTerm(): Term {
    const term = this.term(this.#last);
    invariant(term !== undefined, () => `term of the last entry ${this.#last} is unknown`);
    return term;
  }

  /** The last entry; undefined when the log holds none. */
  lastEntry(): Entry | undefined | 'pending' {
    if (this.#lastEntry !== undefined) return this.#lastEntry;
    if (this.#last < this.firstIndex) return undefined;
    const found = this.#reader.entries(this.#last, this.#last + 1, 1);
    if (found === 'pending') return 'pending';
    invariant(found !== 'compacted', `last entry ${this.#last} is compacted`);
    this.#lastEntry = found[0];
    return this.#lastEntry;
  }

  /** Raft §5.4.1: the log with the later last term wins; with equal terms the longer one. */
  isUpToDate(lastIndex: Index, lastTerm: Term): boolean {
    const term = this.lastTerm;
    return lastTerm > term || (lastTerm === term && lastIndex >= this.#last);
  }

  /** Appends entries that follow on from `entries[0].index - 1`, discarding what is beyond. */
  append(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    const from = entries[0]!.index;
    invariant(from > this.#commit, () => `truncation at ${from}, commit is ${this.#commit}`);
    invariant(from <= this.#last + 1, () => `append at ${from} leaves a gap after ${this.#last}`);
    if (from <= this.#last) mark('log overwritten');
    this.#tail.append(entries);
    this.#last = this.#tail.last;
    this.#lastEntry = entries[entries.length - 1];
    if (from < this.#sliceHigh) this.#forgetSlice();
  }

  /**
   * Raft §5.3, AppendEntries: finds the first entry that is new or conflicts and appends from
   * there; entries that are already present stay, as the message may be an old one.
   */
  appendMissing(entries: readonly Entry[]): void {
    let known = 0;
    while (known < entries.length && this.term(entries[known]!.index) === entries[known]!.term) {
      known++;
    }
    if (known < entries.length) this.append(known === 0 ? entries : entries.slice(known));
  }

  commitTo(index: Index): boolean {
    if (index <= this.#commit) return false;
    invariant(index <= this.#last, () => `commit ${index} is beyond the last entry ${this.#last}`);
    this.#commit = index;
    return true;
  }

  appliedTo(index: Index): void {
    invariant(index >= this.#applied, () => `applied goes back from ${this.#applied} to ${index}`);
    invariant(index <= this.#commit, () => `applied ${index} is ahead of commit ${this.#commit}`);
    this.#applied = index;
  }

  /**
   * The greatest index ≤ `index` whose term is ≤ `term`: where a log whose entry there has that
   * term could still match. One message skips a whole term (Raft §5.3, last paragraph).
   */
  findConflict(index: Index, term: Term): { index: Index; term: Term } {
    let at = Math.min(index, this.#last);
    for (; at > 0; at--) {
      const own = this.term(at);
      if (own === undefined) return { index: at, term: 0 };
      if (own <= term) return { index: at, term: own };
    }
    return { index: 0, term: 0 };
  }

  /**
   * Entries lo ≤ index < hi, at least one, up to both limits. May stop at the seam between disk
   * and memory. The array is shared: nobody may change it.
   */
  slice(lo: Index, hi: Index, bytesMax: number, countMax: number): EntriesOrReason {
    invariant(lo < hi && hi <= this.#last + 1, () => `slice ${lo}…${hi} of ${this.#last}`);
    if (lo < this.firstIndex) return 'compacted';
    if (lo < this.#tail.first) {
      const end = Math.min(hi, this.#tail.first, lo + countMax);
      return checkEntries(this.#reader.entries(lo, end, bytesMax), lo, end);
    }
    const end = Math.min(hi, lo + countMax);
    if (lo === this.#sliceLow && end === this.#sliceHigh) return this.#slice;
    const { entries, first } = this.#tail;
    let bytes = entryBytes(entries[lo - first]!);
    let stop = lo + 1;
    while (stop < end) {
      bytes += entryBytes(entries[stop - first]!);
      if (bytes > bytesMax) break;
      stop++;
    }
    const found = entries.slice(lo - first, stop - first);
    if (stop === end) {
      this.#slice = found;
      this.#sliceLow = lo;
      this.#sliceHigh = end;
    }
    return found;
  }

  #forgetSlice(): void {
    this.#slice = [];
    this.#sliceLow = 0;
    this.#sliceHigh = 0;
  }

  get hasUnhanded(): boolean {
    return this.#tail.hasUnhanded;
  }

  /** Hands the entries that no task carries yet to the append task `sequence`. */
  hand(sequence: number): readonly Entry[] {
    const { first, handed, last } = this.#tail;
    if (handed === last) return [];
    const from = Math.max(handed + 1, first);
    const entries =
      from === this.#sliceLow && last + 1 === this.#sliceHigh
        ? this.#slice
        : this.#tail.entries.slice(from - first);
    this.#tail.hand(sequence);
    return entries;
  }

  /** The snapshot that the append task `sequence` must record; handed out once. */
  handSnapshot(sequence: number): SnapshotMeta | undefined {
    if (this.#snapshot === undefined || this.#snapshotSequence !== 0) return undefined;
    this.#snapshotSequence = sequence;
    return this.#snapshot;
  }

  get hasUnhandedSnapshot(): boolean {
    return this.#snapshot !== undefined && this.#snapshotSequence === 0;
  }

  stabilise(sequence: number): void {
    this.#tail.stabilise(sequence);
    if (this.#snapshotSequence !== 0 && this.#snapshotSequence <= sequence) {
      this.#snapshot = undefined;
      this.#snapshotSequence = 0;
    }
  }

  /** The state of `meta` is installed, and this log continues it or restarts behind it. */
  install(meta: SnapshotMeta): void {
    const { index } = meta;
    invariant(index > this.#applied, () => `snapshot ${index} ≤ applied ${this.#applied}`);
    if (this.term(index) === meta.term) mark('log goes on behind a snapshot');
    else {
      invariant(index > this.#commit, () => `snapshot ${index} ≤ commit ${this.#commit}`);
      this.#tail.restart(index);
      this.#snapshot = meta;
      this.#snapshotSequence = 0;
      this.#last = index;
      this.#lastEntry = undefined;
      this.#forgetSlice();
    }
    this.#commit = Math.max(this.#commit, index);
    this.#applied = index;
  }

  /**
   * Whether a configuration entry is committed but not applied. A member that does not know the
   * newest committed configuration must not campaign (reference §3.3).
   */
  hasUnappliedConfiguration(): boolean | 'pending' {
    let lo = this.#applied + 1;
    while (lo <= this.#commit) {
      const page = this.slice(lo, this.#commit + 1, SCAN_BYTES, Number.MAX_SAFE_INTEGER);
      if (page === 'pending') return 'pending';
      invariant(page !== 'compacted', () => `entry ${lo} is compacted before it is applied`);
      for (const entry of page) if (entry.type === EntryType.Configuration) return true;
      lo += page.length;
    }
    return false;
  }
}

/** A reader may return more than asked (B-9) but never something else. */
function checkEntries(found: EntriesOrReason, lo: Index, hi: Index): EntriesOrReason {
  if (typeof found === 'string') return found;
  invariant(found[0]?.index === lo, () => `asked for ${lo}, log gave ${found[0]?.index}`);
  return found.length > hi - lo ? found.slice(0, hi - lo) : found;
}
