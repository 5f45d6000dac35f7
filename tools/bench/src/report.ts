import type { LoadResult } from './load.ts';

/** One measured line and, where there is one, what it is held against. */
export function printHeader(): void {
  const head = ['workload', 'clients', 'ours/s', 'p50 ms', 'p99 ms', 'rival/s', 'p50 ms', 'ratio'];
  console.log(row(head));
  console.log(row(head.map(() => '---')));
}

export function printLine(name: string, ours: LoadResult, rival: LoadResult | undefined): void {
  const left = [name, String(ours.clients), rate(ours), ms(ours.p50Ms), ms(ours.p99Ms)];
  const right =
    rival === undefined
      ? ['-', '-', '-']
      : [rate(rival), ms(rival.p50Ms), `${(ours.perSecond / rival.perSecond).toFixed(2)} ×`];
  console.log(row([...left, ...right]));
}

const rate = (result: LoadResult): string =>
  `${Math.round(result.perSecond)}${result.errors > 0 ? ` (${result.errors} errors)` : ''}`;
const ms = (value: number): string => value.toFixed(2);
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
