import { runSeed } from '@lockstep/simulator';

/** What a hunt tells the process that started it. */
export interface Catch {
  readonly kind: 'caught';
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
  readonly cpuSeconds: number;
}

export interface Miss {
  readonly kind: 'missed';
  /** Seeds that found nothing. */
  readonly seeds: number;
  readonly cpuSeconds: number;
}

/**
 * Main program of a bundle: runs seeds from the first one on until one finds something, the last
 * one is done or the CPU time is spent. Arguments: first seed, last seed, CPU seconds, and the
 * invariants that count, if not all do.
 */
function hunt(args: readonly string[]): Catch | Miss {
  const [first = '1', last = first, seconds = '600', ...invariants] = args;
  let seeds = 0;
  for (let seed = Number(first); seed <= Number(last); seed++) {
    if (cpuSeconds() > Number(seconds)) break;
    const found = violationOf(seed);
    const counts = invariants.length === 0 || invariants.includes(found?.invariant ?? '');
    if (found !== undefined && counts)
      return { kind: 'caught', seed, ...found, cpuSeconds: cpuSeconds() };
    seeds += 1;
  }
  return { kind: 'missed', seeds, cpuSeconds: cpuSeconds() };
}

/** A run that throws has found something just as one that fails an invariant. */
function violationOf(seed: number): Pick<Catch, 'invariant' | 'message'> | undefined {
  try {
    const { violation } = runSeed({ seed });
    return violation && { invariant: violation.invariant, message: violation.message };
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { invariant: 'exception', message };
  }
}

/** Of this process since its start, on all its threads. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

process.send?.(hunt(process.argv.slice(2)));
