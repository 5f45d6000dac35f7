import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, MAIN, Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

describe('a majority is lost for ever', () => {
  let cluster: Cluster;
  let survivor: Member;
  let token = 0;
  let revision = 0;
  let directory = '';
  beforeAll(async () => {
    cluster = await Cluster.start();
    const leader = await cluster.leader();
    // Of two members the one with the smaller id dials: the others can knock at the last one.
    const followers = cluster.members.filter((member) => member !== leader);
    survivor = followers.at(-1) as Member;
    directory = join(cluster.directory, survivor.name);
    const redis = await Redis.open(survivor.ports.redis);
    await redis.call('SET', 'kept', 'by redis');
    token = Number(await redis.call('LOCK', 'ACQUIRE', 'kept-lock', 'me', 'PX', 600_000));
    redis.close();
    const zookeeper = await ZooKeeper.open(survivor.ports.zookeeper, 30_000);
    await zookeeper.call(Op.create, body.create('/kept', 'by zookeeper'));
    zookeeper.close();
    const etcd = new Etcd(survivor.ports.etcd);
    for (let i = 0; i < 50; i++) await etcd.put(`kept/${i}`, 'by etcd');
    revision = Number((await etcd.put('kept/last', 'by etcd')).header?.revision);
    etcd.close();
    await Promise.all(cluster.members.map((member) => member.stop('SIGKILL')));
  });
  afterAll(() => cluster?.stop());

  const recover = (...flags: string[]) =>
    spawnSync(process.execPath, [MAIN, 'recover', '--data-dir', directory, ...flags], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  const identity = (): string => readFileSync(join(directory, 'identity.json'), 'utf8');
  /** What docs/recovery.md says undoes a recovery. */
  const restore = (before: string): void => {
    const { cluster: former } = JSON.parse(before.split('\n')[0] ?? '') as { cluster: string };
    copyFileSync(
      join(directory, `identity.json.before-${former}`),
      join(directory, 'identity.json'),
    );
  };
  /** As a supervisor starts it once the flags that formed the old cluster are taken out. */
  const startRecovered = async (): Promise<Member> => {
    const { name, ports, args } = survivor;
    const at = args.indexOf('--initial-cluster');
    const member = new Member(name, ports, [...args.slice(1, at), ...args.slice(at + 2)]);
    member.start();
    await until(
      () => member.healthy(),
      20_000,
      () => member.output,
    );
    return member;
  };

  it('says what it will do, and without --yes does nothing', () => {
    const before = identity();
    const { stdout, status } = recover();
    expect(stdout).toContain('is to become a cluster of its own');
    expect(stdout).toContain('members of the former one can no longer join it');
    expect(stdout).toContain('nothing was changed; pass --yes to go on');
    expect(status).toBe(1);
    expect(identity()).toBe(before);
  });

  it('refuses an address that nobody can dial, and changes nothing', () => {
    const before = identity();
    for (const address of ['1.2.3.4.5:1', 'h:99999', 'a,b=c:1', 'h:0', '']) {
      const refused = recover('--yes', '--advertise-peer', address);
      expect(refused.stderr).toContain('--advertise-peer');
      expect(refused.status).toBe(2);
    }
    expect(identity()).toBe(before);
  });

  it('killed at any moment has changed the directory as a whole or not at all', async () => {
    const before = identity();
    for (let ms = 400; ms < 2000 && identity() === before; ms += 400) {
      const killed = spawn(process.execPath, [MAIN, 'recover', '--data-dir', directory, '--yes'], {
        stdio: 'ignore',
      });
      const gone = new Promise((resolve) => killed.once('exit', resolve));
      setTimeout(() => killed.kill('SIGKILL'), ms);
      await gone;
      if (identity() !== before) continue;
      // Still the member that it was: its own log and image are untouched.
      const { stdout } = recover();
      expect(stdout).toContain('nothing was changed');
    }
    const now = JSON.parse(identity().split('\n')[0] ?? '') as { cluster: string; log?: string };
    expect(identity() === before || now.log === `wal-${now.cluster}`).toBe(true);
    if (identity() !== before) restore(before);
    expect(identity()).toBe(before);
  }, 60_000);

  it('makes the survivor a cluster of one with everything it had, revisions far ahead', async () => {
    const before = identity();
    const { stdout, stderr, status } = recover('--yes');
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toContain(`${survivor.name} is the only member of cluster`);
    const { cluster: former } = JSON.parse(before.split('\n')[0] ?? '') as { cluster: string };
    expect(readFileSync(join(directory, `identity.json.before-${former}`), 'utf8')).toBe(before);

    const member = await startRecovered();
    try {
      const status = await member.status();
      expect(status?.members.map(({ name }) => name)).toEqual([survivor.name]);
      expect(status?.self.clusterId).not.toBe(former);
      expect(status?.self.revision).toBeGreaterThanOrEqual(revision + 2 ** 32);

      const redis = await Redis.open(member.ports.redis);
      expect(await redis.call('GET', 'kept')).toBe('by redis');
      expect(Number(await redis.call('LOCK', 'TOKEN', 'kept-lock'))).toBe(token);
      const next = Number(await redis.call('SET', 'lock', 'me', 'NX', 'PX', 60_000, 'FENCE'));
      expect(next).toBeGreaterThan(revision + 2 ** 32);
      redis.close();
      const zookeeper = await ZooKeeper.open(member.ports.zookeeper);
      expect((await zookeeper.get('/kept'))?.data).toBe('by zookeeper');
      zookeeper.close();
      const etcd = new Etcd(member.ports.etcd);
      expect((await etcd.prefix('kept/')).kvs.length).toBe(51);
      await etcd.put('after', 'x');
      etcd.close();

      // A former member is started against all advice, and knocks.
      const stranger = cluster.members[0] as Member;
      stranger.start();
      await until(
        () => /cluster [0-9a-f]{16} is not [0-9a-f]{16}/.test(member.output),
        10_000,
        () => member.output,
      );
      expect((await member.status())?.members.length).toBe(1);
      expect(await member.healthy()).toBe(true);
      await stranger.stop();
    } finally {
      await member.stop('SIGKILL');
    }
    const again = await startRecovered();
    await again.stop('SIGTERM');
  }, 90_000);

  it('ignores the flags of the former cluster, and says so', async () => {
    survivor.start();
    await until(
      () => survivor.healthy(),
      20_000,
      () => survivor.output,
    );
    expect(survivor.output).toContain('this member was recovered into a cluster of its own');
    expect((await survivor.status())?.members.length).toBe(1);
    await survivor.stop('SIGTERM');
  });

  it('can be recovered once more, and is refused while it runs', async () => {
    const member = await startRecovered();
    const { stderr, status } = recover('--yes');
    expect(stderr).toContain(directory);
    expect(status).toBe(1);
    await member.stop('SIGKILL');
    expect(recover('--yes').status).toBe(0);
    const twice = await startRecovered();
    expect((await twice.status())?.self.revision).toBeGreaterThan(2 * 2 ** 32);
    await twice.stop('SIGTERM');
  }, 60_000);
});
