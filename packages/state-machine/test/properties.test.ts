import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { play, turn } from './arbitrary.ts';
import { Driver } from './driver.ts';
import { dump } from './dump.ts';
import { ReferenceModel } from './model.ts';
import { PLAIN, type Step } from './toy.ts';

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

  test('records, tokens, expiry and queues are those of a plain reference model', () => {
    const key = fc.constantFrom('a', 'b');
    const owner = fc.constantFrom('ann', 'ben', 'cat');
    const px = fc.constantFrom(5, 50, 500);
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.record({ do: fc.constant('put'), in: fc.constant('plain'), key, value: owner, px }),
      fc.record({ do: fc.constant('put'), in: fc.constant('plain'), key, value: owner }),
      fc.record({ do: fc.constant('delete'), in: fc.constant('plain'), key }),
      fc.record({ do: fc.constant('acquire'), name: key, owner, px }),
      fc.record({
        do: fc.constant('acquire'),
        name: key,
        owner,
        px,
        wait: fc.constantFrom(0, 20, 200),
      }),
      fc.record({ do: fc.constant('release'), name: key, owner }),
      fc.record({ do: fc.constant('extend'), name: key, owner, px }),
    ) as fc.Arbitrary<Step>;
    const moves = fc.array(fc.tuple(fc.constantFrom(0, 1, 5, 30, 200), step), { maxLength: 40 });
    fc.assert(
      fc.property(moves, (list) => {
        const driver = new Driver();
        const model = new ReferenceModel(driver.time);
        for (const [afterMs, one] of list) {
          driver.time += afterMs;
          model.advance(driver.time);
          expect(driver.do(one)).toEqual([model.run(one)]);
          expect(driver.machine.revision).toBe(model.revision);
          for (const name of ['a', 'b']) {
            const record = driver.machine.get(PLAIN, name);
            const { token, deadline, value } = record ?? {};
            const seen = record && { value: Buffer.from(value!).toString(), token, deadline };
            expect(seen).toEqual(model.records.get(name));
          }
        }
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  test('revisions only grow, and so do the tokens of each key', () => {
    fc.assert(
      fc.property(turns, (list) => {
        const driver = new Driver();
        const tokens = new Map<string, number>();
        let last = { revision: 1, sub: -1 };
        for (const one of list) {
          play(driver, [], { ...one, hello: 0 });
          for (const { events } of driver.transactions.splice(0)) {
            for (const event of events) {
              if (event.kind !== 'change') continue;
              const { revision, sub, record, previous, keyspace, key } = event;
              const after =
                revision > last.revision || (revision === last.revision && sub > last.sub);
              expect(after).toBe(true);
              last = { revision, sub };
              if (record !== undefined && record.token !== previous?.token) {
                const name = `${keyspace.id} ${key}`;
                expect(record.token).toBeGreaterThan(tokens.get(name) ?? 0);
                tokens.set(name, record.token);
              }
            }
          }
        }
      }),
      { numRuns: 50 },
    );
  }, 60_000);
});
