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

  it('repairs the damage that bit rot does to one member', { timeout: 120_000 }, () => {
    let [damaged, setAside] = [0, 0];
    for (let seed = 1; seed <= 12; seed++) {
      const { violation, counts, marks } = runSeed({ seed, kinds: ['bit rot', 'power loss'] });
      const replay = `npm run simulate -- --seed ${seed} --only 'bit rot,power loss' --verbose`;
      expect(violation, replay).toBe(undefined);
      damaged += counts.get('log opened damaged') ?? 0;
      setAside += marks.get('image set aside') ?? 0;
    }
    expect(damaged).toBeGreaterThan(0);
    expect(setAside).toBeGreaterThan(0);
  });

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
