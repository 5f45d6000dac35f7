import type { Mutant } from './mutant.ts';

/** How a mutant was found by the last search from the first seed on. */
export interface Kill {
  readonly seed: number;
  readonly invariant: string;
  /** CPU time from the start of the process to the violation. */
  readonly cpuSeconds: number;
}

const BEGIN = '<!-- mutants: begin, written by `npm run mutants` -->';
const END = '<!-- mutants: end -->';

/** The table between the marks in a text, with one row for each mutant. */
export function withTable(
  text: string,
  mutants: readonly Mutant[],
  kills: ReadonlyMap<string, Kill>,
): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`the marks ${BEGIN} and ${END} are missing`);
  const table = ['', ...rowsOf(mutants, kills), '', summaryOf(mutants, kills), ''].join('\n');
  return `${text.slice(0, begin + BEGIN.length)}\n${table}\n${text.slice(end)}`;
}

function rowsOf(mutants: readonly Mutant[], kills: ReadonlyMap<string, Kill>): string[] {
  const head = ['| Mutant | Defect | Drawn from | Killed by | Seed | CPU time |'];
  head.push('| --- | --- | --- | --- | ---: | ---: |');
  return head.concat(
    mutants.map(({ name, title, catalogue }) => {
      const kill = kills.get(name);
      const found =
        kill === undefined
          ? '**survives** | – | –'
          : `${kill.invariant} | ${kill.seed} | ${kill.cpuSeconds.toFixed(1)} s`;
      return `| \`${name}\` | ${title} | ${catalogue} | ${found} |`;
    }),
  );
}

function summaryOf(mutants: readonly Mutant[], kills: ReadonlyMap<string, Kill>): string {
  const times = mutants.flatMap(({ name }) => kills.get(name)?.cpuSeconds ?? []);
  const slowest = Math.max(0, ...times);
  const total = times.reduce((sum, time) => sum + time, 0);
  return (
    `${times.length} of ${mutants.length} killed; the slowest took ${slowest.toFixed(0)} s, all ` +
    `together ${(total / 60).toFixed(1)} minutes of CPU time.`
  );
}
