import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { pass, until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';
import {
  etcdDoor,
  type Journal,
  judge,
  redisDoor,
  startWriter,
  tokenDoor,
  type Writer,
  zookeeperDoor,
} from './load.ts';

const KILLS = 20;
const ELECTION_TIMEOUT_MS = 1000;

describe('the leader is killed under load on all doors', () => {
  let cluster: Cluster;
  const writers: Writer[] = [];
  /** By member, since only one member's answers come in a known order. */
  const tokens: number[][] = [[], [], []];

  beforeAll(async () => {
    cluster = await Cluster.start();
    const setUp = await ZooKeeper.open(cluster.members[0]?.ports.zookeeper ?? 0);
    await setUp.call(Op.create, body.create('/load', ''));
    setUp.close();
    cluster.members.forEach((member, i) => {
      writers.push(startWriter(`etcd-${i}`, etcdDoor(member)));
      writers.push(startWriter(`zookeeper-${i}`, zookeeperDoor(member)));
      writers.push(startWriter(`redis-${i}`, redisDoor(member)));
      writers.push(startWriter(`token-${i}`, tokenDoor(member, tokens[i] ?? [])));
    });
  });
  afterAll(() => cluster?.stop());

  it(`${KILLS} times: every surviving door serves again within 2 × election timeout`, async () => {
    const slowest: number[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      await pass(300);
      const leader = await cluster.leader();
      const survivors = cluster.members.filter((member) => member !== leader);
      const killedAt = performance.now();
      await leader.stop('SIGKILL');
      const served = await Promise.all(
        survivors.flatMap((member) => doorsServe(member, `after-${kill}`)),
      );
      slowest.push(Math.max(...served) - killedAt);
      leader.start();
      await until(
        () => leader.healthy(),
        15_000,
        () => leader.output,
      );
    }
    console.log(`leader killed → all doors serve: ${slowest.map(Math.round).join(', ')} ms`);
    expect(Math.max(...slowest)).toBeLessThan(2 * ELECTION_TIMEOUT_MS);
  }, 240_000);

  it('no acknowledged write is lost, each is applied once, tokens rise', async () => {
    await Promise.all(writers.map((writer) => writer.stop()));
    const journals = (door: string): Journal[] =>
      writers
        .filter((_, i) => ['etcd', 'zookeeper', 'redis', 'token'][i % 4] === door)
        .map((writer) => writer.journal);
    const [member] = cluster.members;
    if (member === undefined) throw new Error('no member');

    const etcd = new Etcd(member.ports.etcd);
    const found = new Map(
      (await etcd.prefix('load/')).kvs.map((kv) => [kv.key.toString(), kv.version]),
    );
    etcd.close();
    const zookeeper = await ZooKeeper.open(member.ports.zookeeper);
    const nodes = new Set(await zookeeper.children('/load'));
    zookeeper.close();
    const redis = await Redis.open(member.ports.redis);
    let acknowledged = 0;
    for (const journal of journals('etcd')) {
      for (const key of journal.acknowledged) expect(found.get(`load/${key}`), key).toBe(1);
      for (const key of journal.unknown) expect(found.get(`load/${key}`) ?? 1, key).toBe(1);
      acknowledged += journal.acknowledged.length;
    }
    for (const journal of journals('zookeeper')) {
      for (const key of journal.acknowledged) expect(nodes.has(key), key).toBe(true);
      acknowledged += journal.acknowledged.length;
    }
    for (const journal of journals('redis')) {
      const { acknowledged: sure, unknown } = journal;
      const counts = await Promise.all(redis.pipeline(sure.map((key) => ['GET', `load:${key}`])));
      counts.forEach((count, i) => {
        expect(count, sure[i]).toBe('1');
      });
      const maybe = await Promise.all(redis.pipeline(unknown.map((key) => ['GET', `load:${key}`])));
      for (const count of maybe) expect([null, '1']).toContain(count);
      acknowledged += sure.length;
    }
    redis.close();
    for (const own of tokens) {
      expect(own.length).toBeGreaterThan(0);
      for (let i = 1; i < own.length; i++) expect(own[i]).toBeGreaterThan(own[i - 1] ?? 0);
    }
    expect(new Set(tokens.flat()).size).toBe(tokens.flat().length);
    console.log(`${acknowledged} acknowledged writes, ${tokens.flat().length} tokens`);
    expect(acknowledged).toBeGreaterThan(KILLS * 10);
    expect(judge(writers)).toEqual([]);
    const hashes = await cluster.stateHashes();
    expect(new Set(hashes).size, hashes.join(' ')).toBe(1);
  }, 60_000);
});

/** When each door of the member acknowledged a write again. */
function doorsServe(member: Member, key: string): Promise<number>[] {
  const attempt = async (write: () => Promise<unknown>): Promise<number> => {
    await until(
      () =>
        write().then(
          () => true,
          () => false,
        ),
      20_000,
      () => `${member.name}: ${member.output}`,
    );
    return performance.now();
  };
  return [
    attempt(async () => {
      const etcd = new Etcd(member.ports.etcd);
      await etcd.put(`serve/${key}`, 'x', 3000).finally(() => etcd.close());
    }),
    attempt(async () => {
      const client = await ZooKeeper.open(member.ports.zookeeper);
      const reply = client.call(Op.setData, body.setData('/load', key));
      const { error } = await reply.finally(() => client.close());
      if (error !== 0) throw new Error(String(error));
    }),
    attempt(async () => {
      const client = await Redis.open(member.ports.redis);
      const reply = await client.call('SET', `serve:${key}`, 'x').finally(() => client.close());
      if (reply !== 'OK') throw new Error(String(reply));
    }),
  ];
}
