import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

describe('all members are stopped and started', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'by %s: everything is there, leases with what was left',
    async (signal) => {
      const [member] = cluster.members;
      if (member === undefined) throw new Error('no member');
      const redis = await Redis.open(member.ports.redis);
      const etcd = new Etcd(member.ports.etcd);
      const zookeeper = await ZooKeeper.open(member.ports.zookeeper, 30_000);
      for (let i = 0; i < 200; i++) await etcd.put(`kept/${i}`, `${signal}-${i}`);
      await zookeeper.call(Op.create, body.create('/kept', signal));
      await zookeeper.call(Op.setData, body.setData('/kept', signal));
      await zookeeper.call(Op.create, body.create('/kept-ephemeral', 'mine', 1));
      await redis.call('SET', 'kept', signal, 'PX', 100_000);
      const token = await redis.call('LOCK', 'ACQUIRE', `lock-${signal}`, 'me', 'PX', 100_000);
      const lease = await etcd.grant(100);
      const left = Number(await redis.call('PTTL', 'kept'));
      const before = await cluster.stateHashes();
      expect(new Set(before).size).toBe(1);

      await Promise.all(cluster.members.map((each) => each.stop(signal)));
      for (const each of cluster.members) each.start();
      await cluster.allHealthy();

      const again = await Redis.open(member.ports.redis);
      expect(await again.call('GET', 'kept')).toBe(signal);
      expect(await again.call('LOCK', 'TOKEN', `lock-${signal}`)).toBe(token);
      const leftAfter = Number(await again.call('PTTL', 'kept'));
      // The time without a leader does not count; only what passed under one does.
      expect(leftAfter).toBeLessThanOrEqual(left);
      expect(leftAfter).toBeGreaterThan(left - 15_000);
      const reader = new Etcd(member.ports.etcd);
      const { TTL, grantedTTL } = await reader.timeToLive(lease);
      expect(grantedTTL).toBe(100);
      expect(TTL).toBeLessThanOrEqual(100);
      expect(TTL).toBeGreaterThan(100 - 15);
      const { kvs } = await reader.prefix('kept/');
      expect(kvs).toHaveLength(200);
      expect(kvs.every((kv) => kv.value.toString().startsWith(signal))).toBe(true);
      const resumed = await ZooKeeper.open(member.ports.zookeeper, 30_000, zookeeper);
      expect(resumed.sessionId).toBe(zookeeper.sessionId);
      expect((await resumed.get('/kept'))?.data).toBe(signal);
      expect((await resumed.get('/kept-ephemeral'))?.data).toBe('mine');
      await resumed.call(Op.delete, body.delete('/kept-ephemeral'));
      const after = await cluster.stateHashes();
      expect(new Set(after).size, after.join(' ')).toBe(1);
      for (const client of [redis, again, zookeeper, resumed, etcd, reader]) client.close();
    },
  );
});
