import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type Compare,
  type RequestOp,
  Compare_CompareResult as Result,
  Compare_CompareTarget as Target,
  type TxnResponse,
} from '../src/gen/rpc.ts';
import { KV, LEASE } from '../src/services/api.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;
/** Tests share a door; each has keys of its own. */
let round = 0;
let k: (name: string) => Buffer;

beforeAll(async () => {
  door = await DoorFixture.open();
});
afterAll(() => door.close());
beforeEach(() => {
  round += 1;
  const prefix = `t${round}/`;
  k = (name) => b(prefix + name);
});

const put = (key: Buffer, value = '', more: object = {}): RequestOp => ({
  requestPut: {
    key,
    value: b(value),
    lease: 0n,
    prevKv: false,
    ignoreValue: false,
    ignoreLease: false,
    ...more,
  },
});
const del = (key: Buffer, rangeEnd = b('')): RequestOp => ({
  requestDeleteRange: { key, rangeEnd, prevKv: false },
});
const range = (key: Buffer, more: object = {}): RequestOp => ({
  requestRange: { ...KV.range.request.decode(new Uint8Array(0)), key, ...more },
});
const nested = (
  compare: Compare[],
  success: RequestOp[],
  failure: RequestOp[] = [],
): RequestOp => ({
  requestTxn: { compare, success, failure },
});
const compare = (key: Buffer, fields: Partial<Compare>): Compare => ({
  result: Result.EQUAL,
  target: Target.VERSION,
  key,
  rangeEnd: b(''),
  ...fields,
});
const absent = (key: Buffer) => compare(key, { target: Target.CREATE, createRevision: 0 });

const txn = (
  compares: Compare[],
  success: RequestOp[],
  failure: RequestOp[] = [],
): Promise<TxnResponse> => door.call(KV.txn, { compare: compares, success, failure });
const refusal = (success: RequestOp[], failure: RequestOp[] = []) =>
  door.refusal(KV.txn, { compare: [], success, failure });
const revision = async () => (await door.call(KV.range, { key: b('x') })).header!.revision;

describe('branches', () => {
  it('runs success when all compares hold, failure otherwise, in one revision', async () => {
    const before = await revision();
    const first = await txn([absent(k('a'))], [put(k('a'), '1'), put(k('b'), '2')]);
    expect([first.succeeded, first.header?.revision]).toEqual([true, before + 1]);
    const second = await txn([absent(k('a'))], [put(k('a'), '3')], [range(k('a'))]);
    expect([second.succeeded, second.header?.revision]).toEqual([false, before + 1]);
    expect(second.responses[0]?.responseRange?.kvs[0]?.value.toString()).toBe('1');
  });

  it('shows each read the writes before it, and inner headers the revision so far', async () => {
    const before = await revision();
    const { responses } = await txn(
      [],
      [range(k('a')), put(k('a'), 'x'), range(k('a')), del(k('zz')), del(k('yy'))],
    );
    expect(responses[0]?.responseRange?.kvs).toEqual([]);
    expect(responses[0]?.responseRange?.header).toEqual({
      clusterId: 0n,
      memberId: 0n,
      revision: before,
      raftTerm: 0,
    });
    expect(responses[1]?.responsePut?.header?.revision).toBe(before + 1);
    expect(responses[2]?.responseRange?.kvs[0]?.value.toString()).toBe('x');
    expect(responses[2]?.responseRange?.header?.revision).toBe(before + 1);
    expect(responses[3]?.responseDeleteRange).toMatchObject({ deleted: 0 });
  });

  it('takes no revision when its only write deletes nothing', async () => {
    const before = await revision();
    expect((await txn([], [del(k('a'))])).header?.revision).toBe(before);
    expect((await txn([], [])).succeeded).toBe(true);
    expect(await revision()).toBe(before);
  });

  it('reads an old revision inside a writing transaction', async () => {
    await door.call(KV.put, { key: k('a'), value: b('old') });
    const old = await revision();
    await door.call(KV.put, { key: k('a'), value: b('new') });
    const { responses } = await txn([], [put(k('b')), range(k('a'), { revision: old })]);
    expect(responses[1]?.responseRange?.kvs[0]?.value.toString()).toBe('old');
  });
});

describe('compares', () => {
  beforeEach(async () => {
    await door.call(KV.put, { key: k('one'), value: b('m') });
    await door.call(KV.put, { key: k('two'), value: b('m') });
    await door.call(KV.put, { key: k('two'), value: b('z') });
  });

  const holds = async (fields: Partial<Compare>, key = k('one')) =>
    (await txn([compare(key, fields)], [])).succeeded;

  it.each([
    ['version = 1', { version: 1 }, true],
    ['version > 1', { version: 1, result: Result.GREATER }, false],
    ['version < 2', { version: 2, result: Result.LESS }, true],
    ['version != 1', { version: 1, result: Result.NOT_EQUAL }, false],
    ['value = m', { target: Target.VALUE, value: b('m') }, true],
    ['value > a', { target: Target.VALUE, value: b('a'), result: Result.GREATER }, true],
    ['value < a', { target: Target.VALUE, value: b('a'), result: Result.LESS }, false],
    ['lease = 0', { target: Target.LEASE, lease: 0n }, true],
    ['a union that does not fit counts as zero', { target: Target.MOD, version: 7 }, false],
    ['an unknown operator holds', { version: 9, result: 17 }, true],
  ])('%s', async (_name, fields, expected) => {
    expect(await holds(fields as Partial<Compare>)).toBe(expected);
  });

  it('compares an absent key as zero, but never its value', async () => {
    expect(await holds({ target: Target.MOD, modRevision: 0 }, k('none'))).toBe(true);
    expect(await holds({ target: Target.VALUE, value: b('') }, k('none'))).toBe(false);
    const differs = { target: Target.VALUE, value: b('q'), result: Result.NOT_EQUAL };
    expect(await holds(differs, k('none'))).toBe(false);
  });

  it('wants every key of a range to satisfy', async () => {
    const all = { rangeEnd: k('zzz') };
    expect(await holds({ ...all, version: 3, result: Result.LESS })).toBe(true);
    expect(await holds({ ...all, version: 1 })).toBe(false);
    const empty = { rangeEnd: k('q'), version: 0 };
    expect(await holds(empty, k('p'))).toBe(true);
    expect(await holds({ ...empty, result: Result.GREATER }, k('p'))).toBe(false);
  });
});

