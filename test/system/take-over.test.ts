import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis, RedisError, type Reply } from '../support/redis.ts';
import { pass, until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

describe('take-over of one Redis name', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it('gives rising tokens whatever way the owner changes, and GUARD refuses all earlier', async () => {
    let redis = await Redis.open((await cluster.leader()).ports.redis);
    const tokens: number[] = [];
    const take = async (...command: (string | number)[]): Promise<void> => {
      const reply = await redis.call(...command);
      expect(reply, command.join(' ')).not.toBeInstanceOf(RedisError);
      const token = await redis.call('LOCK', 'TOKEN', 'name');
      expect(token, command.join(' ')).toBeTypeOf('number');
      tokens.push(token as number);
    };
    await take('SET', 'name', 'a', 'NX', 'PX', 60_000);
    await take('GETSET', 'name', 'b');
    await take('SET', 'name', 'c', 'XX');
    await redis.call('SET', 'other', 'd');
    await take('RENAME', 'other', 'name');
    await redis.call('DEL', 'name');
    await take('SET', 'name', 'e', 'NX');
    await redis.call('PEXPIRE', 'name', 50);
    await until(async () => (await redis.call('EXISTS', 'name')) === 0, 5000);
    await take('SET', 'name', 'f', 'NX');
    await redis.call('FLUSHALL');
    await take('SET', 'name', 'g', 'NX', 'PX', 60_000);

    const leader = await cluster.leader();
    const survivor = cluster.members.find((member) => member !== leader) as Member;
    redis.close();
    await leader.stop('SIGKILL');
    await until(() => survivor.healthy(), 5000);
    redis = await Redis.open(survivor.ports.redis);
    expect(await redis.call('GET', 'name')).toBe('g');
    await take('SET', 'name', 'h');

    for (let i = 1; i < tokens.length; i++) {
      expect(tokens[i], `token ${i} of ${tokens.join(', ')}`).toBeGreaterThan(tokens[i - 1] ?? 0);
    }
    const current = tokens.pop() ?? 0;
    for (const old of tokens) {
      const reply = await redis.call('GUARD', 'name', old, 'SET', 'guarded', `by ${old}`);
      expect(String(reply)).toContain(`Stale token ${old} for 'name', current is ${current}`);
    }
    expect(await redis.call('GET', 'guarded')).toBeNull();
    expect(await redis.call('GUARD', 'name', current, 'SET', 'guarded', 'now')).toBe('OK');
    redis.close();
    leader.start();
    await cluster.allHealthy();
  });

  it('moves on from a holder that pauses past its lease, and refuses its late write', async () => {
    const port = (await cluster.follower()).ports.redis;
    const [paused, next] = [await Redis.open(port), await Redis.open(port)];
    const old = await paused.call('SET', 'paused', 'first', 'NX', 'PX', 300, 'FENCE');
    expect(old).toBeTypeOf('number');
    // The next owner queues and is told when the lease has run out; the first one sleeps.
    const told = await next.call(
      ...['LOCK', 'ACQUIRE', 'paused', 'second', 'PX', 60_000, 'BLOCK', 10_000],
    );
    expect(told).toBeGreaterThan(old as number);
    const late = await paused.call('GUARD', 'paused', old as number, 'SET', 'resource', 'late');
    expect(late).toBeInstanceOf(RedisError);
    expect(await next.call('GUARD', 'paused', told as number, 'SET', 'resource', 'ok')).toBe('OK');
    paused.close();
    next.close();
  });

  it('moves on from an etcd holder whose lease ran out, and refuses its late write', async () => {
    const etcd = new Etcd((await cluster.follower()).ports.etcd);
    const lease = await etcd.grant(2);
    const first = (await etcd.put('etcd-lock', 'first', 5000, lease)).header?.revision ?? 0;
    const holder = async () => (await etcd.range({ key: Buffer.from('etcd-lock') })).kvs[0];
    expect((await holder())?.createRevision).toBe(first);
    expect((await etcd.guardedPut('etcd-lock', first, 'etcd-data', 'in time')).succeeded).toBe(
      true,
    );
    // Nobody keeps the lease alive: the first holder sleeps.
    await until(async () => (await holder()) === undefined, 15_000);
    const second = (await etcd.put('etcd-lock', 'second')).header?.revision ?? 0;
    expect(second).toBeGreaterThan(first);
    expect((await etcd.guardedPut('etcd-lock', first, 'etcd-data', 'late')).succeeded).toBe(false);
    expect((await etcd.guardedPut('etcd-lock', second, 'etcd-data', 'ok')).succeeded).toBe(true);
    const data = await etcd.range({ key: Buffer.from('etcd-data') });
    expect(data.kvs[0]?.value.toString()).toBe('ok');
    etcd.close();
  });

  it('moves on from a ZooKeeper holder whose session ran out', async () => {
    const port = (await cluster.follower()).ports.zookeeper;
    const holder = await ZooKeeper.open(port, 1000);
    const next = await ZooKeeper.open(port, 30_000);
    await next.call(Op.create, body.create('/zk-lock', ''));
    const first = await holder.call(Op.create, body.create('/zk-lock/n-', '', 3));
    expect(first.error).toBe(0);
    expect((await next.call(Op.create, body.create('/zk-lock/n-', '', 3))).error).toBe(0);
    // Silent from here: no pings.
    await until(async () => (await next.children('/zk-lock')).length === 1, 15_000);
    const late = await holder.call(Op.setData, body.setData('/zk-lock', 'late')).then(
      (frame) => frame.error,
      () => 'closed',
    );
    expect(late).not.toBe(0);
    expect((await next.get('/zk-lock'))?.data).toBe('');
    holder.close();
    next.close();
  });
});

