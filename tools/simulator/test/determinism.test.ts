import { describe, expect, it } from 'vitest';
import { type Defects, type RunResult, runSeed } from '../src/index.ts';

const SEEDS = 4;

/** Three members, scripts only, subscribers at the first member, members that go and come. */
function runScripts(seed: number, defects: Defects = {}): RunResult {
  return runSeed({
    seed,
    defects,
    kinds: ['kill', 'power loss', 'orderly stop', 'power loss everywhere', 'isolate'],
    replaysLog: true,
    adjust: (settings) => ({
      ...settings,
      members: 3,
      clockRates: [1, 1.05, 0.95],
      faultsMs: 6000,
      clientsPerNode: 0,
      doorClients: 0,
      scriptClients: 4,
      thinkMs: 20,
    }),
  });
}

describe('scripts that branch on what members could see differently', () => {
  it('PUBLISH, TIME, SPOP, pairs(), order of keys, errors: equal state everywhere and after replay', {
    timeout: 120_000,
  }, () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, counts } = runScripts(seed);
      expect(violation, `seed ${seed}`).toBe(undefined);
      for (const [name, count] of counts) seen.set(name, (seen.get(name) ?? 0) + count);
    }
    const count = (name: string): number => seen.get(name) ?? 0;
    expect(count('script publish and time: branch even')).toBeGreaterThan(10);
    expect(count('script publish and time: branch odd')).toBeGreaterThan(10);
    expect(count('script publish and time: branch heard')).toBe(0);
    expect(count('messages heard')).toBeGreaterThan(10);
    const traps = ['pairs', 'order of keys', 'error texts', 'spop'];
    const more = ['numbers, addresses and chance', 'what is left of a time to live'];
    for (const name of [...traps, ...more])
      expect(count(`script ${name}`), name).toBeGreaterThan(10);
    expect(count('starts')).toBeGreaterThan(4 * SEEDS);
  });

  it('differ at once when one member tells the time by a clock of its own', () => {
    const found = new Set<string | undefined>();
    for (let seed = 1; seed <= SEEDS && found.size === 0; seed++) {
      const { violation } = runScripts(seed, {
        machine: (machine, node) => {
          if (node !== 2) return machine;
          const begin = machine.begin.bind(machine);
          machine.begin = (index, term, entry, sink) =>
            begin(index, term, { ...entry, wall: entry.wall + 1 }, sink);
          return machine;
        },
      });
      if (violation !== undefined) found.add(violation.invariant);
    }
    expect([...found][0]).toMatch(/SameEvents|StateHash|ReloadEquality/);
  });
});
