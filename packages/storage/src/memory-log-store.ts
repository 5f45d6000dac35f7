import type { Done, Index, Scheduler, Term } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { AppendTask, Configuration, Entry, HardState } from '@lockstep/raft';
import type { LogState, LogStore, OpenLog } from './contract.ts';
import { checkChange, type LogBase, type LogChange } from './log-change.ts';

export const EMPTY_HARD_STATE: HardState = { term: 0, vote: 0, commit: 0 };

/** What survives a restart of a memory log. */
export class MemoryLogContents {
  hardState: HardState = EMPTY_HARD_STATE;
  base: LogBase | undefined;
  entries: Entry[] = [];
  /** Grows with each open; a store of an earlier one writes nothing any more. */
  life = 0;

  get baseIndex(): Index {
    return this.base?.index ?? 0;
  }

  get lastIndex(): Index {
    return this.baseIndex + this.entries.length;
  }

  apply(change: LogChange): void {
    checkChange(change, this.baseIndex, this.lastIndex);
    if (change.snapshot !== undefined) {
      const { index, term, configuration } = change.snapshot;
      this.base = { index, term, configuration };
      this.entries = [];
    }
    const first = change.entries[0];
    if (first !== undefined) this.entries.length = first.index - this.baseIndex - 1;
    for (const entry of change.entries) this.entries.push(entry);
    this.hardState = change.hardState ?? this.hardState;
  }
}

/**
 * LogStore in memory. Tasks become durable one scheduler turn after they were queued. Opening the
 * same `contents` again is a restart: what was acknowledged is there, queued tasks are lost.
 */
export function openMemoryLog(
  scheduler: Scheduler,
  contents: MemoryLogContents = new MemoryLogContents(),
): OpenLog {
  return (_identity, bootstrap, _handlers, done) => {
    contents.life += 1;
    contents.base ??= { index: 0, term: 0, configuration: bootstrap };
    const log = new MemoryLogStore(scheduler, contents);
    scheduler.post(() => done(undefined, log, log.state()));
  };
}

class MemoryLogStore implements LogStore {
  readonly #scheduler: Scheduler;
  readonly #contents: MemoryLogContents;
  readonly #life: number;
  #applied: Index;
  #configuration: Configuration;
  #queue: { task: AppendTask; done: (sequence: number) => void }[] = [];
  #lastSequence = 0;
  #isClosed = false;

  constructor(scheduler: Scheduler, contents: MemoryLogContents) {
    this.#scheduler = scheduler;
    this.#contents = contents;
    this.#life = contents.life;
    this.#applied = contents.baseIndex;
    this.#configuration = contents.base!.configuration;
  }

  /** There are no files of its own to read again. */
  scrub(_bytes: number, done: (bytesRead: number) => void): void {
    done(0);
  }

  get sizeBytes(): number {
    let sum = 0;
    for (const entry of this.#contents.entries) sum += entry.data.length;
    return sum;
  }

  get outOfSpace(): boolean {
    return false;
  }

  state(): LogState {
    const { hardState, base, baseIndex, lastIndex } = this.#contents;
    return {
      hardState,
      snapshotIndex: baseIndex,
      snapshotTerm: base!.term,
      configuration: base!.configuration,
      firstIndex: baseIndex + 1,
      lastIndex,
      health: 'clean',
    };
  }

  append(task: AppendTask, done: (sequence: number) => void): void {
    invariant(!this.#isClosed, `append of task ${task.sequence} to a closed log`);
    invariant(
      task.sequence > this.#lastSequence,
      `append task ${task.sequence} after ${this.#lastSequence}`,
    );
    this.#lastSequence = task.sequence;
    this.#queue.push({ task, done });
    if (this.#queue.length === 1) this.#scheduler.post(() => this.#flush());
  }

  #flush(): void {
    if (this.#contents.life !== this.#life) return;
    const queue = this.#queue;
    this.#queue = [];
    for (const { task } of queue) this.#contents.apply(task);
    for (const { task, done } of queue) done(task.sequence);
  }

  setApplied(index: Index, configuration: Configuration): void {
    this.#applied = index;
    this.#configuration = configuration;
  }

  compact(index: Index, term: Term, configuration: Configuration): void {
    const contents = this.#contents;
    if (index <= contents.baseIndex) return;
    invariant(index <= contents.lastIndex, `compact to ${index} beyond ${contents.lastIndex}`);
    invariant(this.term(index) === term, `compact to ${index}: its term is not ${term}`);
    contents.entries.splice(0, index - contents.baseIndex);
    contents.base = { index, term, configuration };
  }

  /** A memory log is never damaged: there is no mark to take away. */
  repaired(): void {}

  close(done: Done): void {
    this.#isClosed = true;
    this.#scheduler.post(() => {
      if (this.#queue.length > 0) this.#flush();
      done(undefined);
    });
  }

  initialState(): { hardState: HardState; configuration: Configuration; applied: Index } {
    const { hardState } = this.#contents;
    return { hardState, configuration: this.#configuration, applied: this.#applied };
  }

  firstIndex(): Index {
    return this.#contents.baseIndex + 1;
  }

  lastIndex(): Index {
    return this.#contents.lastIndex;
  }

  term(index: Index): Term | undefined {
    const { base, baseIndex, entries } = this.#contents;
    return index === baseIndex ? base!.term : entries[index - baseIndex - 1]?.term;
  }

  entries(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'compacted' | 'pending' {
    const { baseIndex, lastIndex, entries } = this.#contents;
    if (lo <= baseIndex) return 'compacted';
    invariant(lo < hi && hi <= lastIndex + 1, `entries ${lo} to ${hi} of a log to ${lastIndex}`);
    return pageOf(entries, lo - baseIndex - 1, hi - baseIndex - 1, bytesMax);
  }
}

/** At least one entry from `start`, then up to `bytesMax` of data, below `end`. */
export function pageOf(
  entries: readonly Entry[],
  start: number,
  end: number,
  bytesMax: number,
): readonly Entry[] {
  let stop = start + 1;
  let bytes = entries[start]!.data.length;
  while (stop < end) {
    bytes += entries[stop]!.data.length;
    if (bytes > bytesMax) break;
    stop += 1;
  }
  return entries.slice(start, stop);
}
