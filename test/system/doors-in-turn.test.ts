import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));

describe('the three doors front one store', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  const portsOf = (m: number) => {
    const ports = cluster.members[m]?.ports;
    if (ports === undefined) throw new Error('no member');
    return ports;
  };

  it('gives tokens in the order they were taken, through whichever door and member', async () => {
    const redis = await Redis.open(portsOf(0).redis);
    const zookeeper = await ZooKeeper.open(portsOf(1).zookeeper);
    const etcd = new Etcd(portsOf(2).etcd);
    const tokens: number[] = [];
    for (let round = 0; round < 5; round++) {
      tokens.push(Number(await redis.call('LOCK', 'ACQUIRE', `r${round}`, 'me', 'PX', 60_000)));
      await zookeeper.call(Op.create, body.create(`/z${round}`, '', 1));
      tokens.push(Number((await zookeeper.get(`/z${round}`))?.czxid));
      const put = await etcd.put(`e${round}`, 'me');
      tokens.push(put.header?.revision ?? 0);
    }
    for (let i = 1; i < tokens.length; i++) {
      expect(tokens[i], tokens.join(' ')).toBeGreaterThan(tokens[i - 1] ?? 0);
    }
    redis.close();
    zookeeper.close();
    etcd.close();
  });

  it('lists the locks of all doors, and runs a command under a lock', async () => {
    const redis = await Redis.open(portsOf(0).redis);
    const zookeeper = await ZooKeeper.open(portsOf(1).zookeeper, 30_000);
    await redis.call('LOCK', 'ACQUIRE', 'listed-redis', 'me', 'PX', 60_000);
    await zookeeper.call(Op.create, body.create('/listed', ''));
    await zookeeper.call(Op.create, body.create('/listed/lock-', '', 3));
    const etcd = new Etcd(portsOf(0).etcd);
    const lease = await etcd.grant(60);
    const etcdLock = `listed-etcd/${lease.toString(16)}`;
    const put = await etcd.put(etcdLock, '', 5000, lease);
    const admin = `127.0.0.1:${portsOf(2).admin}`;
    const { stdout } = await run(process.execPath, [MAIN, 'locks', '--admin', admin, '--json']);
    const { locks } = JSON.parse(stdout) as {
      locks: { door: string; name: string; token: number }[];
    };
    const redisLock = locks.find(({ name }) => name.includes('listed-redis'));
    expect(redisLock).toMatchObject({ door: 'redis' });
    expect(redisLock?.token).toBe(await redis.call('LOCK', 'TOKEN', 'listed-redis'));
    expect(locks.find(({ name }) => name.includes('/listed'))).toMatchObject({ door: 'zookeeper' });

    const etcdRow = locks.find(({ name }) => name.includes('listed-etcd'));
    expect(etcdRow).toMatchObject({ door: 'etcd', token: put.header?.revision });
    etcd.close();

    const door = ['--redis', `127.0.0.1:${portsOf(1).redis}`];
    const script = ['sh', '-c', 'echo "token $LOCKSTEP_TOKEN"; exit 7'];
    const locked = run(process.execPath, [MAIN, 'lock', ...door, 'nightly', '--', ...script]);
    const failure = await locked.then(
      () => undefined,
      (error: { code: number; stdout: string }) => error,
    );
    expect(failure?.code).toBe(7);
    expect(failure?.stdout).toMatch(/^token \d+\n$/);
    expect(await redis.call('EXISTS', 'nightly')).toBe(0);
    redis.close();
    zookeeper.close();
  });
});
