import { createRequire } from 'node:module';
import type { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdTarget, startOurs } from './etcd-targets.ts';

/** The npm client `etcd3`, unchanged: protobuf.js messages, its own recipes and retries. */

let target: EtcdTarget;
let client: Etcd3;

beforeAll(async () => {
  target = await startOurs();
  // protobuf.js finds its 64-bit integers by a guarded require that the test runner defeats;
  // without them the client rounds lease ids. It looks at this global first.
  const long = createRequire(import.meta.url)('long');
  Object.assign(globalThis, { Long: long.default ?? long });
  const { Etcd3 } = await import('etcd3');
  client = new Etcd3({ hosts: target.endpoints.split(',').map((host) => `http://${host}`) });
});

afterAll(async () => {
  client.close();
  await target.close();
});

/** The next value that an emitter gives. */
const next = <T>(
  emitter: { once(name: string, listener: (value: T) => void): unknown },
  name: string,
) => new Promise<T>((resolve) => emitter.once(name, resolve));

describe('npm etcd3', () => {
  it('puts, gets, lists and deletes', async () => {
    await client.put('e3/a').value('1');
    await client.put('e3/b').value('2');
    expect(await client.get('e3/a').string()).toBe('1');
    expect(await client.getAll().prefix('e3/').strings()).toEqual({ 'e3/a': '1', 'e3/b': '2' });
    expect(await client.getAll().prefix('e3/').sort('Key', 'Descend').limit(1).keys()).toEqual([
      'e3/b',
    ]);
    const { deleted } = await client.delete().prefix('e3/');
    expect(Number(deleted)).toBe(2);
    expect(await client.get('e3/a').string()).toBe(null);
  });

  it('compares and swaps', async () => {
    const create = () =>
      client
        .if('e3/cas', 'Create', '==', 0)
        .then(client.put('e3/cas').value('mine'))
        .else(client.get('e3/cas'))
        .commit();
    expect((await create()).succeeded).toBe(true);
    expect((await create()).succeeded).toBe(false);
  });

  it('watches a prefix, and reads its own recipes of software transactions', async () => {
    const watcher = await client.watch().prefix('e3/w').create();
    const put = next<{ key: Buffer; value: Buffer }>(watcher, 'put');
    await client.put('e3/w1').value('x');
    const { key, value } = await put;
    expect([key.toString(), value.toString()]).toEqual(['e3/w1', 'x']);
    const gone = next<{ key: Buffer }>(watcher, 'delete');
    await client.delete().key('e3/w1');
    expect((await gone).key.toString()).toBe('e3/w1');
    await watcher.cancel();
    await client.stm().transact(async (tx) => {
      const count = Number((await tx.get('e3/count').string()) ?? 0);
      await tx.put('e3/count').value(count + 1);
    });
    expect(await client.get('e3/count').string()).toBe('1');
  });

  it('keeps a lease alive and sees its keys go when it is revoked', async () => {
    const lease = client.lease(30);
    await lease.put('e3/leased').value('x');
    await lease.keepaliveOnce();
    expect(await client.get('e3/leased').string()).toBe('x');
    await lease.revoke();
    expect(await client.get('e3/leased').string()).toBe(null);
  });

  it('locks: one holder, the next after the release', async () => {
    const holder = client.lock('e3/lock');
    await holder.acquire();
    await holder.release();
    const second = client.lock('e3/lock');
    await second.acquire();
    await second.release();
  });

  it('elects a leader, until it resigns', async () => {
    const election = client.election('e3/election', 10);
    const campaign = election.campaign('candidate');
    await next(campaign, 'elected');
    expect(await election.leader()).toBe('candidate');
    await campaign.resign();
    expect(await election.leader()).toBe(undefined);
  });

  it('reads status and members', async () => {
    const status = await client.maintenance.status();
    expect(status.version).toMatch(/^3\.6\./);
    const { members } = await client.cluster.memberList({});
    expect(members.length).toBeGreaterThan(0);
  });
});
