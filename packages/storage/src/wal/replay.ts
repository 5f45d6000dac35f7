import type { Index } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { LogBase } from '../log-change.ts';
import { LogView } from './log-view.ts';
import type { LogRecord } from './record-format.ts';
import type { Damage, SegmentHeader } from './segment-header.ts';
import type { RecordPosition } from './segment-scan.ts';

/**
 * Rebuilds the view of the log from its records. The oldest segment left may begin behind entries
 * that were compacted away after it was begun; until a record says so they count as unknown.
 */
export class Replay {
  readonly view: LogView;
  damage: Damage | undefined;
  #known: LogBase;
  #unknownTo: Index | undefined;

  constructor(first: SegmentHeader, cacheBytesMax: number) {
    this.#known = first.base;
    this.damage = first.damage;
    const missingTo = first.firstIndexExpected - 1;
    if (missingTo > first.base.index) {
      this.#unknownTo = missingTo;
      this.view = new LogView(
        first.hardState,
        { ...first.base, index: missingTo, term: 0 },
        cacheBytesMax,
      );
    } else this.view = new LogView(first.hardState, first.base, cacheBytesMax);
  }

  /** False when entries that nothing declares compacted are missing. */
  get isComplete(): boolean {
    return this.#unknownTo === undefined;
  }

  /** A later segment was begun: what its header says must agree with the records so far. */
  enter(header: SegmentHeader): void {
    this.damage = header.damage;
    this.#compact(header.base);
    invariant(
      header.firstIndexExpected === this.view.lastIndex + 1,
      `segment ${header.segment} expects index ${header.firstIndexExpected}, the log ends at ` +
        `${this.view.lastIndex}`,
    );
  }

  accept(record: LogRecord, position: RecordPosition): void {
    if (record.base !== undefined) this.#compact(record.base);
    if (record.snapshot !== undefined) {
      this.#known = record.snapshot;
      this.#unknownTo = undefined;
    }
    const first = record.entries[0]?.index;
    if (this.#unknownTo !== undefined && first !== undefined && first <= this.#unknownTo) {
      this.#unknownTo = first - 1;
      this.view.cutTo({ ...this.view.base, index: first - 1 });
      if (this.#known.index >= first - 1) this.#compact(this.#known);
    }
    this.view.apply(record, position);
    if (record.isRepaired) this.damage = undefined;
  }

  #compact(base: LogBase): void {
    if (base.index >= this.#known.index) this.#known = base;
    if (this.#unknownTo !== undefined) {
      if (base.index < this.#unknownTo) return;
      this.#unknownTo = undefined;
    } else if (base.index <= this.view.base.index) return;
    invariant(
      base.index <= this.view.lastIndex,
      `log is compacted to ${base.index} but ends at ${this.view.lastIndex}`,
    );
    this.view.compact(base);
  }
}
