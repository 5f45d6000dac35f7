import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Compare, RequestOp } from '../src/gen/rpc.ts';
import { Compare_CompareResult, Compare_CompareTarget } from '../src/gen/rpc.ts';
import { checkTxn } from '../src/request.ts';
import { KV } from '../src/services/api.ts';
import { b, DoorFixture } from './door-fixture.ts';

const EMPTY = new Uint8Array(0);
const put = (key: string, value = '', more: object = {}): RequestOp => ({
  requestPut: { ...KV.put.request.decode(EMPTY), key: b(key), value: b(value), ...more },
});
const del = (key: string, rangeEnd = ''): RequestOp => ({
  requestDeleteRange: { key: b(key), rangeEnd: b(rangeEnd), prevKv: false },
});
const range = (key: string, more: object = {}): RequestOp => ({
  requestRange: { ...KV.range.request.decode(EMPTY), key: b(key), ...more },
});
const everything = { rangeEnd: Buffer.from([0]) };

/** Operations in transactions in transactions: each level within its limit, the product large. */
function nest(
  widths: readonly number[],
  leaf: (n: number) => RequestOp,
  compare: Compare[] = [],
): RequestOp[] {
  let n = 0;
  const level = (depth: number): RequestOp[] =>
    Array.from({ length: widths[depth]! }, () =>
      depth === widths.length - 1
        ? leaf(n++)
        : { requestTxn: { compare, success: level(depth + 1), failure: [] } },
    );
  return level(0);
}

const TOO_MANY = '3 etcdserver: too many operations in txn request';

describe('the budget of a transaction', () => {
  let door: DoorFixture;
  const refusal = (success: RequestOp[], compare: Compare[] = []) =>
    door.refusal(KV.txn, { compare, success });

  beforeAll(async () => {
    door = await DoorFixture.open();
    for (let i = 0; i < 20; i++) {
      await door.call(KV.txn, { success: nest([10, 10], (n) => put(`k/${i}/${n}`)) });
    }
    await door.call(KV.put, { key: b('large'), value: b('x'.repeat(1_000_000)) });
  });
  afterAll(() => door.close());

  it('bounds nested reads, which are answered from local state', async () => {
    const before = door.replica.state.appliedIndex;
    expect(await refusal(nest([30, 30], () => range('k', { rangeEnd: b('l') })))).toBe(TOO_MANY);
    expect(await refusal(nest([30, 30], () => range('large')))).toBe(TOO_MANY);
    expect(door.replica.state.appliedIndex).toBe(before);
    expect(await refusal(nest([6, 6], () => range('k', { rangeEnd: b('l') })))).toBe('no error');
  });

  it('bounds reads beside a write, and then nothing is written', async () => {
    const before = door.replica.state.revision;
    const reads = nest([30, 30], () => range('k', { rangeEnd: b('l') }));
    expect(await refusal([put('written'), ...reads])).toBe(TOO_MANY);
    expect(await refusal([put('written'), ...nest([30, 30], () => range('large'))])).toBe(TOO_MANY);
    expect(door.replica.state.revision).toBe(before);
    const found = await door.call(KV.range, { key: b('written') });
    expect(found.count).toBe(0);
  });

  it('bounds reads of former revisions, whose values lie on disk', async () => {
    const { revision } = door.replica.state;
    await door.call(KV.put, { key: b('large'), value: b('y') });
    const reads = nest([60, 60], () => range('large', { revision }));
    expect(await refusal(reads)).toBe(TOO_MANY);
  });

  it('bounds comparisons over ranges', async () => {
    const compare = Array.from({ length: 40 }, () => ({
      result: Compare_CompareResult.GREATER,
      target: Compare_CompareTarget.VERSION,
      key: b('k'),
      rangeEnd: b('l'),
      version: 0,
    }));
    const success = nest([30, 1], (n) => put(`c${n}`), compare);
    expect(await refusal(success)).toBe(TOO_MANY);
    expect(await refusal(nest([2, 1], (n) => put(`c${n}`), compare))).toBe('no error');
  });

  it('bounds what is deleted and put', async () => {
    const before = door.replica.state.revision;
    const keepers = (n: number) => (n % 2 ? put('large', '', { ignoreValue: true }) : del(`z${n}`));
    expect(await refusal(nest([24, 24, 24], (n) => put(`many${n}`)))).toBe(TOO_MANY);
    expect(await refusal([put('x'), ...nest([100, 1], () => del('z', '\0'))])).toBe('no error');
    expect(door.replica.state.revision).toBe(before + 1);
    expect(await refusal(nest([60, 60], keepers))).not.toBe('no error');
  });

  it('is not what a plain request of one operation has', async () => {
    const { count } = await door.call(KV.range, { key: b('k'), ...everything });
    expect(count).toBeGreaterThan(2000);
  });
});

describe('the search for keys put twice', () => {
  const check = (success: RequestOp[]) => checkTxn({ compare: [], success, failure: [] }, 128);

  it('gives up a transaction that would take it seconds', () => {
    const mixed = (n: number) => (n % 2 ? put(`p${n}`) : del(`d${n}`));
    expect(check(nest([42, 43, 43], mixed))).toBe('TOO_MANY_OPERATIONS');
    expect(check(nest([20, 20, 20], mixed))).toBeUndefined();
  });

  it('finds a key among ranges that enclose, precede and follow it', () => {
    const ranges = [del('a', 'c'), del('b', 'z'), del('x', 'y'), del('zz', 'zzz')];
    for (const inside of ['a', 'b', 'm', 'xx', 'y', 'zz', 'zzy']) {
      expect(check([...ranges, put(inside)])).toBe('DUPLICATE_KEY');
    }
    for (const outside of ['A', 'z', 'zy', 'zzz', '~']) {
      expect(check([...ranges, put(outside)])).toBeUndefined();
    }
  });

  it('lets the branches of a nested transaction put one key, and nothing after them', () => {
    const requestTxn = { compare: [], success: [put('a')], failure: [put('a')] };
    expect(check([{ requestTxn }])).toBeUndefined();
    expect(check([{ requestTxn }, put('a')])).toBe('DUPLICATE_KEY');
    expect(check([{ requestTxn }, { requestTxn }])).toBe('DUPLICATE_KEY');
  });
});
