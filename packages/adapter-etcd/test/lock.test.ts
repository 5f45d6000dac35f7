import { connect, createServer, type Socket } from 'node:net';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listEtcdLocks } from '../src/index.ts';
import { ELECTION, KV, LEASE, LOCK } from '../src/services/api.ts';
import { encodeMessage } from '../src/services/rpc.ts';
import { b, DoorFixture } from './door-fixture.ts';

let door: DoorFixture;

beforeEach(async () => {
  door = await DoorFixture.open();
  for (const ID of [0xan, 0xbn, 0xcn]) await door.call(LEASE.grant, { TTL: 60, ID });
});

afterEach(() => door.close());

const lock = (lease: bigint) => door.call(LOCK.lock, { name: b('job'), lease });
const unlock = (key: Buffer) => door.call(LOCK.unlock, { key });
/** Runs once the waiters that were started before it have queued. */
const queued = async (count: number): Promise<void> => {
  const range = { key: b('job/'), rangeEnd: b('job0'), countOnly: true };
  while ((await door.call(KV.range, range)).count < count);
};

describe('the lock service', () => {
  it('names the key after the lease, and answers the holder again at once', async () => {
    expect((await lock(0xan)).key.toString()).toBe('job/a');
    expect((await lock(0xan)).key.toString()).toBe('job/a');
  });

  it('hands over in the order of arrival, one at a time', async () => {
    const order: string[] = [];
    const first = await lock(0xan);
    const second = lock(0xbn).then(({ key }) => order.push(key.toString()));
    await queued(2);
    const third = lock(0xcn).then(({ key }) => order.push(key.toString()));
    await queued(3);
    await unlock(first.key);
    await second;
    expect(order).toEqual(['job/b']);
    await unlock(b('job/b'));
    await third;
    expect(order).toEqual(['job/b', 'job/c']);
  });

  it('passes the lock on when the lease of its holder ends', async () => {
    await lock(0xan);
    const second = lock(0xbn);
    await queued(2);
    await door.call(LEASE.revoke, { ID: 0xan });
    expect((await second).key.toString()).toBe('job/b');
  });

  it('tells a waiter whose own lease ends that its session is over', async () => {
    await lock(0xan);
    const second = door.refusal(LOCK.lock, { name: b('job'), lease: 0xbn });
    await queued(2);
    await door.call(LEASE.revoke, { ID: 0xbn });
    expect(await second).toBe('2 mutex: session is expired');
  });

  it('skips a waiter in the middle that is gone', async () => {
    const first = await lock(0xan);
    const second = door.refusal(LOCK.lock, { name: b('job'), lease: 0xbn });
    await queued(2);
    const third = lock(0xcn);
    await queued(3);
    await door.call(LEASE.revoke, { ID: 0xbn });
    await second;
    await unlock(first.key);
    expect((await third).key.toString()).toBe('job/c');
  });

  it('takes the key of a client that gives up out of the queue', async () => {
    await lock(0xan);
    const client = new Client(`127.0.0.1:${door.handle.port}`, credentials.createInsecure());
    const call = client.makeUnaryRequest(
      LOCK.lock.path,
      (message: object) => encodeMessage(LOCK.lock.request, message as never),
      (bytes: Buffer) => bytes,
      { name: b('job'), lease: 0xbn },
      () => undefined,
    );
    await queued(2);
    call.cancel();
    const range = { key: b('job/'), rangeEnd: b('job0') };
    while ((await door.call(KV.range, range)).count === 2);
    expect((await door.call(KV.range, range)).kvs[0]?.key.toString()).toBe('job/a');
    client.close();
  });

  it('takes the key of a client whose connection breaks out of the queue', async () => {
    await lock(0xan);
    const proxied: Socket[] = [];
    const proxy = createServer((socket) => {
      const onward = connect(door.handle.port, '127.0.0.1');
      proxied.push(socket, onward);
      socket.on('error', () => undefined).pipe(onward);
      onward.on('error', () => undefined).pipe(socket);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as { port: number };
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    client.makeUnaryRequest(
      LOCK.lock.path,
      (message: object) => encodeMessage(LOCK.lock.request, message as never),
      (bytes: Buffer) => bytes,
      { name: b('job'), lease: 0xbn },
      () => undefined,
    );
    await queued(2);
    for (const socket of proxied) socket.destroy();
    proxy.close();
    const range = { key: b('job/'), rangeEnd: b('job0') };
    while ((await door.call(KV.range, range)).count === 2);
    client.close();
  });

  it('grants a lease of its own to a client without one, and unlocks what is not there', async () => {
    const { key } = await door.call(LOCK.lock, { name: b('job') });
    const id = BigInt(`0x${key.toString().slice('job/'.length)}`);
    expect((await door.call(LEASE.timeToLive, { ID: id })).grantedTTL).toBe(60);
    await unlock(b('nothing'));
    expect(await door.refusal(LOCK.lock, { name: b('job'), lease: 0xffn })).toBe(
      '5 etcdserver: requested lease not found',
    );
  });
});

describe('the list of locks', () => {
  it('shows holder, token and waiters of each prefix', async () => {
    await lock(0xan);
    void door.refusal(LOCK.lock, { name: b('job'), lease: 0xbn });
    await queued(2);
    await door.call(KV.put, { key: b('other/zzz'), lease: 0xcn });
    expect(listEtcdLocks(door.replica.state)).toMatchObject([
      { door: 'etcd', name: 'job', holder: 'a', token: 2, waiters: 1 },
    ]);
    const [row] = listEtcdLocks(door.replica.state);
    expect(row!.leaseMsLeft).toBeGreaterThan(50_000);
    expect(row!.leaseMsLeft).toBeLessThanOrEqual(60_000);
  });
});

describe('the election service', () => {
  const campaign = (lease: bigint, value: string) =>
    door.call(ELECTION.campaign, { name: b('e'), lease, value: b(value) });

  it('elects one after the other and shows the present leader', async () => {
    expect(await door.refusal(ELECTION.leader, { name: b('e') })).toBe('2 election: no leader');
    const { leader } = await campaign(0xan, 'first');
    expect(leader).toMatchObject({ name: b('e'), key: b('e/a'), lease: 0xan });
    const next = campaign(0xbn, 'second');
    const shown = await door.call(ELECTION.leader, { name: b('e') });
    expect(shown.kv?.value.toString()).toBe('first');
    await door.call(ELECTION.resign, { leader });
    expect((await next).leader?.key.toString()).toBe('e/b');
    await door.call(ELECTION.resign, { leader });
  });

  it('lets only the leader proclaim', async () => {
    const { leader } = await campaign(0xan, 'first');
    await door.call(ELECTION.proclaim, { leader, value: b('changed') });
    const shown = await door.call(ELECTION.leader, { name: b('e') });
    expect(shown.kv?.value.toString()).toBe('changed');
    const stale = { ...leader!, rev: 1 };
    expect(await door.refusal(ELECTION.proclaim, { leader: stale, value: b('x') })).toBe(
      '2 election: not leader',
    );
    expect(await door.refusal(ELECTION.proclaim, {})).toBe('2 "leader" field must be provided');
  });

  it('proclaims the value of a campaign by the present leader', async () => {
    await campaign(0xan, 'first');
    await campaign(0xan, 'second');
    const shown = await door.call(ELECTION.leader, { name: b('e') });
    expect(shown.kv?.value.toString()).toBe('second');
  });

  it('tells observers each leader and proclamation', async () => {
    const { leader } = await campaign(0xan, 'first');
    const observed = door.client.makeServerStreamRequest(
      ELECTION.observe.path,
      (message: object) => encodeMessage(ELECTION.observe.request, message as never),
      (bytes: Buffer) => ELECTION.observe.response.decode(bytes),
      { name: b('e') },
    );
    observed.on('error', () => undefined);
    const values = observed[Symbol.asyncIterator]();
    const next = async () => (await values.next()).value.kv.value.toString();
    expect(await next()).toBe('first');
    await door.call(ELECTION.proclaim, { leader, value: b('changed') });
    expect(await next()).toBe('changed');
    const second = campaign(0xbn, 'second');
    await door.call(ELECTION.resign, { leader });
    await second;
    expect(await next()).toBe('second');
    observed.cancel();
  });
});