describe('one name, two kinds of Redis lock', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it('SET NX PX and LOCK ACQUIRE exclude each other', async () => {
    const [a, b] = await Promise.all(
      [0, 2].map((m) => Redis.open(cluster.members[m]?.ports.redis ?? 0)),
    );
    if (a === undefined || b === undefined) throw new Error('no connection');
    const answers: Reply[] = [];
    answers.push(await a.call('SET', 'x', 'plain', 'NX', 'PX', 60_000));
    answers.push(await b.call('LOCK', 'ACQUIRE', 'x', 'fenced', 'PX', 60_000));
    expect(answers).toEqual(['OK', null]);
    expect(await a.call('DEL', 'x')).toBe(1);
    expect(await b.call('LOCK', 'ACQUIRE', 'x', 'fenced', 'PX', 60_000)).toBeTypeOf('number');
    expect(await a.call('SET', 'x', 'plain', 'NX', 'PX', 60_000)).toBeNull();
    // A queued LOCK waiter is served by the plain owner's compare-and-delete.
    const queued = a.call('LOCK', 'ACQUIRE', 'x', 'queued', 'PX', 60_000, 'BLOCK', 10_000);
    await until(async () => ((await b.call('LOCK', 'QUEUE', 'x')) as Reply[]).length === 1, 5000);
    expect(await b.call('LOCK', 'RELEASE', 'x', 'fenced')).toBe(1);
    expect(await queued).toBeTypeOf('number');
    a.close();
    b.close();
  });

  it('a lock bound to its connection ends with it', async () => {
    const holder = await Redis.open(cluster.members[1]?.ports.redis ?? 0);
    const other = await Redis.open(cluster.members[2]?.ports.redis ?? 0);
    await holder.call('LOCK', 'ACQUIRE', 'session', 'me', 'PX', 60_000, 'SESSION');
    const waiting = other.call('LOCK', 'ACQUIRE', 'session', 'you', 'PX', 60_000, 'BLOCK', 10_000);
    await pass(100);
    holder.close();
    expect(await waiting).toBeTypeOf('number');
    other.close();
  });
});
