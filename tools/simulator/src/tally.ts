import type { RunResult } from './run.ts';

/** Sums over all runs of a session, and how they are told. */
export class Tally {
  seeds = 0;
  readonly failures: number[] = [];
  #virtualMs = 0;
  #events = 0;
  readonly #counts = new Map<string, number>();
  readonly #marks = new Map<string, number>();
  readonly #struck = new Map<string, number>();

  add(result: RunResult): void {
    this.seeds += 1;
    this.#virtualMs += result.virtualMs;
    this.#events += result.events;
    if (result.violation !== undefined) this.failures.push(result.seed);
    for (const [name, count] of result.counts) {
      const before = this.#counts.get(name) ?? 0;
      this.#counts.set(name, name.startsWith('ms ') ? Math.max(before, count) : before + count);
    }
    for (const [name, count] of result.marks) raise(this.#marks, name, count);
    for (const [name, count] of result.struck) raise(this.#struck, name, count);
  }

  /** One line while it goes on. */
  progress(seed: number): string {
    const failed = this.failures.length;
    const hours = (this.#virtualMs / 3_600_000).toFixed(2);
    const operations = this.#counts.get('transactions') ?? 0;
    return (
      `${this.seeds} seeds, ${failed} failed, ${hours} simulated hours, ` +
      `${operations} transactions, now at seed ${seed}`
    );
  }

  summary(cpuMinutes: number, catalogue: readonly string[]): string[] {
    const of = (name: string): number => this.#counts.get(name) ?? 0;
    const hours = this.#virtualMs / 3_600_000;
    const strikes = [...this.#struck.values()].reduce((sum, count) => sum + count, 0);
    const cuts = ['isolate', 'one way', 'deaf', 'mute', 'halves', 'bridge', 'ring', 'flap'];
    const partitions = [...cuts, 'swizzle'].reduce((sum, kind) => sum + this.#struckOf(kind), 0);
    const reached = catalogue.filter((name) => this.#marks.has(name)).length;
    const failed = this.failures.length;
    return [
      `${this.seeds} seeds, ${failed} failed${failed > 0 ? `: ${this.failures.join(' ')}` : ''}`,
      `${hours.toFixed(2)} simulated hours, ${this.#events} events, ${strikes} faults, ` +
        `${of('crashes')} crashes, ${partitions} partitions, ${of('terms')} elections, ` +
        `${of('configuration changes')} changes of membership`,
      `${of('acknowledged')} commands acknowledged, ${of('entries')} entries and ` +
        `${of('transactions')} transactions committed, ${reached} of ${catalogue.length} marks`,
      `${(hours / cpuMinutes).toFixed(2)} simulated hours and ` +
        `${Math.round(of('acknowledged') / cpuMinutes)} commands per CPU minute`,
    ];
  }

  /** Counts, faults and marks one by one, and the marks that were never reached. */
  details(catalogue: readonly string[]): string[] {
    const lines: string[] = [];
    const list = (title: string, counts: ReadonlyMap<string, number>): void => {
      lines.push(`${title}:`);
      for (const [name, count] of [...counts].sort()) lines.push(`  ${name}: ${count}`);
    };
    list('counts', this.#counts);
    list('faults', this.#struck);
    list('marks', this.#marks);
    const never = catalogue.filter((name) => !this.#marks.has(name));
    lines.push(`never reached: ${never.length}`);
    for (const name of never) lines.push(`  ${name}`);
    return lines;
  }

  #struckOf(kind: string): number {
    return this.#struck.get(kind) ?? 0;
  }
}

function raise(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
