import { describe, expect, it } from 'vitest';
import { runSeed } from '../src/index.ts';

const SEEDS = Number(process.env.SIMULATOR_SEEDS ?? 60);
const GROUP = 10;

describe('a simulated cluster', () => {
  for (let first = 1; first <= SEEDS; first += GROUP) {
    it(`keeps every promise under the faults of seeds ${first} to ${first + GROUP - 1}`, {
      timeout: 120_000,
    }, () => {
      for (let seed = first; seed < first + GROUP; seed++) {
        const { violation } = runSeed({ seed });
        expect(violation, `npm run simulate -- --seed ${seed} --verbose`).toBe(undefined);
      }
    });
  }

  it('is one history for one seed', { timeout: 120_000 }, () => {
    for (const seed of [3, 8, 9]) {
      const [one, two] = [runSeed({ seed }), runSeed({ seed })];
      expect(two.digest).toBe(one.digest);
      expect(two.events).toBe(one.events);
      expect([...two.counts]).toEqual([...one.counts]);
    }
  });

  it('is another history for another seed', () => {
    expect(runSeed({ seed: 8 }).digest).not.toBe(runSeed({ seed: 9 }).digest);
  });
});