describe('nested transactions', () => {
  it('evaluates every compare before anything is written', async () => {
    const inner = nested([absent(k('a'))], [put(k('b'), 'was absent')], [put(k('b'), 'was there')]);
    const { responses } = await txn([], [put(k('a'), '1'), inner]);
    expect(responses[1]?.responseTxn).toMatchObject({ succeeded: true });
    expect(responses[1]?.responseTxn?.header).toEqual({
      clusterId: 0n,
      memberId: 0n,
      revision: 0,
      raftTerm: 0,
    });
  });

  it('undoes nothing because it writes nothing when a branch is refused', async () => {
    const before = await revision();
    const inner = nested([], [put(k('b'), '', { lease: 999n })]);
    expect(await refusal([put(k('a'), '1'), inner])).toBe(
      '5 etcdserver: requested lease not found',
    );
    expect(await revision()).toBe(before);
  });
});

describe('a key deleted earlier in the same transaction', () => {
  const openEnded = () => del(k(''), b('\0'));

  it('may be put again, since an open-ended delete conflicts with nothing', async () => {
    await door.call(KV.put, { key: k('a'), value: b('old') });
    const before = await revision();
    expect(await refusal([openEnded(), put(k('a'), 'new')])).toBe('no error');
    const { kvs } = await door.call(KV.range, { key: k('a') });
    expect(kvs).toMatchObject([{ createRevision: before + 1, version: 1, value: b('new') }]);
    expect(await refusal([put(k('b')), openEnded()])).toBe('no error');
    expect((await door.call(KV.range, { key: k('b') })).count).toBe(0);
  });

  it('has no value or lease that a put could keep', async () => {
    await door.call(KV.put, { key: k('a'), value: b('old') });
    const keep = put(k('a'), '', { ignoreValue: true });
    expect(await refusal([openEnded(), keep])).toBe('3 etcdserver: key not found');
    expect(await refusal([nested([], [openEnded()]), keep])).toBe('3 etcdserver: key not found');
    expect((await door.call(KV.range, { key: k('a') })).count).toBe(1);
  });
});

describe('static checks', () => {
  const duplicate = '3 etcdserver: duplicate key given in txn request';
  const all = () => del(k(''), k('~'));

  it.each([
    ['two puts of a key', () => [put(k('a')), put(k('a'))], duplicate],
    ['a put of a deleted key', () => [del(k('a')), put(k('a'))], duplicate],
    ['a put inside a deleted range', () => [put(k('a')), all()], duplicate],
    ['two deletes of a key', () => [del(k('a')), del(k('a'))], 'no error'],
    ['a put outside and inside', () => [put(k('a')), nested([], [put(k('a'))])], duplicate],
    ['a delete outside, a put inside', () => [all(), nested([], [put(k('a'))])], duplicate],
    ['a put outside, a delete inside', () => [put(k('a')), nested([], [all()])], duplicate],
    [
      'puts in both branches of a nested one',
      () => [nested([], [put(k('a'))], [put(k('a'))])],
      'no error',
    ],
    [
      'puts in two nested ones',
      () => [nested([], [put(k('a'))]), nested([], [put(k('a'))])],
      duplicate,
    ],
    ['reads of a written key', () => [put(k('a')), range(k('a')), range(k('a'))], 'no error'],
    ['an empty operation', () => [{}], '3 etcdserver: key not found'],
    ['a put without key', () => [put(b(''))], '3 etcdserver: key is not provided'],
    [
      'too many operations',
      () => Array.from({ length: 129 }, (_, at) => put(k(String(at)))),
      '3 etcdserver: too many operations in txn request',
    ],
    [
      'too many operations for what the parent left',
      () => [
        ...Array.from({ length: 99 }, (_, at) => put(k(String(at)))),
        nested(
          [],
          Array.from({ length: 30 }, (_, at) => put(k(`n${at}`))),
        ),
      ],
      '3 etcdserver: too many operations in txn request',
    ],
  ])('%s', async (_name, operations, expected) => {
    expect(await refusal(operations())).toBe(expected);
  });

  it('lets both branches put the same key', async () => {
    expect(await refusal([put(k('a'))], [put(k('a'))])).toBe('no error');
  });

  it('refuses revisions that cannot be read, before anything is written', async () => {
    const before = await revision();
    const future = '11 etcdserver: mvcc: required revision is a future revision';
    expect(await refusal([put(k('a')), range(k('a'), { revision: before + 1 })])).toBe(future);
    expect(await refusal([put(k('a')), range(k('a'), { revision: -1 })])).toBe(
      '11 etcdserver: mvcc: required revision has been compacted',
    );
    expect(await refusal([range(k('a'), { revision: before + 5 })])).toBe(future);
    expect(await revision()).toBe(before);
  });
});

it('compares leases', async () => {
  const { ID } = await door.call(LEASE.grant, { TTL: 60 });
  await door.call(KV.put, { key: k('a'), lease: ID });
  const same = await txn([compare(k('a'), { target: Target.LEASE, lease: ID })], []);
  expect(same.succeeded).toBe(true);
});
