import type { Entry, MemoryLog } from '../src/index.ts';

/** What is true of the whole cluster for all time; throws when a member contradicts it. */
export class Oracle {
  readonly leaders = new Map<number, number>();
  /** Committed entries by index, from the first commit on. */
  readonly committed: Entry[] = [];
  readonly #versions = new Map<string, { data: string; prevTerm: number }>();

  get commit(): number {
    return this.committed.length;
  }

  /** ElectionSafety. */
  leads(id: number, term: number): void {
    const known = this.leaders.get(term);
    if (known !== undefined && known !== id) {
      throw new Error(`ElectionSafety: ${known} and ${id} lead term ${term}`);
    }
    this.leaders.set(term, id);
  }

  /** LogMatching: (index, term) fixes the data and, by induction, all that precedes. */
  appended(entry: Entry, prevTerm: number | undefined): void {
    if (prevTerm === undefined) return;
    const key = `${entry.index}:${entry.term}`;
    const data = Buffer.from(entry.data).toString('latin1');
    const known = this.#versions.get(key);
    if (known === undefined) {
      this.#versions.set(key, { data, prevTerm });
    } else if (known.data !== data || known.prevTerm !== prevTerm) {
      throw new Error(`LogMatching: two versions of ${key}`);
    }
  }

  /** StateMachineSafety. */
  applies(id: number, entry: Entry): void {
    const known = this.committed[entry.index - 1];
    if (known === undefined || known.term !== entry.term || known.data !== entry.data) {
      throw new Error(`StateMachineSafety: ${id} applies ${entry.index} of term ${entry.term}`);
    }
  }

  /**
   * DurableQuorum: at its first commit an entry is on the disks of a majority of each half. An
   * undefined log is damaged: it may have held the entry when that was counted.
   */
  commits(entry: Entry, halves: readonly (readonly (MemoryLog | undefined)[])[]): void {
    for (const logs of halves) {
      const holders = logs.filter((log) => {
        return (
          log === undefined ||
          log.firstIndex() > entry.index ||
          log.term(entry.index) === entry.term
        );
      });
      if (holders.length * 2 <= logs.length && logs.length > 0) {
        throw new Error(`DurableQuorum: ${entry.index} is on ${holders.length} disks`);
      }
    }
    if (entry.index !== this.committed.length + 1) {
      throw new Error(`commit of ${entry.index} follows ${this.committed.length}`);
    }
    this.committed.push(entry);
  }
}
