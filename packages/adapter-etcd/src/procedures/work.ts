import { BudgetExceeded } from '@lockstep/state-machine';

/** Where a transaction's work is counted. `spend` throws BudgetExceeded when it is too much. */
export interface Work {
  spend(steps: number): void;
}

/**
 * Steps of the budget (design §12) by what is done; one is about 40 ns. The same on all members:
 * nothing here may depend on whose client waits.
 */
export const COST = {
  /** A comparison, a range: looking up where it begins. */
  lookUp: 10,
  /** A key that a range or a comparison passes. */
  visit: 4,
  /** A row that a range answers, beside its bytes; more where rows are sorted. */
  row: 4,
  sortedRow: 16,
  /** Superseded versions are read from disk, their size unknown before. */
  historyRow: 1000,
  put: 100,
  deletion: 50,
} as const;

const BYTES_PER_STEP = 64;

/** Steps for handing over so many bytes. */
export const bytesCost = (bytes: number): number => Math.floor(bytes / BYTES_PER_STEP);

/** For requests of one operation, whose work is bounded by what the store holds. */
export const UNCOUNTED: Work = { spend: () => undefined };

/** Work outside of the log: what a read-only transaction may do. */
export class ReadWork implements Work {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceeded('read-only transaction over its budget');
  }
}
