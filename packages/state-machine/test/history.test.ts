import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HistoryReference } from '../src/index.ts';
import { Driver } from './driver.ts';
import { STORE, type Step } from './toy.ts';

const put = (key: string, value: string): Step => ({ do: 'put', in: 'store', key, value });
const remove = (key: string): Step => ({ do: 'delete', in: 'store', key });

/** The value that the image holds for a version. */
function textOf(driver: Driver, reference: HistoryReference): string {
  const row = driver.image.get(driver.machine.historyKey(reference));
  if (row === undefined) throw new Error(`no row for ${reference.key} at ${reference.revision}`);
  return Buffer.from(driver.machine.decodeHistory(reference, row).value as Uint8Array).toString();
}

function at(driver: Driver, revision: number, from = '', to?: string): string[] {
  const found: string[] = [];
  driver.machine.rangeAt(STORE, from, to, revision, (reference) => {
    found.push(`${reference.key}=${textOf(driver, reference)}`);
    return true;
  });
  return found;
}

function changes(driver: Driver, first: number, last = driver.machine.revision): string[] {
  const found: string[] = [];
  driver.machine.changesBetween(STORE, first, last, ({ key, revision, sub, live }) => {
    found.push(`${revision}.${sub} ${live ? 'put' : 'delete'} ${key}`);
    return true;
  });
  return found;
}

const historyRows = (driver: Driver) =>
  [...driver.image.keys()].filter((key) => key.startsWith('\0\x10')).length;

describe('history', () => {
  test('counts the revisions that changed it, each once, whatever else moved the counter', () => {
    const driver = new Driver();
    const own: number[] = [];
    for (let i = 0; i < 2500; i++) {
      driver.do({ do: 'put', in: 'tree', key: 'other', value: `${i}` });
      driver.do(put('a', `${i}`), put('b', `${i}`));
      own.push(driver.machine.revision);
    }
    const newest = (keep: number) => driver.machine.historyRevision(STORE, keep);
    const all = () => [1, 2, 511, 512, 513, 1024, 2000, 2499, 2500].map(newest);
    const expected = (kept: number) =>
      [1, 2, 511, 512, 513, 1024, 2000, 2499, 2500].map((n) => (n > kept ? 0 : own[2500 - n]));
    expect(all()).toEqual(expected(2500));
    expect(newest(2501)).toBe(0);
    driver.do({ do: 'compact', at: newest(1024) });
    while (driver.machine.compacting(STORE)) driver.do();
    expect(all()).toEqual(expected(1024));
    expect(at(driver, newest(1024))).toEqual(['a=1476', 'b=1476']);
    const reloaded = driver.reloaded().machine;
    expect(reloaded.historyRevision(STORE, 1024)).toBe(newest(1024));
    expect(reloaded.historyRevision(STORE, 1025)).toBe(0);
  });

  test('answers for every revision from the image', () => {
    const driver = new Driver();
    driver.do(put('a', '1'), put('b', '1'));
    driver.do(put('a', '2'));
    driver.do(remove('b'));
    driver.do(put('b', '3'));
    expect(at(driver, 1)).toEqual([]);
    expect(at(driver, 2)).toEqual(['a=1', 'b=1']);
    expect(at(driver, 3)).toEqual(['a=2', 'b=1']);
    expect(at(driver, 4)).toEqual(['a=2']);
    expect(at(driver, 5, 'b')).toEqual(['b=3']);
    expect(at(driver, 5, '', 'b')).toEqual(['a=2']);
    expect(changes(driver, 3)).toEqual(['3.0 put a', '4.0 delete b', '5.0 put b']);
  });

  test('gives the previous value of a change, and none of a creation', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    driver.do(put('a', '2'));
    driver.do(remove('a'));
    driver.do(put('a', '4'));
    const before = (revision: number) => driver.machine.versionBefore(STORE, 'a', revision);
    expect([2, 3, 4, 5].map((revision) => before(revision)?.revision)).toEqual([
      undefined,
      2,
      3,
      undefined,
    ]);
  });

  test('refuses a damaged row', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    const reference = { keyspace: STORE, key: 'a', revision: 2, sub: 0, live: true };
    const row = driver.image.get(driver.machine.historyKey(reference))!;
    row[row.length - 1]! ^= 1;
    expect(() => driver.machine.decodeHistory(reference, row)).toThrow('check');
  });
});

