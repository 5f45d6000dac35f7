import type { Index, Term } from '@lockstep/model';

/** Terms of all entries of the log, as runs of equal terms: small however long the log is. */
export class TermRuns {
  #runs: { first: Index; term: Term }[] = [];

  /** Term of an index that is known to be in the log. */
  at(index: Index): Term | undefined {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#runs[middle]!.first <= index) low = middle + 1;
      else high = middle;
    }
    return this.#runs[low - 1]?.term;
  }

  push(index: Index, term: Term): void {
    if (this.#runs.at(-1)?.term !== term) this.#runs.push({ first: index, term });
  }

  /** Forgets indexes ≥ `index`. */
  cut(index: Index): void {
    while (this.#runs.length > 0 && this.#runs.at(-1)!.first >= index) this.#runs.pop();
  }

  /** Forgets indexes < `index`. */
  drop(index: Index): void {
    let count = 0;
    while (count + 1 < this.#runs.length && this.#runs[count + 1]!.first <= index) count += 1;
    if (count > 0) this.#runs.splice(0, count);
  }
}
