import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis, RedisError } from '../support/redis.ts';
import { pass } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const within = <T>(promise: Promise<T>, ms: number): Promise<T | 'no answer'> =>
  Promise.race([
    promise,
    new Promise<'no answer'>((resolve) => setTimeout(() => resolve('no answer'), ms)),
  ]);

describe('a paused leader', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it('leaves a gapless prefix of a session that went elsewhere, and answers nothing', async () => {
    const old = await cluster.leader();
    const [first, second] = cluster.members.filter((member) => member !== old);
    if (first === undefined || second === undefined) throw new Error('no followers');
    const client = await ZooKeeper.open(first.ports.zookeeper, 40_000);
    expect((await client.call(Op.create, body.create('/numbered', ''))).error).toBe(0);

    const requests = Array.from({ length: 1000 }, (_, i) =>
      client.encode(Op.create, body.create(`/numbered/${String(i).padStart(4, '0')}`, '')),
    );
    const half = client.reply(requests[250]?.xid ?? 0).catch(() => undefined);
    client.write(Buffer.concat(requests.slice(0, 500).map(({ frame }) => frame)));
    await half;
    client.write(Buffer.concat(requests.slice(500).map(({ frame }) => frame)));
    old.signal('SIGSTOP');
    client.close();
    const moved = await ZooKeeper.attach(second.ports.zookeeper, 40_000, client);
    expect(moved.sessionId).toBe(client.sessionId);
    await moved.call(Op.sync, body.path('/numbered'));
    const before = (await moved.children('/numbered')).sort();
    const prefix = before.map((_, i) => String(i).padStart(4, '0'));
    expect(before).toEqual(prefix);

    // The old leader wakes up believing that it leads.
    const etcd = new Etcd(old.ports.etcd);
    await etcd.put('only/new', 'x', 2000).catch(() => undefined);
    const reader = new Etcd(second.ports.etcd);
    const written = await reader.put('only/new', 'after');
    const stale = etcd.range({ key: Buffer.from('only/new') }, 15_000);
    old.signal('SIGCONT');
    const seen = await within(stale, 15_000);
    if (seen !== 'no answer') expect(seen.kvs[0]?.value.toString()).toBe('after');
    expect(written.header?.revision).toBeGreaterThan(0);
    await pass(10_000);
    const later = await ZooKeeper.attach(second.ports.zookeeper, 40_000, moved);
    await later.call(Op.sync, body.path('/numbered'));
    expect((await later.children('/numbered')).sort()).toEqual(before);
    etcd.close();
    reader.close();
    moved.close();
    later.close();
    await cluster.allHealthy();
  }, 90_000);
});

describe('two of three members are stopped', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it('no door grants or acknowledges, a serializable read answers, and all do when they are back', async () => {
    const [alone, ...others] = cluster.members as [Member, Member, Member];
    const etcd = new Etcd(alone.ports.etcd);
    await etcd.put('before', 'kept');
    const redis = await Redis.open(alone.ports.redis);
    await redis.call('SET', 'before', 'kept');
    const zookeeper = await ZooKeeper.open(alone.ports.zookeeper, 30_000);
    for (const other of others) other.signal('SIGSTOP');

    const put = within(
      etcd.put('during', 'x', 4000).catch(() => 'refused' as const),
      6000,
    );
    const lock = within(
      redis.call('SET', 'lock', 'me', 'NX', 'PX', 60_000, 'FENCE').catch(() => 'closed'),
      6000,
    );
    const node = within(
      zookeeper.call(Op.create, body.create('/during', '')).catch(() => 'closed' as const),
      6000,
    );
    const read = within(
      etcd.range({ key: Buffer.from('before') }, 4000).catch(() => 'refused' as const),
      6000,
    );
    expect(['refused', 'no answer']).toContain(await put);
    const answer = await lock;
    if (!(answer instanceof RedisError)) expect(['closed', 'no answer']).toContain(answer);
    expect(['closed', 'no answer']).toContain(await node);
    expect(['refused', 'no answer']).toContain(await read);
    const local = await etcd.range({ key: Buffer.from('before'), serializable: true }, 2000);
    expect(local.kvs[0]?.value.toString()).toBe('kept');

    for (const other of others) other.signal('SIGCONT');
    await cluster.allHealthy();
    expect((await etcd.put('after', 'x')).header?.revision).toBeGreaterThan(0);
    const again = await Redis.open(alone.ports.redis);
    expect(await again.call('GET', 'before')).toBe('kept');
    expect(await again.call('SET', 'after', 'x')).toBe('OK');
    const session = await ZooKeeper.attach(alone.ports.zookeeper);
    expect((await session.call(Op.create, body.create('/after', ''))).error).toBe(0);
    etcd.close();
    redis.close();
    again.close();
    zookeeper.close();
    session.close();
  }, 60_000);
});
