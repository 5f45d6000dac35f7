import type { LiveRecord } from '@lockstep/state-machine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScanIndex, scanHash } from '../src/scan.ts';

const RECORD = {} as LiveRecord;
const add = (index: ScanIndex, key: string) => index.changed(key, undefined, RECORD);
const remove = (index: ScanIndex, key: string) => index.changed(key, RECORD, undefined);

function walk(index: ScanIndex, count: number): string[] {
  const keys: string[] = [];
  let from = 0;
  do {
    const page = index.page(from, count);
    keys.push(...page.keys);
    from = page.next;
  } while (from !== 0);
  return keys;
}

describe('the scan index', () => {
  it('visits every key once in an order that its history does not change', () => {
    const keys = fc.uniqueArray(fc.string(), { maxLength: 500 });
    fc.assert(
      fc.property(keys, fc.uniqueArray(fc.string()), fc.integer({ min: 1, max: 50 }), (a, b, n) => {
        const plain = new ScanIndex();
        for (const key of a) add(plain, key);
        const detour = new ScanIndex();
        const extra = b.filter((key) => !a.includes(key));
        for (const key of extra) add(detour, key);
        for (const key of [...a].reverse()) add(detour, key);
        for (const key of extra) remove(detour, key);
        expect(walk(plain, n)).toEqual(walk(detour, 10));
        expect(walk(plain, n).sort()).toEqual([...a].sort());
      }),
      { numRuns: 50 },
    );
  });

  it('misses no key that stays while others come and go between pages', () => {
    const index = new ScanIndex();
    const stays = Array.from({ length: 2000 }, (_, i) => `stays-${i}`);
    for (const key of stays) add(index, key);
    const seen = new Set<string>();
    let from = 0;
    let turn = 0;
    do {
      const page = index.page(from, 10);
      for (const key of page.keys) seen.add(key);
      from = page.next;
      for (let i = 0; i < 20; i++) add(index, `comes-${turn}-${i}`);
      if (turn > 0) for (let i = 0; i < 20; i++) remove(index, `comes-${turn - 1}-${i}`);
      turn++;
    } while (from !== 0);
    expect(stays.filter((key) => !seen.has(key))).toEqual([]);
  });

  it('has a hash that never changes: cursors outlive versions', () => {
    expect(['', 'a', 'lock:order:7'].map(scanHash)).toMatchInlineSnapshot(`
      [
        167237563235333,
        240165581794957,
        18842776325470,
      ]
    `);
  });

  it('gives more keys from any place on than a call can have arguments', () => {
    const index = new ScanIndex();
    for (let i = 0; i < 300_000; i++) add(index, `${i}`);
    const keys = index.round(2 ** 48 - 1, 299_999);
    expect(new Set(keys).size).toBe(299_999);
    expect(index.round(2 ** 47, 400_000).length).toBe(300_000);
  });

  it('empties and fills again', () => {
    const index = new ScanIndex();
    for (let i = 0; i < 500; i++) add(index, `${i}`);
    index.cleared();
    expect(walk(index, 10)).toEqual([]);
    expect(index.choose(5)).toBeUndefined();
    add(index, 'x');
    expect(index.choose(2 ** 48 - 1)).toBe('x');
  });
});
