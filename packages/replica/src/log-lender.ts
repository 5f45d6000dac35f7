import type { Index, Term } from '@lockstep/model';
import type { Entry } from '@lockstep/raft';
import type { LogStore, Salvage } from '@lockstep/storage';
import type { RepairAnswer, RepairRequest, TermRun } from './log-repair-message.ts';

/** Data of one answer: it shares the control channel with heartbeats. */
const ANSWER_BYTES_MAX = 512 * 1024;

/**
 * Gives out entries that another member lost. An entry is given only if it is certainly the lost
 * one: either both logs hold the same entry further on, so that they are the same up to there, or
 * index and term are those of the lost one (Raft §5.3, log matching). A log that is damaged itself
 * gives what it still holds.
 */
export class LogLender {
  readonly #log: LogStore;
  /** Of a log that is damaged itself and not repaired yet. */
  readonly #salvage: () => Salvage | undefined;

  constructor(log: LogStore, salvage: () => Salvage | undefined) {
    this.#log = log;
    this.#salvage = salvage;
  }

  /** Undefined while entries must first come from disk: whoever asks will ask again. */
  answer(request: RepairRequest, isTrusted: boolean): RepairAnswer | undefined {
    const { first, last, term } = request;
    const meeting = this.#meeting(request.known);
    const entries: Entry[] = [];
    let bytes = 0;
    for (let index = first; index <= last && bytes < ANSWER_BYTES_MAX; index++) {
      const own = this.#term(index);
      if (own === undefined || (index > meeting && own !== term)) continue;
      const entry = this.#entry(index);
      if (entry === 'pending') {
        if (entries.length === 0) return undefined;
        break;
      }
      if (entry === undefined) continue;
      entries.push(entry);
      bytes += entry.data.length;
    }
    return { kind: 'answer', first, last, entries, reason: this.#reason(first), isTrusted };
  }

  /** The last entry that both logs hold; 0 when there is none that is known to both. */
  #meeting(known: readonly TermRun[]): Index {
    for (let at = known.length - 1; at >= 0; at--) {
      const { first, last, term } = known[at]!;
      for (let index = Math.min(last, this.#last); index >= first; index--) {
        const own = this.#term(index);
        if (own === term) return index;
        if (own !== undefined && own < term) break;
      }
    }
    return 0;
  }

  get #last(): Index {
    return this.#salvage()?.last ?? this.#log.lastIndex();
  }

  #term(index: Index): Term | undefined {
    const salvage = this.#salvage();
    if (salvage === undefined || index < salvage.from) return this.#log.term(index);
    return salvage.entries.get(index)?.term;
  }

  #entry(index: Index): Entry | 'pending' | undefined {
    const salvage = this.#salvage();
    if (salvage !== undefined && index >= salvage.from) return salvage.entries.get(index);
    if (index < this.#log.firstIndex()) return undefined;
    const page = this.#log.entries(index, index + 1, 0);
    return typeof page === 'string' ? (page === 'pending' ? page : undefined) : page[0];
  }

  #reason(first: Index): string {
    const log = this.#log;
    if (first > this.#last) return `its log ends at ${this.#last}`;
    if (first < log.firstIndex()) return `its log begins at ${log.firstIndex()}`;
    return this.#salvage() === undefined
      ? 'its log is another one there'
      : 'its log is damaged too';
  }
}
