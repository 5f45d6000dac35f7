import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { etcdctls } from '../interop/etcd-targets.ts';
import { Cluster } from '../support/cluster.ts';
import { Etcd, type Watch } from '../support/etcd.ts';
import { Redis, RedisError } from '../support/redis.ts';
import { pass, until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const MEBIBYTE = 1024 * 1024;
const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));
const LONG = process.env.LOCKSTEP_LONG === '1';
const NOISE_MS = LONG ? 300_000 : 25_000;
/** The memory of the first part is warming up. */
const WARM_MS = LONG ? 60_000 : 12_000;
const WRITES_PER_SECOND = 20_000;
const TTL_KEYS = 100_000;
const KEPT_REVISIONS = 1000;
const PINNED = 200;
const RECONNECTS = 100;
const BATCH = 200;

/** Redis writes at a steady rate on one connection to each member. */
class Noise {
  readonly #clients: Redis[];
  #stopping = false;
  #done: Promise<void>[] = [];
  writes = 0;
  failures = 0;

  private constructor(clients: Redis[]) {
    this.#clients = clients;
  }

  static async start(cluster: Cluster): Promise<Noise> {
    const open = cluster.members.map(({ ports }) => Redis.open(ports.redis));
    const noise = new Noise(await Promise.all(open));
    const startedAt = performance.now();
    noise.#done = noise.#clients.map((client, i) => noise.#run(client, i, startedAt));
    return noise;
  }

