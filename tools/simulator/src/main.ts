import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plan, planOf, USAGE } from './command-line.ts';
import { markCatalogue } from './mark-catalogue.ts';
import { profileOptions } from './profiles.ts';
import { optionsOf, readReplay, replayOf, writeReplay } from './replay.ts';
import { type RunOptions, type RunResult, runSeed } from './run.ts';
import { shrink } from './shrink.ts';
import { Tally } from './tally.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRESS_MS = 10_000;

function optionsFor(plan: Plan, seed: number): RunOptions {
  const { kinds, replay, profile } = plan;
  const trace = plan.verbose ? (line: string) => console.log(line) : undefined;
  const options =
    replay !== undefined
      ? optionsOf(readReplay(replay))
      : profile !== undefined
        ? profileOptions(profile, seed)
        : { seed, ...(kinds && { kinds }) };
  return { ...options, ...(trace && { trace }) };
}

function digestText({ digest }: RunResult): string {
  return digest.toString(16).padStart(8, '0');
}

/** What broke, and the one line that repeats it on any machine. */
function describe(result: RunResult, plan: Plan): string {
  const { seed, violation, virtualMs } = result;
  const digest = digestText(result);
  if (violation === undefined) return `seed ${seed}: ok, digest ${digest}`;
  const at = (violation.atUs / 1000).toFixed(3);
  const where = `${violation.invariant} at ${at} ms of ${Math.round(virtualMs)}`;
  const only = plan.kinds === undefined ? '' : ` --only '${plan.kinds.join(',')}'`;
  const what = plan.replay === undefined ? `--seed ${seed}${only}` : `--replay ${plan.replay}`;
  return (
    `seed ${seed}: FAILED ${where}, digest ${digest}: ${violation.message}\n` +
    `  replay: npm run simulate -- ${what} --verbose`
  );
}

/** Writes the run to a file, as small as asked for. */
function keep(result: RunResult, plan: Plan): void {
  if (!plan.shrink && plan.out === undefined) return;
  const tell = (line: string): void => console.log(`  ${line}`);
  const small = plan.shrink ? shrink(result, { tell }) : result;
  const path = join(plan.out ?? '.', `seed-${result.seed}.json`);
  const { invariant = '', message = '' } = small.violation ?? {};
  writeReplay(
    path,
    replayOf(small, invariant === '' ? 'passed' : `${invariant}: ${message}`.slice(0, 300)),
  );
  console.log(`  written: npm run simulate -- --replay ${path} --verbose`);
}

function runAll(plan: Plan, tally: Tally): void {
  const startMs = performance.now();
  let toldMs = startMs;
  const { last } = plan;
  for (let seed = plan.first; seed <= last; seed++) {
    const nowMs = performance.now();
    if (nowMs - startMs >= plan.minutes * 60_000) break;
    const result = runSeed(optionsFor(plan, seed));
    tally.add(result);
    const failed = result.violation !== undefined;
    if (failed || plan.digest || plan.first === last) console.log(describe(result, plan));
    if (failed || plan.first === last) keep(result, plan);
    if (nowMs - toldMs < PROGRESS_MS) continue;
    toldMs = nowMs;
    console.log(tally.progress(seed));
  }
}

/** What was typed wrong is told in one line; undefined then. */
function planTyped(): { readonly plan: Plan | undefined } | undefined {
  try {
    const plan = planOf(process.argv.slice(2), Math.floor(Date.now() / 1000));
    if (plan?.replay !== undefined) readReplay(plan.replay);
    return { plan };
  } catch (error) {
    console.error(`simulate: ${(error as Error).message}; --help shows the options`);
    return undefined;
  }
}

function main(): number {
  const typed = planTyped();
  if (typed === undefined) return 2;
  const { plan } = typed;
  if (plan === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  const tally = new Tally();
  const cpuStart = process.cpuUsage();
  const range = plan.last === Number.MAX_SAFE_INTEGER ? 'on' : `to ${plan.last}`;
  if (plan.last > plan.first) console.log(`seeds ${plan.first} ${range}, node ${process.version}`);
  runAll(plan, tally);
  const { user, system } = process.cpuUsage(cpuStart);
  const catalogue = markCatalogue(ROOT);
  for (const line of tally.summary((user + system) / 60e6, catalogue)) console.log(line);
  const details = plan.marks || plan.first === plan.last;
  if (details) for (const line of tally.details(catalogue)) console.log(line);
  return tally.failures.length === 0 ? 0 : 1;
}

process.exitCode = main();
