import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KV, LEASE, WATCH } from '../src/services/api.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeEach(async () => {
  door = await DoorFixture.open();
});

afterEach(() => door.close());

const grant = (TTL: number, ID = 0n) => door.call(LEASE.grant, { TTL, ID });

describe('grant', () => {
  it('chooses a positive id and takes no revision', async () => {
    const { ID, TTL, header } = await grant(60);
    expect(ID).toBeGreaterThan(0n);
    expect([TTL, header?.revision]).toEqual([60, 1]);
    expect((await grant(60)).ID).not.toBe(ID);
  });

  it('takes any id a client chooses, once', async () => {
    expect((await grant(60, -5n)).ID).toBe(-5n);
    expect(await door.refusal(LEASE.grant, { TTL: 60, ID: -5n })).toBe(
      '9 etcdserver: lease already exists',
    );
  });

  it('raises a short TTL to one and a half election timeouts', async () => {
    for (const TTL of [1, 0, -7]) expect((await grant(TTL)).TTL).toBe(2);
  });

  it('refuses a TTL over nine billion seconds', async () => {
    const tooLarge = '11 etcdserver: too large lease TTL';
    expect(await door.refusal(LEASE.grant, { TTL: 9_000_000_001 })).toBe(tooLarge);
    expect((await grant(9_000_000_000)).TTL).toBe(9_000_000_000);
  });
});

describe('revoke', () => {
  it('deletes what hangs on the lease in one revision, and nothing takes none', async () => {
    const { ID } = await grant(60);
    for (const key of ['a', 'b']) await door.call(KV.put, { key: b(key), lease: ID });
    expect((await door.call(LEASE.revoke, { ID })).header?.revision).toBe(4);
    expect((await door.call(KV.range, { key: b('a'), rangeEnd: b('z') })).count).toBe(0);
    const empty = await grant(60);
    expect((await door.call(LEASE.revoke, { ID: empty.ID })).header?.revision).toBe(4);
    expect(await door.refusal(LEASE.revoke, { ID })).toBe(
      '5 etcdserver: requested lease not found',
    );
  });

  it('spares a key that was put again without the lease', async () => {
    const { ID } = await grant(60);
    await door.call(KV.put, { key: b('a'), lease: ID });
    await door.call(KV.put, { key: b('a') });
    await door.call(LEASE.revoke, { ID });
    expect((await door.call(KV.range, { key: b('a') })).count).toBe(1);
  });
});

describe('time to live', () => {
  it('truncates what is left and lists keys when asked', async () => {
    const { ID } = await grant(60);
    await door.call(KV.put, { key: b('a'), lease: ID });
    const answer = await door.call(LEASE.timeToLive, { ID, keys: true });
    expect(answer).toMatchObject({ ID, grantedTTL: 60, keys: [b('a')] });
    expect(answer.TTL).toBeGreaterThanOrEqual(58);
    expect(answer.TTL).toBeLessThan(60);
    expect((await door.call(LEASE.timeToLive, { ID })).keys).toEqual([]);
  });

  it('says -1 of a lease it does not know', async () => {
    expect(await door.call(LEASE.timeToLive, { ID: 9n })).toMatchObject({ TTL: -1, grantedTTL: 0 });
  });
});

describe('leases', () => {
  it('lists ids, soonest expiry first', async () => {
    await grant(300, 1n);
    await grant(100, 2n);
    await grant(200, 3n);
    const { leases } = await door.call(LEASE.leases);
    expect(leases.map(({ ID }) => ID)).toEqual([2n, 3n, 1n]);
  });
});

describe('keep-alive', () => {
  it('answers each request in order with the granted TTL, or 0 for an unknown lease', async () => {
    await grant(60, 1n);
    const stream = door.stream(LEASE.keepAlive);
    for (const ID of [1n, 99n, 1n]) stream.send({ ID });
    const answers = [await stream.next(), await stream.next(), await stream.next()];
    expect(answers.map(({ ID, TTL }) => [ID, TTL])).toEqual([
      [1n, 60],
      [99n, 0],
      [1n, 60],
    ]);
    stream.raw.end();
    expect(await stream.ended).toBe('0 OK');
  });
});

describe('expiry', () => {
  it('deletes the keys of a lease that nobody renews, and not before its time', async () => {
    const { ID } = await grant(2);
    const granted = performance.now();
    await door.call(KV.put, { key: b('a'), lease: ID });
    const watch = door.stream(WATCH.watch);
    const create = WATCH.watch.request.decode(new Uint8Array(0));
    const key = { key: b('a'), rangeEnd: b(''), startRevision: 0, filters: [], watchId: 0n };
    const flags = { prevKv: false, fragment: false, progressNotify: false };
    watch.send({ ...create, createRequest: { ...key, ...flags } });
    await watch.next();
    const { events } = await watch.next();
    expect(events).toMatchObject([{ type: 1, kv: { key: b('a') } }]);
    expect(performance.now() - granted).toBeGreaterThanOrEqual(1990);
    expect((await door.call(LEASE.leases)).leases).toEqual([]);
    watch.cancel();
  });
});
