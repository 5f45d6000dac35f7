import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './bundle.ts';
import { CANDIDATES } from './catalogue/candidates.ts';
import { MUTANTS } from './catalogue.ts';
import { Hunter } from './hunter.ts';
import type { Mutant } from './mutant.ts';
import { type Kill, withTable } from './table.ts';

const USAGE = `npm run mutants -- [options]
  --only A,B     only these mutants
  --minutes M    CPU minutes for each (default 10)
  --jobs N       so many at a time (default: one for each core)
  --from SEED    first seed (default 1)
  --known        first the seed that killed it last time; its time in the table stays
`;

/** The last kill of each mutant, for `--known` and for the rows of a partial run. */
const KILLS = join(ROOT, 'tools/mutants/kills.json');
const README = join(ROOT, 'tools/simulator/README.md');

interface Plan {
  readonly mutants: readonly Mutant[];
  readonly minutes: number;
  readonly jobs: number;
  readonly from: number;
  readonly known: boolean;
}

function planOf(args: string[]): Plan {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      minutes: { type: 'string', default: '10' },
      jobs: { type: 'string', default: `${availableParallelism()}` },
      from: { type: 'string', default: '1' },
      known: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const { minutes, jobs, from, known } = values;
  const mutants = values.only?.split(',').map(mutantOf) ?? MUTANTS;
  const numbers = { minutes: Number(minutes), jobs: Number(jobs), from: Number(from) };
  for (const [name, value] of Object.entries(numbers)) {
    if (!(value > 0))
      throw new Error(`--${name}: ${values[name as keyof typeof numbers]} is no number above 0`);
  }
  return { ...numbers, known, mutants };
}

/** What was typed wrong is told in one line; undefined then. */
function planTyped(): Plan | undefined {
  try {
    return planOf(process.argv.slice(2));
  } catch (error) {
    console.error(`mutants: ${(error as Error).message}; --help shows the options`);
    return undefined;
  }
}

function mutantOf(name: string): Mutant {
  const found = [...MUTANTS, ...CANDIDATES].find((mutant) => mutant.name === name);
  if (found === undefined) throw new Error(`--only: there is no mutant ${name}, see src/catalogue`);
  return found;
}

function readKills(): Map<string, Kill> {
  return new Map(Object.entries(JSON.parse(readFileSync(KILLS, 'utf8')) as Record<string, Kill>));
}

/** In the order of the catalogue, so that two runs differ only where the kills do. */
function writeKills(found: ReadonlyMap<string, Kill | undefined>, { from, minutes }: Plan): void {
  // Read anew: another partial run may have written meanwhile.
  const kills = readKills();
  for (const [name, kill] of found) {
    const last = kills.get(name);
    // A search that did not get as far as the last kill says nothing against it.
    const isShort = last !== undefined && (from > last.seed || minutes * 60 < 2 * last.cpuSeconds);
    if (kill !== undefined) kills.set(name, kill);
    else if (!isShort) kills.delete(name);
  }
  const kept = MUTANTS.flatMap(({ name }) => {
    const kill = kills.get(name);
    return kill === undefined ? [] : [[name, kill] as const];
  });
  writeFileSync(KILLS, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`);
  writeFileSync(README, withTable(readFileSync(README, 'utf8'), MUTANTS, kills));
}

async function killOf(hunter: Hunter, mutant: Mutant, plan: Plan, last: Kill | undefined) {
  const cpuSeconds = plan.minutes * 60;
  if (plan.known && last !== undefined) {
    const range = { first: last.seed, last: last.seed, cpuSeconds };
    const again = await hunter.hunt(mutant, range);
    if (again.kind === 'caught' && again.invariant === last.invariant) return last;
  }
  const range = { first: plan.from, last: Number.MAX_SAFE_INTEGER, cpuSeconds };
  const found = await hunter.hunt(mutant, range);
  if (found.kind === 'missed') {
    console.log(`${mutant.name}: SURVIVES ${found.seeds} seeds, ${found.cpuSeconds.toFixed(0)} s`);
    return undefined;
  }
  const { seed, invariant, message } = found;
  const time = Math.round(found.cpuSeconds * 10) / 10;
  const line = message.split('\n')[0]?.slice(0, 160);
  console.log(`${mutant.name}: ${invariant} at seed ${seed} after ${time} s: ${line}`);
  return { seed, invariant, cpuSeconds: time };
}

async function main(): Promise<number> {
  const plan = planTyped();
  if (plan === undefined) return 2;
  const kills = readKills();
  const hunter = new Hunter();
  const waiting = [...plan.mutants];
  const found = new Map<string, Kill | undefined>();
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      found.set(mutant.name, await killOf(hunter, mutant, plan, kills.get(mutant.name)));
    }
  };
  try {
    await Promise.all(Array.from({ length: plan.jobs }, work));
  } finally {
    hunter.close();
    writeKills(found, plan);
  }
  const survivors = [...found].flatMap(([name, kill]) => (kill === undefined ? name : []));
  const killed = plan.mutants.length - survivors.length;
  console.log(`${killed} of ${plan.mutants.length} killed`);
  if (survivors.length > 0) console.log(`survivors: ${survivors.join(' ')}`);
  return survivors.length === 0 ? 0 : 1;
}

process.exitCode = await main();