  async #run(client: Redis, member: number, startedAt: number): Promise<void> {
    const rate = WRITES_PER_SECOND / this.#clients.length / 1000;
    for (let sent = 0; !this.#stopping; ) {
      if (sent > (performance.now() - startedAt) * rate) {
        await pass(5);
        continue;
      }
      const commands = Array.from({ length: BATCH }, () => {
        sent++;
        const key = `noise:${member}:${sent % 10_000}`;
        return sent % 10 === 0 ? ['INCR', `count:${member}`] : ['SET', key, `${sent}`];
      });
      const replies = await Promise.all(client.pipeline(commands));
      this.writes += replies.length;
      this.failures += replies.filter((reply) => reply instanceof RedisError).length;
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#done);
    for (const client of this.#clients) client.close();
  }
}

describe('other doors under the noise of Redis', () => {
  let cluster: Cluster;
  let etcd: Etcd;
  beforeAll(async () => {
    cluster = await Cluster.start();
    etcd = new Etcd((await cluster.follower()).ports.etcd);
  });
  afterAll(async () => {
    etcd?.close();
    await cluster?.stop();
  });

  const resident = async (): Promise<number[]> =>
    Promise.all(
      cluster.members.map(async (member) => {
        const answer = await fetch(`http://127.0.0.1:${member.ports.admin}/metrics`);
        const value = /^process_resident_memory_bytes (\S+)$/m.exec(await answer.text())?.[1];
        return Number(value) / MEBIBYTE;
      }),
    );

  const fillTtlKeys = async (): Promise<void> => {
    const client = await Redis.open((await cluster.leader()).ports.redis);
    for (let batch = 0; batch < TTL_KEYS / 1000; batch++) {
      const commands = Array.from({ length: 1000 }, (_, i) => {
        const key = batch * 1000 + i;
        // They go away all through the run, each with a deadline of its own.
        return ['SET', `ttl:${key}`, 'x', 'PX', 1000 + Math.floor((key / TTL_KEYS) * NOISE_MS)];
      });
      await Promise.all(client.pipeline(commands));
    }
    client.close();
  };

  /** Lists a prefix in pages of one pinned revision, as a client with many keys does. */
  const pinnedList = async (revision: number, pauseMs: number): Promise<string[]> => {
    const found: string[] = [];
    let key = Buffer.from('pinned/');
    const rangeEnd = Buffer.from('pinned0');
    for (;;) {
      const page = await etcd.range({ key, rangeEnd, revision, limit: 20 });
      for (const kv of page.kvs) found.push(`${kv.key}=${kv.value}`);
      if (!page.more) return found;
      key = Buffer.concat([page.kvs.at(-1)!.key, Buffer.alloc(1)]);
      await pass(pauseMs);
    }
  };

  const progress = async (watch: Watch): Promise<{ revision: number; ms: number }> => {
    const askedAt = performance.now();
    const latest = Number((await etcd.put('watched/other', 'x')).header?.revision);
    for (;;) {
      const seen = watch.responses.length;
      watch.requestProgress();
      await until(() => watch.responses.length > seen, 5000);
      const revision = Number(watch.responses.at(-1)?.header?.revision);
      if (revision >= latest) return { revision, ms: performance.now() - askedAt };
    }
  };

  const reconnects = async (): Promise<number> => {
    let session = await ZooKeeper.open(cluster.members[0]!.ports.zookeeper, 30_000);
    const { sessionId } = session;
    let refused = 0;
    for (let i = 1; i <= RECONNECTS; i++) {
      await session.call(Op.create, body.create(`/noise-${i}`, ''));
      session.close();
      const { ports } = cluster.members[i % 3]!;
      try {
        session = await ZooKeeper.open(ports.zookeeper, 30_000, session);
      } catch {
        refused++;
        session = await ZooKeeper.attach(ports.zookeeper, 30_000, session);
      }
      expect(session.sessionId).toBe(sessionId);
      expect(await session.get(`/noise-${i}`)).toBeDefined();
    }
    session.close();
    return refused;
  };

  it(
    'a pinned list, a watcher, sessions and leases go on, and memory stays flat',
    async () => {
      const address = `127.0.0.1:${cluster.members[0]!.ports.admin}`;
      const args = ['--admin', address, 'etcd-auto-compaction-revisions', `${KEPT_REVISIONS}`];
      execFileSync(process.execPath, [MAIN, 'option', ...args]);
      let pinned = 0;
      for (let i = 0; i < PINNED; i++) {
        const name = String(i).padStart(4, '0');
        pinned = Number((await etcd.put(`pinned/${name}`, 'first')).header?.revision);
      }
      const watch = etcd.watch({ key: Buffer.from('watched/key') });
      await until(() => watch.created, 10_000);
      const lease = await etcd.grant(600);
      await fillTtlKeys();
      const noise = await Noise.start(cluster);
      const startedAt = performance.now();

      await pass(2000);
      const listed = pinnedList(pinned, (NOISE_MS * 0.6) / (PINNED / 20));
      const delays: number[] = [];
      const refusals = reconnects();
      let warm: number[] | undefined;
      let puts = 0;
      while (performance.now() - startedAt < NOISE_MS) {
        await etcd.put('watched/key', `${++puts}`);
        const { ms } = await progress(watch);
        delays.push(ms);
        if (warm === undefined && performance.now() - startedAt > WARM_MS) warm = await resident();
        await pass(NOISE_MS / 200);
      }
      const sizes = await resident();
      expect(await refusals).toBe(0);
      const rows = await listed;
      await noise.stop();

      const rate = (noise.writes / (performance.now() - startedAt)) * 1000;
      const sorted = delays.sort((a, b) => a - b);
      const grown = sizes.map((size, i) => size - (warm?.[i] ?? 0));
      console.log(
        `${noise.writes} Redis writes, ${rate.toFixed(0)}/s; progress within ` +
          `${sorted.at(-1)?.toFixed(0)} ms (median ${sorted[sorted.length >> 1]?.toFixed(0)}); ` +
          `memory ${sizes.map((size) => size.toFixed(0)).join(', ')} MiB, ` +
          `since warm ${grown.map((size) => size.toFixed(1)).join(', ')} MiB`,
      );
      expect(noise.failures).toBe(0);
      // What others wrote in between moved the revision far beyond what is kept of etcd's.
      expect(noise.writes).toBeGreaterThan(10 * KEPT_REVISIONS);
      expect(rows).toEqual(
        Array.from({ length: PINNED }, (_, i) => `pinned/${String(i).padStart(4, '0')}=first`),
      );
      expect(watch.canceled).toBeUndefined();
      expect(watch.events).toBe(puts);
      if (LONG) expect(sorted.at(-1)).toBeLessThan(300);
      // Seconds tell only of gross leaks: the heap is still finding its size.
      for (const size of sizes) expect(size).toBeLessThan(600);
      if (LONG) for (const growth of grown) expect(growth).toBeLessThan(64);

      const [etcdctl] = etcdctls();
      if (etcdctl !== undefined) {
        const endpoints = `127.0.0.1:${cluster.members[1]!.ports.etcd}`;
        const env = { ...process.env, ETCDCTL_API: '3' };
        const args = ['--endpoints', endpoints, 'lease', 'list'];
        const text = execFileSync(etcdctl, args, { encoding: 'utf8', env });
        expect(text.trim().split('\n')).toEqual([
          'found 1 leases',
          lease.toString(16).padStart(16, '0'),
        ]);
      }
      watch.close();
    },
    NOISE_MS + 120_000,
  );
});
