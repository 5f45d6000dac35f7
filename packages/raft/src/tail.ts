import { type Index, invariant } from '@lockstep/model';
import type { Entry } from './contract.ts';

/**
 * The entries not yet known to be durable, and which append task carries the present version of
 * each. An acknowledgement of a task makes exactly those entries stable whose carrier is not
 * newer, so that an entry which was overwritten while being written, and perhaps written back
 * (ABA), is never taken for durable too early (reference §2.3, B-11).
 */
export class Tail {
  /** Index of the first entry held here; everything before is durable. */
  first: Index;
  entries: Entry[] = [];
  /** Newest index handed out in an append task. */
  #handed: Index;
  // Carriers as runs in ascending order: task `#sequences[i]` carries up to `#lasts[i]`.
  #sequences: number[] = [];
  #lasts: Index[] = [];

  constructor(first: Index) {
    this.first = first;
    this.#handed = first - 1;
  }

  get last(): Index {
    return this.first + this.entries.length - 1;
  }

  get hasUnhanded(): boolean {
    return this.#handed < this.last;
  }

  get handed(): Index {
    return this.#handed;
  }

  at(index: Index): Entry | undefined {
    return this.entries[index - this.first];
  }

  /** Appends; everything held at or beyond the first entry's index is discarded. */
  append(entries: readonly Entry[]): void {
    const from = entries[0]!.index;
    if (from <= this.last || from < this.first) this.#truncate(from);
    for (let i = 0; i < entries.length; i++) this.entries.push(entries[i]!);
  }

  #truncate(from: Index): void {
    if (from < this.first) {
      this.first = from;
      this.entries = [];
    } else {
      this.entries.length = from - this.first;
    }
    this.#handed = Math.min(this.#handed, from - 1);
    let runs = this.#lasts.length;
    while (runs > 0 && this.#lasts[runs - 1]! >= from) {
      const before = runs > 1 ? this.#lasts[runs - 2]! : this.first - 1;
      if (before >= from - 1) {
        runs--;
      } else {
        this.#lasts[runs - 1] = from - 1;
        break;
      }
    }
    this.#lasts.length = runs;
    this.#sequences.length = runs;
  }

  /** Marks all entries as handed out in task `sequence`. */
  hand(sequence: number): void {
    if (!this.hasUnhanded) return;
    this.#handed = this.last;
    this.#sequences.push(sequence);
    this.#lasts.push(this.#handed);
  }

  /** All tasks up to `sequence` are durable: drops what they carry. */
  stabilise(sequence: number): void {
    let runs = 0;
    while (runs < this.#sequences.length && this.#sequences[runs]! <= sequence) runs++;
    if (runs === 0) return;
    const stable = this.#lasts[runs - 1]!;
    this.#sequences.splice(0, runs);
    this.#lasts.splice(0, runs);
    invariant(stable <= this.#handed, () => `stable ${stable} beyond handed ${this.#handed}`);
    const count = stable + 1 - this.first;
    if (count === this.entries.length) this.entries = [];
    else this.entries.splice(0, count);
    this.first = stable + 1;
  }

  /** The log restarts behind `index`; nothing is left. */
  restart(index: Index): void {
    this.first = index + 1;
    this.entries = [];
    this.#handed = index;
    this.#sequences = [];
    this.#lasts = [];
  }
}
