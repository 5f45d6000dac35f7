import { describe, expect, it } from 'vitest';
import type { Fault, RunOptions, RunResult } from '../src/index.ts';
import { replayOf, runSeed, shrink } from '../src/index.ts';

/** A run that fails when two certain faults are in its script, at the time of the later one. */
function broken({ seed, settings, faults = [] }: RunOptions): RunResult {
  const guilty = faults.filter(({ id }) => id === 7 || id === 19);
  const atUs = 1000 * Math.max(0, ...guilty.map(({ atMs }) => atMs));
  const violation = { invariant: 'Example', message: 'both struck', atUs };
  return {
    seed,
    verdict: 'failed',
    violation: guilty.length === 2 ? violation : undefined,
    digest: 0,
    events: 0,
    virtualMs: 0,
    counts: new Map(),
    marks: new Map(),
    struck: new Map(),
    settings: settings!,
    faults,
  };
}

const settings = runSeed({ seed: 1, faults: [], adjust: (s) => ({ ...s, faultsMs: 10 }) }).settings;
const script: Fault[] = Array.from({ length: 30 }, (_, at) => ({
  id: at + 1,
  atMs: 500 * (at + 1),
  kind: 'kill',
  aim: 'member',
  node: 1,
  other: 2,
  forMs: 5,
  amount: 0.5,
}));

describe('shrinking', () => {
  it('keeps the faults that matter, and no time or clients beyond', () => {
    const long = { ...settings, faultsMs: 20_000, clientsPerNode: 3, doorClients: 2 };
    const failed = broken({ seed: 5, settings: long, faults: script });
    const small = shrink(failed, { run: broken });
    expect(small.faults.map(({ id }) => id)).toEqual([7, 19]);
    expect(small.settings.clientsPerNode).toBe(0);
    expect(small.settings.doorClients).toBe(0);
    expect(small.settings.faultsMs).toBeLessThan(9_700);
    expect(small.settings.faultsMs).toBeGreaterThan(9_500);
  });

  it('leaves a run alone that did not fail', () => {
    const passed = broken({ seed: 5, settings, faults: [] });
    expect(shrink(passed, { run: broken })).toBe(passed);
  });
});

describe('a replay file', () => {
  it('repeats the run exactly, also after its way through JSON', { timeout: 60_000 }, () => {
    const first = runSeed({ seed: 8 });
    const replay = JSON.parse(JSON.stringify(replayOf(first, 'as drawn')));
    const again = runSeed({ seed: 8, settings: replay.settings, faults: replay.faults });
    expect(again.digest).toBe(first.digest);
    expect(again.events).toBe(first.events);
  });
});
