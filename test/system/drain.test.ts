import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis, RedisError } from '../support/redis.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const IN_FLIGHT = 20;

/** Writes until the connection ends; gives how many were acknowledged. */
async function pump(write: (n: number) => Promise<unknown>): Promise<number> {
  let acknowledged = 0;
  let next = 0;
  const one = async (): Promise<void> => {
    for (;;) {
      await write(next++);
      acknowledged++;
    }
  };
  await Promise.allSettled(Array.from({ length: IN_FLIGHT }, one));
  return acknowledged;
}

describe('a leader that is told to stop', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it('answers through every door what it has taken, and takes nothing more', async () => {
    const leader: Member = await cluster.leader();
    const etcd = new Etcd(leader.ports.etcd);
    const redis = await Redis.open(leader.ports.redis);
    const zookeeper = await ZooKeeper.open(leader.ports.zookeeper, 20_000);
    await zookeeper.call(Op.create, body.create('/drained', ''));
    const writes = Promise.all([
      pump((n) => etcd.put(`drained/${n}`, 'x')),
      pump(async () => {
        const reply = await redis.call('INCR', 'drained');
        if (reply instanceof RedisError) throw reply;
      }),
      pump(async (n) => {
        const { error } = await zookeeper.call(Op.create, body.create(`/drained/${n}`, ''));
        if (error !== 0) throw new Error(`create: ${error}`);
      }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const stopped = performance.now();
    await leader.stop('SIGTERM');
    expect(performance.now() - stopped).toBeLessThan(4000);
    const [puts, increments, creates] = await writes;

    const [other] = cluster.members.filter((member) => member !== leader);
    if (other === undefined) throw new Error('no member left');
    const reader = new Etcd(other.ports.etcd);
    expect((await reader.prefix('drained/')).kvs.length).toBe(puts);
    const redisReader = await Redis.open(other.ports.redis);
    expect(Number(await redisReader.call('GET', 'drained'))).toBe(increments);
    const session = await ZooKeeper.attach(other.ports.zookeeper, 20_000, zookeeper);
    expect(session.sessionId).toBe(zookeeper.sessionId);
    await session.call(Op.sync, body.path('/drained'));
    expect((await session.children('/drained')).length).toBe(creates);
    expect(Math.min(puts, increments, creates)).toBeGreaterThan(IN_FLIGHT);
    for (const client of [etcd, redis, zookeeper, reader, redisReader, session]) client.close();
  }, 60_000);
});
