import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { play, turn } from './arbitrary.ts';
import { Driver } from './driver.ts';
import { dump } from './dump.ts';

const turns = fc.array(turn, { minLength: 1, maxLength: 25 });

describe('properties', () => {
  test('a machine loaded from its image behaves as the one that wrote it', () => {
    fc.assert(
      fc.property(turns, (list) => {
        const driver = new Driver();
        let twin: Driver | undefined;
        const incarnations: number[] = [];
        for (const one of list) {
          const same = [...incarnations];
          play(driver, incarnations, one);
          if (twin !== undefined) {
            twin.time = driver.time - one.afterMs;
            play(twin, same, one);
            expect(dump(twin)).toEqual(dump(driver));
            expect(twin.outcomes).toEqual(driver.outcomes);
            expect(twin.story()).toEqual(driver.story());
            expect(new Map([...twin.image].sort())).toEqual(new Map([...driver.image].sort()));
          }
          driver.outcomes.length = 0;
          driver.transactions.length = 0;
          if (twin !== undefined) {
            twin.outcomes.length = 0;
            twin.transactions.length = 0;
          }
          if (one.reload && driver.image.size > 0) {
            twin = driver.reloaded();
            expect(dump(twin)).toEqual(dump(driver));
          }
        }
      }),
      { numRuns: 50 },
    );
  }, 60_000);
});
