import { type Index, invariant, type Term } from '@lockstep/model';
import type {
  AppendTask,
  Configuration,
  Entry,
  HardState,
  LogReader,
  SnapshotMeta,
} from './contract.ts';

/**
 * A log in memory for tests and simulators: what `write` was given counts as durable. The caller
 * decides when to write a task, and so what a crash loses.
 */
export class MemoryLog implements LogReader {
  #entries: Entry[] = [];
  #snapshotIndex: Index = 0;
  #snapshotTerm: Term = 0;
  #hardState: HardState = { term: 0, vote: 0, commit: 0 };
  #configuration: Configuration;
  #applied: Index = 0;
  /** While true, `entries` answers `pending`, as a log does that must read from disk. */
  pending = false;

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
  }

  initialState(): { hardState: HardState; configuration: Configuration; applied: Index } {
    const { commit } = this.#hardState;
    invariant(commit <= this.lastIndex(), `commit ${commit} beyond the log ${this.lastIndex()}`);
    return {
      hardState: this.#hardState,
      configuration: this.#configuration,
      applied: this.#applied,
    };
  }

  firstIndex(): Index {
    return this.#snapshotIndex + 1;
  }

  lastIndex(): Index {
    return this.#snapshotIndex + this.#entries.length;
  }

  term(index: Index): Term | undefined {
    if (index === this.#snapshotIndex) return this.#snapshotTerm;
    return this.#entries[index - this.#snapshotIndex - 1]?.term;
  }

  entries(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'compacted' | 'pending' {
    if (lo <= this.#snapshotIndex) return 'compacted';
    if (this.pending) return 'pending';
    const from = lo - this.#snapshotIndex - 1;
    const to = Math.min(hi - this.#snapshotIndex - 1, this.#entries.length);
    let bytes = this.#entries[from]?.data.length ?? 0;
    let end = Math.min(from + 1, to);
    while (end < to) {
      bytes += this.#entries[end]!.data.length;
      if (bytes > bytesMax) break;
      end++;
    }
    return this.#entries.slice(from, end);
  }

  /** Makes a task durable. Tasks come in order; entries replace all from their index on. */
  write(task: AppendTask): void {
    if (task.snapshot !== undefined) this.#restart(task.snapshot);
    const first = task.entries[0];
    if (first !== undefined) {
      invariant(
        first.index > this.#snapshotIndex && first.index <= this.lastIndex() + 1,
        () => `entry ${first.index} does not continue ${this.firstIndex()}…${this.lastIndex()}`,
      );
      const at = first.index - this.#snapshotIndex - 1;
      if (at < this.#entries.length) this.#entries.length = at;
      for (const entry of task.entries) this.#entries.push(entry);
    }
    if (task.hardState === undefined) return;
    invariant(
      task.hardState.term >= this.#hardState.term &&
        task.hardState.commit >= this.#hardState.commit &&
        task.hardState.commit <= this.lastIndex(),
      () => `hard state ${JSON.stringify(task.hardState)} after ${JSON.stringify(this.#hardState)}`,
    );
    this.#hardState = task.hardState;
  }

  #restart(snapshot: SnapshotMeta): void {
    this.#entries = [];
    this.#snapshotIndex = snapshot.index;
    this.#snapshotTerm = snapshot.term;
    this.setApplied(snapshot.index, snapshot.configuration);
  }

  /** What the state machine holds durably; `initialState` gives it back after a restart. */
  setApplied(index: Index, configuration: Configuration): void {
    this.#applied = index;
    this.#configuration = configuration;
  }

  /** Entries ≤ `index` are gone; their effect must be applied. */
  compact(index: Index): void {
    if (index <= this.#snapshotIndex) return;
    invariant(index <= this.#applied, `compaction at ${index}, applied is ${this.#applied}`);
    const term = this.term(index);
    invariant(term !== undefined, `compaction at ${index} beyond ${this.lastIndex()}`);
    this.#entries = this.#entries.slice(index - this.#snapshotIndex);
    this.#snapshotIndex = index;
    this.#snapshotTerm = term;
  }
}
