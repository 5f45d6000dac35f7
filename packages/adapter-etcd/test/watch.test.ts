import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  WatchCreateRequest_FilterType as Filter,
  type WatchCreateRequest,
  type WatchRequest,
  type WatchResponse,
} from '../src/gen/rpc.ts';
import { KV, LEASE, WATCH } from '../src/services/api.ts';
import { b, DoorFixture, type TestStream } from './door-fixture.ts';

let door: DoorFixture;
let stream: TestStream<WatchRequest, WatchResponse>;

beforeEach(async () => {
  door = await DoorFixture.open({ settings: { watchProgressIntervalMs: 150 } });
  stream = door.stream(WATCH.watch);
});

afterEach(async () => {
  stream.cancel();
  await door.close();
});

const put = (key: string, value = '') => door.call(KV.put, { key: b(key), value: b(value) });
const del = (key: string, rangeEnd = '') =>
  door.call(KV.deleteRange, { key: b(key), rangeEnd: b(rangeEnd) });
const create = (fields: Partial<WatchCreateRequest>): void => {
  const defaults = {
    key: b(''),
    rangeEnd: b(''),
    startRevision: 0,
    progressNotify: false,
    filters: [],
    prevKv: false,
    watchId: 0n,
    fragment: false,
  };
  stream.send({ createRequest: { ...defaults, ...fields } });
};
const created = async (fields: Partial<WatchCreateRequest>): Promise<WatchResponse> => {
  create(fields);
  return await stream.next();
};
const cancel = (watchId: bigint): void => stream.send({ cancelRequest: { watchId } });
const progress = (): void => stream.send({ progressRequest: {} });
/** Events as `PUT key=value@revision` and `DELETE key@revision`. */
const told = (response: WatchResponse): string[] =>
  response.events.map(({ type, kv }) =>
    type === 0
      ? `PUT ${kv!.key}=${kv!.value}@${kv!.modRevision}`
      : `DELETE ${kv!.key}@${kv!.modRevision}`,
  );
const prefix = { key: b('a'), rangeEnd: b('b') };

describe('a watcher from now on', () => {
  it('is told at once at which revision it stands, then each revision in one response', async () => {
    await put('a', 'before');
    const response = await created(prefix);
    expect(response).toMatchObject({ created: true, watchId: 0n, header: { revision: 2 } });
    await put('a1', 'x');
    await put('b', 'outside');
    await door.call(KV.txn, {
      compare: [],
      failure: [],
      success: ['a3', 'a2'].map((key) => ({
        requestPut: {
          key: b(key),
          value: b(''),
          lease: 0n,
          prevKv: false,
          ignoreValue: false,
          ignoreLease: false,
        },
      })),
    });
    await del('a', 'b');
    const first = await stream.next();
    expect([told(first), first.header?.revision]).toEqual([['PUT a1=x@3'], 3]);
    expect(told(await stream.next())).toEqual(['PUT a3=@5', 'PUT a2=@5']);
    expect(told(await stream.next())).toEqual([
      'DELETE a@6',
      'DELETE a1@6',
      'DELETE a2@6',
      'DELETE a3@6',
    ]);
  });

  it('shows the pair before a change when asked', async () => {
    await created({ ...prefix, prevKv: true });
    await put('a', '1');
    await put('a', '2');
    await del('a');
    expect((await stream.next()).events[0]?.prevKv).toBeUndefined();
    expect((await stream.next()).events[0]?.prevKv).toMatchObject({ value: b('1') });
    const { kv, prevKv } = (await stream.next()).events[0]!;
    expect(prevKv).toMatchObject({ value: b('2'), version: 2 });
    expect(kv).toEqual({
      key: b('a'),
      createRevision: 0,
      modRevision: 4,
      version: 0,
      value: b(''),
      lease: 0n,
    });
  });

  it('leaves out what its filters name', async () => {
    await created({ ...prefix, filters: [Filter.NOPUT] });
    await created({ ...prefix, filters: [Filter.NODELETE] });
    await put('a', '1');
    await del('a');
    const puts = await stream.next();
    const deletes = await stream.next();
    expect([puts.watchId, told(puts)]).toEqual([1n, ['PUT a=1@2']]);
    expect([deletes.watchId, told(deletes)]).toEqual([0n, ['DELETE a@3']]);
  });

  it('sees the keys of an expired lease go in key order, in one revision', async () => {
    const { ID } = await door.call(LEASE.grant, { TTL: 60, ID: 77n });
    await door.call(KV.put, { key: b('a2'), lease: ID });
    await door.call(KV.put, { key: b('a1'), lease: ID });
    await created({ ...prefix, prevKv: true });
    await door.call(LEASE.revoke, { ID });
    const response = await stream.next();
    expect(told(response)).toEqual(['DELETE a1@4', 'DELETE a2@4']);
    expect(response.events[0]?.prevKv?.lease).toBe(77n);
  });
});

