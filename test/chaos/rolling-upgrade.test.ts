import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, MAIN, type Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { PREVIOUS, previousBuild } from '../support/previous-build.ts';
import { Redis } from '../support/redis.ts';
import { pass, until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';
import {
  etcdDoor,
  judge,
  redisDoor,
  startWriter,
  tokenDoor,
  type Writer,
  zookeeperDoor,
} from './load.ts';

const previous = previousBuild();
if (previous.missing !== undefined) console.log(`skipped: ${previous.missing}`);

describe.skipIf(previous.missing !== undefined)(
  `a cluster of ${PREVIOUS} is upgraded one member at a time, under load on all doors`,
  () => {
    let cluster: Cluster;
    const writers = new Map<string, Writer[]>();
    const tokens: number[][] = [[], [], []];

    beforeAll(async () => {
      cluster = await Cluster.start(3, [], { main: previous.main ?? MAIN });
      const setUp = await ZooKeeper.open(cluster.members[0]?.ports.zookeeper ?? 0);
      await setUp.call(Op.create, body.create('/load', ''));
      setUp.close();
      writers.set(
        'etcd',
        each(cluster, (member) => etcdDoor(member), 'etcd'),
      );
      writers.set(
        'zookeeper',
        each(cluster, (member) => zookeeperDoor(member), 'zookeeper'),
      );
      writers.set(
        'redis',
        each(cluster, (member) => redisDoor(member), 'redis'),
      );
      writers.set(
        'token',
        each(cluster, (member, i) => tokenDoor(member, tokens[i] ?? []), 'token'),
      );
      await pass(500);
    });
    afterAll(() => cluster?.stop());

    it('goes forward, and back while a member is old; the level waits for the last one', async () => {
      const [first, second, third] = cluster.members as [Member, Member, Member];
      await becomes(cluster, first, MAIN);
      expect((await first.status())?.self.featureLevel).toBe(1);
      await becomes(cluster, first, previous.main ?? '');
      await becomes(cluster, second, MAIN);
      await becomes(cluster, first, MAIN);
      await pass(1500);
      for (const member of [first, second]) {
        expect((await member.status())?.self.featureLevel).toBe(1);
      }
      await becomes(cluster, third, MAIN);
      for (const member of cluster.members) {
        await until(async () => (await member.status())?.self.featureLevel === 2, 15_000);
      }
    }, 180_000);

    it('refuses the old release once the level is raised, and says so', async () => {
      const member = cluster.members[2] as Member;
      await member.stop('SIGTERM');
      member.output = '';
      member.main = previous.main ?? '';
      member.start();
      await until(
        () => /feature level 2/.test(member.output),
        15_000,
        () => member.output,
      );
      expect(await member.healthy()).toBe(false);
      await becomes(cluster, member, MAIN);
    }, 60_000);

    it('has lost no acknowledged write, applied each once, and its tokens rise', async () => {
      await Promise.all([...writers.values()].flat().map((writer) => writer.stop()));
      const [member] = cluster.members as [Member];
      const of = (door: string) => (writers.get(door) ?? []).map(({ journal }) => journal);
      const sure = (door: string) => of(door).flatMap(({ acknowledged }) => acknowledged);

      const etcd = new Etcd(member.ports.etcd);
      const { kvs } = await etcd.prefix('load/');
      etcd.close();
      const versions = new Map(kvs.map((kv) => [kv.key.toString(), kv.version]));
      for (const key of sure('etcd')) expect(versions.get(`load/${key}`), key).toBe(1);
      expect([...versions.values()].every((version) => version === 1)).toBe(true);

      const zookeeper = await ZooKeeper.open(member.ports.zookeeper);
      const nodes = new Set(await zookeeper.children('/load'));
      zookeeper.close();
      for (const key of sure('zookeeper')) expect(nodes.has(key), key).toBe(true);

      const redis = await Redis.open(member.ports.redis);
      const keys = sure('redis');
      const counts = await Promise.all(redis.pipeline(keys.map((key) => ['GET', `load:${key}`])));
      redis.close();
      for (const [i, count] of counts.entries()) expect(count, keys[i]).toBe('1');

      for (const own of tokens) {
        for (let i = 1; i < own.length; i++) expect(own[i]).toBeGreaterThan(own[i - 1] ?? 0);
      }
      const written = ['etcd', 'zookeeper', 'redis'].map((door) => sure(door).length);
      console.log(
        `acknowledged over the upgrade: ${written.join(', ')}; ${tokens.flat().length} tokens`,
      );
      expect(Math.min(...written)).toBeGreaterThan(100);
      expect(judge([...writers.values()].flat())).toEqual([]);
      expect(new Set(await cluster.stateHashes()).size).toBe(1);
    }, 60_000);
  },
);

function each(
  cluster: Cluster,
  door: (member: Member, i: number) => ReturnType<typeof etcdDoor>,
  name: string,
): Writer[] {
  return cluster.members.map((member, i) => startWriter(`${name}-${i}`, door(member, i)));
}

/** Stops the member as a supervisor does and starts it as another build. */
async function becomes(cluster: Cluster, member: Member, main: string): Promise<void> {
  await member.stop('SIGTERM');
  member.main = main;
  member.start();
  await cluster.allHealthy();
  await pass(500);
}
