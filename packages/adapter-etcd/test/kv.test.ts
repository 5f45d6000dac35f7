import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyValue } from '../src/gen/kv.ts';
import {
  RangeRequest_SortOrder as Order,
  RangeRequest_SortTarget as Target,
} from '../src/gen/rpc.ts';
import { AUTH, CLUSTER, KV, LEASE, MAINTENANCE } from '../src/services/api.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeEach(async () => {
  door = await DoorFixture.open();
});

afterEach(() => door.close());

const put = (key: string, value = '') => door.call(KV.put, { key: b(key), value: b(value) });
const keys = (kvs: readonly KeyValue[]) => kvs.map((kv) => kv.key.toString());

describe('revisions and headers', () => {
  it('starts an empty store at revision 1', async () => {
    const { header, kvs, count } = await door.call(KV.range, { key: b('a') });
    expect(header).toEqual({
      clusterId: 0x1234567890abcdefn,
      memberId: 0xfeedn,
      revision: 1,
      raftTerm: expect.any(Number),
    });
    expect([kvs, count]).toEqual([[], 0]);
  });

  it('gives each put the next revision and counts versions within a life of the key', async () => {
    expect((await put('a', '1')).header?.revision).toBe(2);
    expect((await put('a', '2')).header?.revision).toBe(3);
    const { kvs } = await door.call(KV.range, { key: b('a') });
    expect(kvs).toMatchObject([{ createRevision: 2, modRevision: 3, version: 2, lease: 0n }]);
    await door.call(KV.deleteRange, { key: b('a') });
    await put('a', '3');
    const again = await door.call(KV.range, { key: b('a') });
    expect(again.kvs).toMatchObject([{ createRevision: 5, modRevision: 5, version: 1 }]);
  });

  it('takes no revision for deleting nothing', async () => {
    await put('a');
    const { header, deleted } = await door.call(KV.deleteRange, { key: b('zzz') });
    expect([header?.revision, deleted]).toEqual([2, 0]);
  });
});

describe('put', () => {
  it('returns the previous pair only when asked and only when there was one', async () => {
    const first = await door.call(KV.put, { key: b('a'), value: b('1'), prevKv: true });
    expect(first.prevKv).toBeUndefined();
    const second = await door.call(KV.put, { key: b('a'), value: b('2'), prevKv: true });
    expect(second.prevKv).toMatchObject({ value: b('1'), modRevision: 2 });
    expect((await put('a', '3')).prevKv).toBeUndefined();
  });

  it('keeps value or lease when told to ignore them', async () => {
    const { ID } = await door.call(LEASE.grant, { TTL: 60 });
    await door.call(KV.put, { key: b('a'), value: b('1'), lease: ID });
    await door.call(KV.put, { key: b('a'), value: b('2'), ignoreLease: true });
    await door.call(KV.put, { key: b('a'), ignoreValue: true, ignoreLease: true });
    const { kvs } = await door.call(KV.range, { key: b('a') });
    expect(kvs).toMatchObject([{ value: b('2'), lease: ID, version: 3 }]);
    await door.call(KV.put, { key: b('a'), ignoreValue: true });
    const after = await door.call(KV.range, { key: b('a') });
    expect(after.kvs).toMatchObject([{ value: b('2'), lease: 0n, version: 4 }]);
  });

  it.each([
    ['an empty key', {}, '3 etcdserver: key is not provided'],
    [
      'a value beside ignore_value',
      { key: b('a'), value: b('x'), ignoreValue: true },
      '3 etcdserver: value is provided',
    ],
    [
      'a lease beside ignore_lease',
      { key: b('a'), lease: 5n, ignoreLease: true },
      '3 etcdserver: lease is provided',
    ],
    ['ignore_value of no key', { key: b('a'), ignoreValue: true }, '3 etcdserver: key not found'],
    ['an unknown lease', { key: b('a'), lease: 5n }, '5 etcdserver: requested lease not found'],
    [
      'a value of 1.5 MiB',
      { key: b('a'), value: Buffer.alloc(1572864) },
      '3 etcdserver: request is too large',
    ],
  ])('refuses %s', async (_name, request, error) => {
    expect(await door.refusal(KV.put, request)).toBe(error);
    expect((await door.call(KV.range, { key: b('q') })).header?.revision).toBe(1);
  });
});