describe('compaction', () => {
  test('keeps the newest version at or below the revision', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    driver.do(put('a', '2'));
    driver.do(put('b', '1'));
    driver.do(put('a', '3'));
    driver.do({ do: 'compact', at: 4 });
    expect(driver.machine.compactedRevision(STORE)).toBe(4);
    expect(at(driver, 4)).toEqual(['a=2', 'b=1']);
    expect(at(driver, 5)).toEqual(['a=3', 'b=1']);
    expect(historyRows(driver)).toBe(3);
    expect(changes(driver, 4)).toEqual(['4.0 put b', '5.0 put a']);
  });

  test('keeps a tombstone exactly at the revision for a watch that starts there', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    driver.do(remove('a'));
    driver.do(put('b', '1'));
    driver.do({ do: 'compact', at: 3 });
    expect(changes(driver, 3)).toEqual(['3.0 delete a', '4.0 put b']);
    expect(changes(driver.reloaded(), 3)).toEqual(['3.0 delete a', '4.0 put b']);
    driver.do({ do: 'compact', at: 4 });
    expect(changes(driver, 4)).toEqual(['4.0 put b']);
    expect(historyRows(driver)).toBe(1);
  });

  test('drops a tombstone older than the revision, and with it the key', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    driver.do(remove('a'));
    driver.do(put('b', '1'));
    driver.do({ do: 'compact', at: 4 });
    expect(historyRows(driver)).toBe(1);
    driver.do(put('a', '2'));
    expect(at(driver, 5)).toEqual(['a=2', 'b=1']);
  });

  test('drops what a version at exactly the revision replaced, also if kept before', () => {
    const driver = new Driver();
    driver.do(put('a', '1'));
    driver.do(put('b', '1'));
    driver.do({ do: 'compact', at: 3 });
    driver.do(put('a', '2'));
    driver.do({ do: 'compact', at: 4 });
    expect(historyRows(driver)).toBe(2);
    expect(driver.machine.versionBefore(STORE, 'a', 4)).toBeUndefined();
    expect(at(driver, 4)).toEqual(['a=2', 'b=1']);
  });

  test('works in bounded steps that a reloaded member continues at the same place', () => {
    const driver = new Driver();
    for (let i = 0; i < 2500; i++) driver.do(put(`k${i % 7}`, String(i)));
    driver.do({ do: 'compact', at: 2400 });
    const twin = driver.reloaded();
    const left = historyRows(driver);
    expect(left).toBeGreaterThan(1000);
    expect(twin.machine.compacting(STORE)).toBe(true);
    expect(twin.machine.backgroundPending).toBe(true);
    for (let entry = 0; entry < 3; entry++) {
      for (const one of [driver, twin]) one.tick(1);
      expect(twin.machine.stateHash()).toBe(driver.machine.stateHash());
      expect(twin.machine.liveBytes).toBe(driver.machine.liveBytes);
    }
    expect(historyRows(driver)).toBe(2501 - 2400 + 7);
    expect(driver.machine.compacting(STORE)).toBe(false);
    expect(driver.machine.backgroundPending).toBe(false);
    expect(twin.image).toEqual(driver.image);
  });

  test('goes on inside of a revision after a reload, and hides what it has yet to drop', () => {
    const driver = new Driver();
    const keys = Array.from({ length: 1500 }, (_, at) => `k${String(at).padStart(4, '0')}`);
    driver.do(...keys.map((key) => put(key, '1')));
    driver.do(put('k1400', '2'), put('k0001', '2'));
    driver.do({ do: 'compact', at: 3 });
    const twin = driver.reloaded();
    for (const one of [driver, twin]) {
      expect(one.machine.compacting(STORE)).toBe(true);
      expect(one.machine.versionBefore(STORE, 'k1400', 3)).toBeUndefined();
      one.tick(1);
      expect(one.machine.compacting(STORE)).toBe(false);
      expect(historyRows(one)).toBe(1500);
    }
    expect(twin.image).toEqual(driver.image);
  });

  test('never changes what can still be read: brute force over every revision', () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.tuple(key, fc.string({ maxLength: 3 })).map(([k, v]) => put(k, v)),
      },
      key.map(remove),
      fc.constant<Step>({ do: 'delete-range', in: 'store', from: 'a', to: 'c' }),
      fc.integer({ min: 1, max: 30 }).map<Step>((revision) => ({ do: 'compact', at: revision })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const driver = new Driver();
        const { machine } = driver;
        const snapshots = new Map<number, string[]>([[1, []]]);
        const log: string[] = [];
        for (const one of steps) {
          driver.do(one);
          const now: string[] = [];
          machine.range(STORE, '', undefined, (name, { value }) => {
            now.push(`${name}=${Buffer.from(value)}`);
            return true;
          });
          snapshots.set(machine.revision, now);
          for (const event of driver.events()) {
            if (event.kind !== 'change') continue;
            const kind = event.record === undefined ? 'delete' : 'put';
            log.push(`${event.revision}.${event.sub} ${kind} ${event.key}`);
          }
        }
        const compacted = machine.compactedRevision(STORE);
        for (const [revision, expected] of snapshots) {
          if (revision >= compacted) expect(at(driver, revision)).toEqual(expected);
        }
        const rest = log.filter((line) => Number.parseInt(line, 10) >= compacted);
        expect(changes(driver, compacted)).toEqual(rest);
      }),
      { numRuns: 100 },
    );
  });
});