describe('a watcher from the past', () => {
  it('gets history first, with no gap to what happens meanwhile', async () => {
    for (let at = 0; at < 20; at++) await put('a', String(at));
    const expected = Array.from({ length: 40 }, (_, at) => `PUT a=${at}@${at + 2}`);
    create({ ...prefix, startRevision: 2 });
    for (let at = 20; at < 40; at++) void put('a', String(at));
    const response = await stream.next();
    expect(response.created).toBe(true);
    const got: string[] = [];
    while (got.length < 40) got.push(...told(await stream.next()));
    expect(got).toEqual(expected);
  });

  it('comes in pages of at most 1000 revisions', async () => {
    await Promise.all(Array.from({ length: 1500 }, () => put('a')));
    await created({ ...prefix, startRevision: 2 });
    const first = await stream.next();
    expect(first.events.length).toBe(1000);
    expect(first.header?.revision).toBe(1501);
    const second = await stream.next();
    expect(second.events.map(({ kv }) => kv?.modRevision)).toEqual(
      Array.from({ length: 500 }, (_, at) => at + 1002),
    );
  });

  it('reads values before and after from history when they are not live any more', async () => {
    await put('a', '1');
    await put('a', '2');
    await del('a');
    await created({ ...prefix, startRevision: 2, prevKv: true });
    const { events } = await stream.next();
    expect(
      events.map(({ kv, prevKv }) => [String(kv!.value), prevKv && String(prevKv.value)]),
    ).toEqual([
      ['1', undefined],
      ['2', '1'],
      ['', '2'],
    ]);
  });

  it('tells a key deleted and put again in one revision as live watchers hear it', async () => {
    await put('a1', 'old');
    await created({ ...prefix, prevKv: true });
    const requestPut = {
      key: b('a1'),
      value: b('new'),
      lease: 0n,
      prevKv: false,
      ignoreValue: false,
      ignoreLease: false,
    };
    const requestDeleteRange = { key: b('a'), rangeEnd: b('\0'), prevKv: false };
    const success = [{ requestDeleteRange }, { requestPut }];
    await door.call(KV.txn, { compare: [], failure: [], success });
    await door.call(KV.txn, {
      compare: [],
      failure: [],
      success: [{ requestPut }, { requestDeleteRange }],
    });
    const live = [await stream.next(), await stream.next()];
    await created({ ...prefix, startRevision: 3, prevKv: true });
    const { events } = await stream.next();
    expect(events).toEqual(live.flatMap((response) => response.events));
    const before = events.map(({ type, prevKv }) => [type, prevKv?.value.toString()]);
    expect(before).toEqual([
      [1, 'old'],
      [0, undefined],
      [0, 'new'],
      [1, 'new'],
    ]);
  });

  it('may start at the compacted revision, even at a delete, but not below', async () => {
    await put('a', '1');
    await del('a');
    await put('a', '2');
    await door.call(KV.compact, { revision: 3 });
    await created({ ...prefix, startRevision: 3 });
    expect(told(await stream.next())).toEqual(['DELETE a@3', 'PUT a=2@4']);
    await created({ ...prefix, startRevision: 2 });
    expect(await stream.next()).toMatchObject({
      watchId: 1n,
      canceled: true,
      created: false,
      compactRevision: 3,
      cancelReason: '',
      header: { revision: 0 },
    });
  });
});