describe('range', () => {
  beforeEach(async () => {
    for (const key of ['a', 'b', 'ba', 'bb', 'c']) await put(key, `v${key}`);
    await put('b', 'newer');
  });

  it('reads a prefix in key order, and everything from a key on', async () => {
    const prefix = await door.call(KV.range, { key: b('b'), rangeEnd: b('c') });
    expect(keys(prefix.kvs)).toEqual(['b', 'ba', 'bb']);
    const from = await door.call(KV.range, { key: b('bb'), rangeEnd: b('\0') });
    expect(keys(from.kvs)).toEqual(['bb', 'c']);
    const all = await door.call(KV.range, { key: b('\0'), rangeEnd: b('\0') });
    expect(all.count).toBe(5);
    const none = await door.call(KV.range, { key: b('b'), rangeEnd: b('a') });
    expect([none.count, none.kvs]).toEqual([0, []]);
  });

  it('says that a limit cut keys off, and counts them all the same', async () => {
    const all = { key: b('a'), rangeEnd: b('z') };
    const page = await door.call(KV.range, { ...all, limit: 2 });
    expect([keys(page.kvs), page.more, page.count]).toEqual([['a', 'b'], true, 5]);
    const whole = await door.call(KV.range, { ...all, limit: 5 });
    expect([whole.kvs.length, whole.more]).toEqual([5, false]);
    const count = await door.call(KV.range, { ...all, countOnly: true, limit: 1 });
    expect([count.kvs, count.more, count.count]).toEqual([[], false, 5]);
  });

  it('leaves values out when only keys are asked for', async () => {
    const { kvs } = await door.call(KV.range, { key: b('a'), keysOnly: true });
    expect(kvs).toMatchObject([{ value: b(''), modRevision: 2, version: 1 }]);
  });

  it('sorts before it limits', async () => {
    const all = { key: b('a'), rangeEnd: b('z') };
    const sorted = async (sortTarget: number, sortOrder: number, limit = 0) =>
      keys((await door.call(KV.range, { ...all, sortTarget, sortOrder, limit } as object)).kvs);
    expect(await sorted(Target.KEY, Order.DESCEND)).toEqual(['c', 'bb', 'ba', 'b', 'a']);
    expect(await sorted(Target.MOD, Order.DESCEND, 2)).toEqual(['b', 'c']);
    expect(await sorted(Target.CREATE, Order.NONE, 1)).toEqual(['a']);
    expect(await sorted(Target.VERSION, Order.DESCEND, 1)).toEqual(['b']);
    expect(await sorted(Target.VALUE, Order.ASCEND, 1)).toEqual(['b']);
  });

  it('filters by revision bounds before the limit', async () => {
    const all = { key: b('a'), rangeEnd: b('z') };
    const late = await door.call(KV.range, { ...all, minModRevision: 5 });
    expect(keys(late.kvs)).toEqual(['b', 'bb', 'c']);
    const created = await door.call(KV.range, { ...all, maxCreateRevision: 3, limit: 1 });
    expect([keys(created.kvs), created.more, created.count]).toEqual([['a'], true, 5]);
  });

  it('reads an old revision from history, with the present one in the header', async () => {
    await door.call(KV.deleteRange, { key: b('a'), rangeEnd: b('\0') });
    const old = await door.call(KV.range, { key: b('a'), rangeEnd: b('c'), revision: 4 });
    expect(old.header?.revision).toBe(8);
    expect(old.kvs.map((kv) => kv.value.toString())).toEqual(['va', 'vb', 'vba']);
    const newest = { sortOrder: Order.DESCEND, sortTarget: Target.CREATE };
    const page = await door.call(KV.range, {
      key: b('a'),
      rangeEnd: b('z'),
      revision: 7,
      limit: 2,
      ...newest,
    });
    expect([keys(page.kvs), page.more, page.count]).toEqual([['c', 'bb'], true, 5]);
  });

  it.each([
    ['no key', {}, '3 etcdserver: key is not provided'],
    [
      'a future revision',
      { key: b('a'), revision: 100 },
      '11 etcdserver: mvcc: required revision is a future revision',
    ],
    ['an unknown order', { key: b('a'), sortOrder: 9 }, '3 etcdserver: invalid sort option'],
    ['an unknown target', { key: b('a'), sortTarget: 9 }, '3 etcdserver: invalid sort option'],
  ])('refuses %s', async (_name, request, error) => {
    expect(await door.refusal(KV.range, request as object)).toBe(error);
  });
});

