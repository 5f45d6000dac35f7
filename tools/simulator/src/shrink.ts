import type { Fault } from './faults/fault.ts';
import { type RunOptions, type RunResult, runSeed } from './run.ts';
import type { Settings } from './settings.ts';

export interface ShrinkOptions {
  /** Told of each smaller run that still fails. */
  readonly tell?: (line: string) => void;
  /** Runs at most. */
  readonly runsMax?: number;
  /** Repeats a run; a test puts another in its place. */
  readonly run?: (options: RunOptions) => RunResult;
}

/**
 * Makes a failing run smaller while it breaks the same invariant: first less time, then fewer
 * faults (ddmin), then fewer clients, and the faults once more. Returns the smallest run found.
 */
export function shrink(failed: RunResult, options: ShrinkOptions = {}): RunResult {
  return new Shrinker(failed, options).shrink();
}

class Shrinker {
  readonly #options: ShrinkOptions;
  readonly #invariant: string;
  #best: RunResult;
  #runsLeft: number;

  constructor(failed: RunResult, options: ShrinkOptions) {
    this.#options = options;
    this.#invariant = failed.violation?.invariant ?? '';
    this.#best = failed;
    this.#runsLeft = options.runsMax ?? 400;
  }

  shrink(): RunResult {
    if (this.#invariant === '') return this.#best;
    this.#lessTime();
    this.#fewerFaults();
    this.#fewerClients();
    this.#fewerFaults();
    return this.#best;
  }

  /** True, and kept, when this run still breaks the same invariant. */
  #stillFails(settings: Settings, faults: readonly Fault[], what: () => string): boolean {
    if (this.#runsLeft <= 0) return false;
    this.#runsLeft -= 1;
    const result = (this.#options.run ?? runSeed)({ seed: this.#best.seed, settings, faults });
    if (result.violation?.invariant !== this.#invariant) return false;
    this.#best = result;
    this.#options.tell?.(what());
    return true;
  }

  #lessTime(): void {
    const { violation, settings, faults } = this.#best;
    const endMs = Math.ceil((violation?.atUs ?? 0) / 1000) + 1;
    const fails = (faultsMs: number): boolean => {
      const kept = faults.filter(({ atMs }) => atMs < faultsMs);
      return this.#stillFails({ ...settings, faultsMs }, kept, () => `${faultsMs} ms of faults`);
    };
    let [low, high] = [0, settings.faultsMs];
    if (endMs < high && fails(endMs)) high = endMs;
    while (high - low > 100) {
      const middle = Math.floor((low + high) / 2);
      if (fails(middle)) high = middle;
      else low = middle;
    }
  }

  /** Delta debugging: leaves out ever smaller parts of the script. */
  #fewerFaults(): void {
    let parts = 2;
    while (this.#best.faults.length > 0 && this.#runsLeft > 0) {
      const { faults, settings } = this.#best;
      const size = Math.ceil(faults.length / parts);
      let found = false;
      for (let from = 0; from < faults.length && !found; from += size) {
        const kept = faults.filter((_, at) => at < from || at >= from + size);
        found = this.#stillFails(settings, kept, () => `${kept.length} faults`);
      }
      if (found) parts = Math.max(2, parts - 1);
      else if (size <= 1) return;
      else parts = Math.min(faults.length, parts * 2);
    }
  }

  #fewerClients(): void {
    for (const name of ['clientsPerNode', 'doorClients'] as const) {
      while (this.#best.settings[name] > 0) {
        const { settings, faults } = this.#best;
        const fewer = { ...settings, [name]: settings[name] - 1 };
        if (!this.#stillFails(fewer, faults, () => `${name} ${fewer[name]}`)) break;
      }
    }
  }
}
