import type { Index, Term } from '@lockstep/model';
import type { Entry, HardState } from '@lockstep/raft';
import type { Salvage } from '../contract.ts';
import type { LogView } from './log-view.ts';
import type { LogRecord } from './record-format.ts';
import type { SegmentHeader } from './segment-header.ts';

/**
 * What the good records behind damage say of the log. A lost record may have replaced entries that
 * stand before it, so an entry counts as known only when nothing lost can have replaced it: it was
 * committed by then, or the first entry behind the gap is of its own term (whose leader never
 * shortened its log, Raft §5.3).
 */
export class SalvageSurvey {
  readonly #view: LogView;
  readonly #entries = new Map<Index, Entry>();
  /** Entries of the view up to here are known to be what the log held. */
  #certain: Index;
  #last: Index;
  #isLastKnown = true;
  #commit: Index;
  #sequence: number;
  #hasGap = false;
  #isHardStateKnown = true;
  #isAmbiguous = false;
  hardState: HardState | undefined;

  /** `view`: the log before the damage, whose last good record is `sequence`. */
  constructor(view: LogView, sequence: number) {
    this.#view = view;
    this.#certain = view.lastIndex;
    this.#last = view.lastIndex;
    this.#commit = Math.max(view.base.index, Math.min(view.hardState.commit, view.lastIndex));
    this.#sequence = sequence;
  }

  /** Number of the last good record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The record `sequence` is next: those between are lost. */
  #arrive(sequence: number): void {
    // Two records of one number: something is not what it seems, so nothing is taken.
    if (sequence <= this.#sequence) this.#isAmbiguous = true;
    if (sequence > this.#sequence + 1) {
      this.#hasGap = true;
      this.#isLastKnown = false;
      this.#isHardStateKnown = false;
    }
  }

  /** A segment begins: its header repeats hard state and end of the log. */
  header(header: SegmentHeader): void {
    this.#arrive(header.firstSequence);
    this.#sequence = header.firstSequence - 1;
    this.#end(header.firstIndexExpected - 1);
    this.#adopt(header.hardState);
  }

  record(record: LogRecord): void {
    this.#arrive(record.sequence);
    this.#sequence = record.sequence;
    const { snapshot, entries, hardState } = record;
    if (snapshot !== undefined) this.#restart(snapshot.index);
    if (entries.length > 0) this.#append(entries);
    if (hardState !== undefined) this.#adopt(hardState);
  }

  #adopt(hardState: HardState): void {
    this.hardState = hardState;
    this.#isHardStateKnown = true;
    // With a gap open it may speak of entries that nobody has seen.
    if (!this.#hasGap) this.#commit = Math.max(this.#commit, hardState.commit);
  }

  #restart(index: Index): void {
    this.#entries.clear();
    this.#certain = Math.min(this.#certain, this.#commit);
    this.#end(index);
    this.#hasGap = false;
  }

  /** The log is known to end at `index` now. */
  #end(index: Index): void {
    if (index < this.#last) this.#cut(index);
    this.#last = index;
    this.#isLastKnown = true;
  }

  #append(entries: readonly Entry[]): void {
    const first = entries[0]!;
    if (this.#hasGap) this.#close(first.index - 1, first.term);
    else if (first.index > this.#last + 1) this.#isAmbiguous = true;
    this.#end(first.index - 1);
    for (const entry of entries) this.#entries.set(entry.index, entry);
    this.#last = first.index + entries.length - 1;
  }

  /** The gap ends before an entry of `term` whose predecessor is `before`. */
  #close(before: Index, term: Term | undefined): void {
    this.#hasGap = false;
    let end = before;
    while (end > this.#certain && !this.#entries.has(end)) end -= 1;
    if (term !== undefined && this.#term(end) === term) return;
    this.#cut(Math.min(end, this.#commit));
  }

  #term(index: Index): Term | undefined {
    return index <= this.#certain ? this.#view.term(index) : this.#entries.get(index)?.term;
  }

  #cut(last: Index): void {
    this.#certain = Math.min(this.#certain, last);
    for (const index of this.#entries.keys()) if (index > last) this.#entries.delete(index);
  }

  /**
   * Undefined when nothing behind the damage is of use. `isEndGood`: the log ends there as a whole
   * or torn log does; `anchored`: newest record that is known to have been durable.
   */
  finish(isEndGood: boolean, anchored: number): Salvage | undefined {
    const isLastKnown = this.#isLastKnown;
    if (this.#hasGap) this.#close(this.#last, undefined);
    if (this.#isAmbiguous) return undefined;
    if (this.#entries.size === 0 && this.#last <= this.#certain) return undefined;
    const isComplete =
      isEndGood && isLastKnown && this.#isHardStateKnown && anchored <= this.#sequence;
    return { from: this.#certain + 1, last: this.#last, entries: this.#entries, isComplete };
  }
}