describe('a watcher of the future', () => {
  it('is silent until its revision', async () => {
    await created({ ...prefix, startRevision: 4 });
    await put('a', '2');
    await put('a', '3');
    await put('a', '4');
    expect(told(await stream.next())).toEqual(['PUT a=4@4']);
  });
});

describe('ids and cancelling', () => {
  it('counts ids up, takes chosen ones and skips those in use', async () => {
    const ids = [];
    for (const watchId of [0n, 1n, 0n, 9n, 0n]) {
      ids.push((await created({ ...prefix, watchId })).watchId);
    }
    expect(ids).toEqual([0n, 1n, 2n, 9n, 3n]);
    expect(await created({ ...prefix, watchId: 9n })).toMatchObject({
      created: true,
      canceled: true,
      watchId: -1n,
      cancelReason: 'mvcc: duplicate watch ID provided on the WatchStream',
    });
  });

  it('refuses an empty range and a negative start, and the stream goes on', async () => {
    expect(await created({ key: b('b'), rangeEnd: b('a') })).toMatchObject({
      created: true,
      canceled: true,
      watchId: -1n,
      cancelReason: 'mvcc: watcher range is empty',
    });
    expect(await created({ key: b('b'), startRevision: -1 })).toMatchObject({
      canceled: true,
      cancelReason: 'etcdserver: mvcc: required revision has been compacted',
    });
    expect(await created(prefix)).toMatchObject({ canceled: false, watchId: 0n });
  });

  it('confirms a cancel, says nothing about unknown ids, and sends no more events', async () => {
    await created(prefix);
    await created({ key: b('a') });
    cancel(5n);
    cancel(0n);
    expect(await stream.next()).toMatchObject({ canceled: true, watchId: 0n, cancelReason: '' });
    await put('a', '1');
    expect((await stream.next()).watchId).toBe(1n);
    expect(await created({ ...prefix, watchId: 0n })).toMatchObject({ canceled: false });
  });

  it('goes on sending after the client has closed its half', async () => {
    await created(prefix);
    stream.raw.end();
    await put('a', '1');
    expect(told(await stream.next())).toEqual(['PUT a=1@2']);
  });
});

describe('progress', () => {
  it('is answered on request, after every event up to its revision', async () => {
    await created(prefix);
    for (let at = 0; at < 50; at++) void put('a', String(at));
    await put('zzz');
    progress();
    let events = 0;
    let response = await stream.next();
    while (response.watchId === 0n) {
      events += response.events.length;
      response = await stream.next();
    }
    expect(response).toMatchObject({ watchId: -1n, header: { revision: 52 }, events: [] });
    expect(events).toBe(50);
  });

  it('is not claimed while a watcher waits for the future', async () => {
    await created({ ...prefix, startRevision: 50 });
    progress();
    cancel(0n);
    expect(await stream.next()).toMatchObject({ canceled: true });
  });

  it('comes by timer to idle watchers that asked for it', async () => {
    await created({ ...prefix, progressNotify: true });
    await created(prefix);
    await put('zzz');
    let response = await stream.next();
    while (response.header?.revision !== 2) response = await stream.next();
    expect(response).toMatchObject({ watchId: 0n, events: [], canceled: false });
  });
});

describe('after events were skipped by a snapshot', () => {
  it('a watcher that waits for a later revision is told of nothing below it', async () => {
    await put('a', '2');
    await created({ ...prefix, startRevision: 5 });
    door.replica.skip(2, 2);
    progress();
    await put('a', '3');
    await put('a', '4');
    await put('a', '5');
    expect(told(await stream.next())).toEqual(['PUT a=5@5']);
  });

  it('goes on from history without gap or double', async () => {
    await created(prefix);
    await put('a', '1');
    door.replica.skip(2, 2);
    await put('a', '2');
    expect(told(await stream.next())).toEqual(['PUT a=1@2']);
    expect(told(await stream.next())).toEqual(['PUT a=2@3']);
  });
});