describe('delete range', () => {
  it('deletes in one revision and returns what was there in key order', async () => {
    for (const key of ['c', 'a', 'b']) await put(key, key);
    const range = { key: b('a'), rangeEnd: b('c'), prevKv: true };
    const { header, deleted, prevKvs } = await door.call(KV.deleteRange, range);
    expect([header?.revision, deleted, keys(prevKvs)]).toEqual([5, 2, ['a', 'b']]);
    expect(await door.refusal(KV.deleteRange, {})).toBe('3 etcdserver: key is not provided');
  });
});

describe('compaction', () => {
  const compact = (revision: number) => door.refusal(KV.compact, { revision });
  const at = (revision: number) => door.refusal(KV.range, { key: b('a'), revision });
  const compacted = '11 etcdserver: mvcc: required revision has been compacted';
  const future = '11 etcdserver: mvcc: required revision is a future revision';

  it('accepts revision 1 of a fresh store, and refuses what is compacted or to come', async () => {
    expect(await compact(0)).toBe(compacted);
    expect(await compact(-3)).toBe(compacted);
    expect(await compact(1)).toBe('no error');
    expect(await compact(1)).toBe(compacted);
    expect(await compact(2)).toBe(future);
  });

  it('keeps the compacted revision readable and drops what is below', async () => {
    for (const value of ['1', '2', '3']) await put('a', value);
    expect(await compact(3)).toBe('no error');
    expect(await at(2)).toBe(compacted);
    const kept = await door.call(KV.range, { key: b('a'), revision: 3 });
    expect(kept.kvs[0]?.value.toString()).toBe('2');
    expect((await door.call(KV.range, { key: b('a') })).header?.revision).toBe(4);
  });
});

describe('the rest of the services', () => {
  it('lists its member without a revision in the header', async () => {
    const { header, members } = await door.call(CLUSTER.memberList, { linearizable: true });
    expect(header?.revision).toBe(0);
    expect(members).toMatchObject([{ ID: 0xfeedn, peerURLs: ['http://127.0.0.1:2380'] }]);
  });

  it('reports a version clients can parse and itself as leader', async () => {
    const status = await door.call(MAINTENANCE.status);
    expect(status.version).toMatch(/^3\.6\.\d+$/);
    expect([status.leader, status.header?.memberId]).toEqual([0xfeedn, 0xfeedn]);
    expect(status.dbSize).toBeGreaterThan(0);
    expect((await door.call(MAINTENANCE.alarm)).alarms).toEqual([]);
  });

  it('answers authentication in the words clients look for', async () => {
    expect(await door.refusal(AUTH.authenticate, { name: 'a', password: 'b' })).toBe(
      '9 etcdserver: authentication is not enabled',
    );
    expect(await door.call(AUTH.status)).toMatchObject({ enabled: false, authRevision: 1 });
  });

  it('answers every RPC of the API, if only that it is not supported', async () => {
    const unsupported = [...Object.values(AUTH).slice(4), MAINTENANCE.hash];
    for (const rpc of unsupported) {
      expect(await door.refusal(rpc as typeof CLUSTER.memberAdd)).toMatch(/^12 /);
    }
  });
});
