import type { Index, Term } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { Configuration, Entry, HardState, LogReader } from '@lockstep/raft';
import type { LogView } from './log-view.ts';

/** What every log that keeps a view of itself answers raft; where entries are is its own affair. */
export abstract class ViewedLog implements LogReader {
  protected readonly view: LogView;
  #applied: Index;
  #configuration: Configuration;

  constructor(view: LogView) {
    this.view = view;
    this.#applied = view.base.index;
    this.#configuration = view.base.configuration;
  }

  initialState(): { hardState: HardState; configuration: Configuration; applied: Index } {
    const { hardState } = this.view;
    return { hardState, configuration: this.#configuration, applied: this.#applied };
  }

  setApplied(index: Index, configuration: Configuration): void {
    this.#applied = index;
    this.#configuration = configuration;
  }

  firstIndex(): Index {
    return this.view.firstIndex;
  }

  lastIndex(): Index {
    return this.view.lastIndex;
  }

  term(index: Index): Term | undefined {
    return this.view.term(index);
  }

  entries(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'compacted' | 'pending' {
    const { firstIndex, lastIndex, cache } = this.view;
    if (lo < firstIndex) return 'compacted';
    invariant(
      lo < hi && hi <= lastIndex + 1,
      () => `entries ${lo} to ${hi} of a log from ${firstIndex} to ${lastIndex}`,
    );
    return cache.page(lo, hi, bytesMax) ?? this.stored(lo, hi, bytesMax);
  }

  /** Entries that left the cache. */
  protected abstract stored(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'pending';
}
