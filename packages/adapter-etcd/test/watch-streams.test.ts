import { Metadata } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WatchCreateRequest, WatchRequest, WatchResponse } from '../src/gen/rpc.ts';
import { KV, WATCH } from '../src/services/api.ts';
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
const prefix = { key: b('a'), rangeEnd: b('b') };

describe('large and slow', () => {
  const value = Buffer.alloc(60_000, 'v');
  const sixty = Array.from({ length: 60 }, (_, at) => ({
    requestPut: {
      key: b(`a${at}`),
      value: value.subarray(0, 20_000),
      lease: 0n,
      prevKv: false,
      ignoreValue: false,
      ignoreLease: false,
    },
  }));

  it('cuts a large response into fragments only when asked', async () => {
    await created(prefix);
    await created({ ...prefix, fragment: true, prevKv: true });
    await door.call(KV.txn, { compare: [], success: sixty, failure: [] });
    await door.call(KV.txn, { compare: [], success: sixty, failure: [] });
    expect((await stream.next()).events.length).toBe(60);
    expect((await stream.next()).fragment).toBe(false);
    expect((await stream.next()).events.length).toBe(60);
    const part = await stream.next();
    expect([part.fragment, part.watchId]).toEqual([true, 1n]);
    const rest = await stream.next();
    expect([rest.fragment, part.events.length + rest.events.length]).toEqual([false, 60]);
    expect(rest.header).toEqual(part.header);
  });

  it('gives a client that stops reading the whole story once it reads again', async () => {
    await created(prefix);
    stream.raw.pause();
    const count = 400;
    for (let at = 0; at < count; at++) await door.call(KV.put, { key: b('a'), value });
    stream.raw.resume();
    const revisions: number[] = [];
    while (revisions.length < count) {
      const response = await stream.next();
      for (const { kv } of response.events) revisions.push(kv!.modRevision);
    }
    expect(revisions).toEqual(Array.from({ length: count }, (_, at) => at + 2));
  }, 20_000);
});

describe('a client that insists on a leader', () => {
  const metadata = (): Metadata => {
    const metadata = new Metadata();
    metadata.set('hasleader', 'true');
    return metadata;
  };

  it('is refused when there is none', async () => {
    door.replica.setContact(false);
    const refused = door.stream(WATCH.watch, metadata());
    expect(await refused.ended).toBe('14 etcdserver: no leader');
  });

  it('is cut off after three election timeouts without one', async () => {
    await door.close();
    door = await DoorFixture.open({ settings: { electionTimeoutMs: 50 } });
    const cut = door.stream(WATCH.watch, metadata());
    cut.send({
      createRequest: {
        ...(WATCH.watch.request.decode(new Uint8Array(0)) as object),
        key: b('a'),
        rangeEnd: b(''),
        filters: [],
        startRevision: 0,
        progressNotify: false,
        prevKv: false,
        watchId: 0n,
        fragment: false,
      },
    });
    await cut.next();
    door.replica.setContact(false);
    expect(await cut.ended).toBe('14 etcdserver: no leader');
  });
});
