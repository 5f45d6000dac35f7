import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './faults/fault.ts';
import { type RunResult, runSeed } from './run.ts';

const USAGE = `npm run simulate -- [options]
  --seed N        one seed
  --seeds A-B     a range of seeds
  --count N       N seeds from --from on (default 100)
  --from N        first seed of --count or --minutes (default 1)
  --minutes M     as many seeds as fit into M minutes
  --verbose       a trace of what happens (with --seed)
  --only A,B      only these faults, such as 'bit rot,kill'
  --marks         how often each place of interest was reached
`;

interface Plan {
  readonly first: number;
  readonly last: number;
  readonly minutes: number;
  readonly verbose: boolean;
  readonly marks: boolean;
  readonly kinds: readonly FaultKind[] | undefined;
}

function planOf(argv: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      count: { type: 'string' },
      from: { type: 'string', default: '1' },
      minutes: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      marks: { type: 'boolean', default: false },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const { verbose, marks } = values;
  const kinds = values.only?.split(',').map(kindOf);
  const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
  const from = Number(values.from);
  if (values.seed !== undefined) {
    const seed = Number(values.seed);
    return { first: seed, last: seed, minutes, verbose, marks, kinds };
  }
  if (values.seeds !== undefined) {
    const [first = 1, last = first] = values.seeds.split('-').map(Number);
    return { first, last, minutes, verbose, marks, kinds };
  }
  const endless = values.count === undefined && values.minutes !== undefined;
  const last = endless ? Number.MAX_SAFE_INTEGER : from + Number(values.count ?? 100) - 1;
  return { first: from, last, minutes, verbose, marks, kinds };
}

function kindOf(name: string): FaultKind {
  const kind = FAULT_KINDS.find((known) => known === name);
  if (kind === undefined) throw new Error(`--only: ${name} is none of ${FAULT_KINDS.join(', ')}`);
  return kind;
}

function describe({ seed, violation, virtualMs }: RunResult, plan: Plan): string {
  if (violation === undefined) return `seed ${seed}: ok`;
  const at = (violation.atUs / 1000).toFixed(3);
  const where = `${violation.invariant} at ${at} ms of ${Math.round(virtualMs)}`;
  const only = plan.kinds === undefined ? '' : ` --only '${plan.kinds.join(',')}'`;
  const replay = `npm run simulate -- --seed ${seed}${only} --verbose`;
  return `seed ${seed}: FAILED ${where}: ${violation.message}\n  replay: ${replay}`;
}

function main(): number {
  const plan = planOf(process.argv.slice(2));
  const startMs = performance.now();
  const cpuStart = process.cpuUsage();
  const totals = new Map<string, number>();
  const failures: number[] = [];
  let [seeds, virtualMs, events, toldMs] = [0, 0, 0, startMs];
  for (let seed = plan.first; seed <= plan.last; seed++) {
    const nowMs = performance.now();
    if (nowMs - startMs >= plan.minutes * 60_000) break;
    const trace = plan.verbose ? (line: string) => console.log(line) : undefined;
    const { kinds } = plan;
    const result = runSeed({ seed, ...(trace && { trace }), ...(kinds && { kinds }) });
    seeds += 1;
    virtualMs += result.virtualMs;
    events += result.events;
    for (const [name, count] of result.counts) totals.set(name, (totals.get(name) ?? 0) + count);
    if (result.violation !== undefined) {
      failures.push(seed);
      console.log(describe(result, plan));
    }
    if (nowMs - toldMs > 10_000) {
      toldMs = nowMs;
      console.log(`${seeds} seeds, ${failures.length} failed, now at seed ${seed}`);
    }
  }
  const { user, system } = process.cpuUsage(cpuStart);
  const cpuMinutes = (user + system) / 60e6;
  const hours = virtualMs / 3_600_000;
  console.log(
    `${seeds} seeds, ${hours.toFixed(2)} simulated hours, ${events} events, ` +
      `${(hours / cpuMinutes).toFixed(2)} simulated hours per CPU minute; ` +
      `${failures.length} failed${failures.length > 0 ? `: ${failures.join(' ')}` : ''}`,
  );
  if (plan.marks || plan.first === plan.last) {
    for (const [name, count] of [...totals].sort()) console.log(`  ${name}: ${count}`);
  }
  return failures.length === 0 ? 0 : 1;
}

process.exitCode = main();
