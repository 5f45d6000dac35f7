import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contains, isEmptyRange, type KeyRange } from '../src/key-range.ts';
import { IntervalTree } from '../src/watch/interval-tree.ts';

const key = fc.string({ unit: fc.constantFrom('\0', 'a', 'b', '\xff'), maxLength: 3 });
const range = fc
  .record({ from: key, to: fc.option(key, { nil: undefined }), single: fc.constant(false) })
  .filter((candidate) => !isEmptyRange(candidate));
const step = fc.record({ remove: fc.boolean(), at: fc.nat(), range });

it('finds the same items as looking at every range, whatever was inserted and removed', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.array(key, { maxLength: 20 }),
      (steps, keys) => {
        const tree = new IntervalTree<number>();
        const model: { range: KeyRange; item: number }[] = [];
        steps.forEach((next, item) => {
          if (next.remove && model.length > 0) {
            const [gone] = model.splice(next.at % model.length, 1);
            expect(tree.remove(gone!.range.from, gone!.range.to, gone!.item)).toBe(true);
            expect(tree.remove(gone!.range.from, gone!.range.to, gone!.item)).toBe(false);
          } else {
            tree.insert(next.range.from, next.range.to, item);
            model.push({ range: next.range, item });
          }
        });
        expect(tree.size).toBe(model.length);
        for (const at of keys) {
          const found: number[] = [];
          tree.find(at, (item) => found.push(item));
          const expected = model.filter((one) => contains(one.range, at)).map((one) => one.item);
          expect(found.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
        }
        const all: number[] = [];
        tree.forEach((item) => {
          all.push(item);
        });
        expect(all.sort((a, b) => a - b)).toEqual(
          model.map(({ item }) => item).sort((a, b) => a - b),
        );
      },
    ),
  );
});

it('stays shallow when ranges are inserted in order', () => {
  const tree = new IntervalTree<number>();
  const name = (at: number) => String(at).padStart(6, '0');
  for (let at = 0; at < 20_000; at++) tree.insert(name(at), name(at + 2), at);
  const found: number[] = [];
  tree.find(name(777), (item) => found.push(item));
  expect(found.sort((a, b) => a - b)).toEqual([776, 777]);
});
