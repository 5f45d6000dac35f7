import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemberTable } from '../../packages/admin/src/index.ts';
import { etcdDoor, redisDoor, startWriter, type Writer, zookeeperDoor } from '../chaos/load.ts';
import { etcdctls } from '../interop/etcd-targets.ts';
import { Cluster, Member } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { freePort } from '../support/ports.ts';
import { Redis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const MAIN = fileURLToPath(new URL('../../apps/lockstep/dist/main.js', import.meta.url));

/** Exit code of a member that is none any more. */
const NOT_A_MEMBER = 3;

interface Finished {
  readonly code: number;
  readonly text: string;
}

/** Runs a program to its end without holding up the writers of this process. */
async function run(file: string, ...args: string[]): Promise<Finished> {
  const env = { ...process.env, ETCDCTL_API: '3', NO_COLOR: '1' };
  try {
    const { stdout, stderr } = await promisify(execFile)(file, args, { env, timeout: 30_000 });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: stdout + stderr };
  }
}

/** How an operator changes the members: with one program or another, through any member. */
interface Operator {
  readonly name: string;
  add(through: Member, newcomer: Member): Promise<Finished>;
  promote(through: Member, member: Member): Promise<Finished>;
  remove(through: Member, member: Member): Promise<Finished>;
  list(through: Member): Promise<string>;
}

const peerOf = (member: Member): string => `127.0.0.1:${member.ports.peer}`;

async function rowsOf(through: Member): Promise<MemberTable['members']> {
  const answer = await fetch(`http://127.0.0.1:${through.ports.admin}/members`);
  if (!answer.ok) throw new Error(`/members of ${through.name}: ${answer.status}`);
  return ((await answer.json()) as MemberTable).members;
}

function lockstep(through: Member, ...words: string[]): Promise<Finished> {
  const admin = `127.0.0.1:${through.ports.admin}`;
  return run(process.execPath, MAIN, 'member', ...words, '--admin', admin);
}

const LOCKSTEP: Operator = {
  name: 'lockstep member',
  add: (through, { name, ports }) =>
    lockstep(through, 'add', name, '--peer', `127.0.0.1:${ports.peer}`),
  promote: (through, member) => lockstep(through, 'promote', member.name),
  remove: (through, member) => lockstep(through, 'remove', member.name),
  list: async (through) => (await lockstep(through, 'list')).text,
};

function etcdctl(file: string): Operator {
  const call = (through: Member, ...words: string[]): Promise<Finished> =>
    run(file, `--endpoints=127.0.0.1:${through.ports.etcd}`, 'member', ...words);
  const idOf = async (through: Member, member: Member): Promise<string> => {
    const rows = await rowsOf(through);
    return rows.find(({ peerAddress }) => peerAddress === peerOf(member))?.etcdId ?? 'none';
  };
  return {
    name: file,
    add: (through, { name, ports }) =>
      call(through, 'add', name, `--peer-urls=http://127.0.0.1:${ports.peer}`, '--learner'),
    promote: async (through, member) => call(through, 'promote', await idOf(through, member)),
    remove: async (through, member) => call(through, 'remove', await idOf(through, member)),
    list: async (through) => (await call(through, 'list')).text,
  };
}

const OPERATORS = [LOCKSTEP, ...etcdctls().map(etcdctl)];

function expectDone({ code, text }: Finished): void {
  expect(`${code} ${text}`).toMatch(/^0 /);
}

/** Starts a newcomer that was added and waits until it has its vote. */
async function join(cluster: Cluster, operator: Operator, newcomer: Member): Promise<void> {
  const through = cluster.members.at(-1)!;
  expectDone(await operator.add(through, newcomer));
  const early = await operator.promote(through, newcomer);
  expect(early.code).not.toBe(0);
  newcomer.start();
  await until(
    async () => (await operator.promote(through, newcomer)).code === 0,
    20_000,
    () => `${newcomer.name}: ${newcomer.output}`,
  );
  // It may hear of its own promotion a moment later, and answers as a learner until then.
  await until(async () => {
    const row = (await rowsOf(newcomer)).find(({ name }) => name === newcomer.name);
    return row?.role === 'voter' || row?.role === 'leader';
  }, 10_000);
  cluster.admit(newcomer);
}

/** Removes a member and waits until its process has ended by itself. */
async function leave(cluster: Cluster, operator: Operator, member: Member): Promise<void> {
  const through = cluster.members.find((each) => each !== member)!;
  expectDone(await operator.remove(through, member));
  await until(
    () => !member.running,
    10_000,
    () => `${member.name} runs on: ${member.output}`,
  );
  expect(member.exitCode).toBe(NOT_A_MEMBER);
  expect(member.output).toContain('this member was removed from the cluster');
  await cluster.forget(member);
}

describe('a cluster that grows and shrinks', () => {
  let cluster: Cluster;
  const writers: Writer[] = [];

  const write = (member: Member): void => {
    const doors = { etcd: etcdDoor, zk: zookeeperDoor, redis: redisDoor };
    for (const [door, open] of Object.entries(doors)) {
      writers.push(startWriter(`${door}-${member.name}`, open(member)));
    }
  };

  beforeAll(async () => {
    cluster = await Cluster.start(1);
    const client = await ZooKeeper.open(cluster.members[0]!.ports.zookeeper, 10_000);
    await client.call(Op.create, body.create('/load', ''));
    client.close();
  });
  afterAll(async () => {
    await Promise.all(writers.map((writer) => writer.stop()));
    await cluster?.stop();
  });

  it(`from one to three to five and back, with ${OPERATORS.map(({ name }) => name).join(', ')}`, {
    timeout: 180_000,
  }, async () => {
    const operatorOf = (step: number): Operator => OPERATORS[step % OPERATORS.length]!;
    write(cluster.members[0]!);
    for (let step = 0; cluster.members.length < 5; step++) {
      const newcomer = await cluster.newcomer();
      await join(cluster, operatorOf(step), newcomer);
      if (cluster.members.length === 3) write(newcomer);
    }
    await cluster.allHealthy();
    for (const operator of OPERATORS) {
      const listed = await operator.list(cluster.members[1]!);
      for (const { name } of cluster.members) expect(listed).toContain(name);
    }
    // The leader first, and again: nobody needs it to stay.
    for (let step = 0; cluster.members.length > 1; step++) {
      const gone = step % 2 === 0 ? await cluster.leader() : cluster.members.at(-1)!;
      await leave(cluster, operatorOf(step), gone);
    }
    await Promise.all(writers.map((writer) => writer.stop()));
    await everythingIsThere(cluster.members[0]!, writers);
  });
});

/** Every acknowledged write through one member, each once. */
async function everythingIsThere(member: Member, writers: readonly Writer[]): Promise<void> {
  const etcd = new Etcd(member.ports.etcd);
  const redis = await Redis.open(member.ports.redis);
  const zookeeper = await ZooKeeper.open(member.ports.zookeeper, 10_000);
  const { kvs } = await etcd.prefix('load/');
  const keys = new Set(kvs.map(({ key }) => key.toString().slice('load/'.length)));
  let count = 0;
  for (const { journal } of writers) {
    for (const key of journal.acknowledged) {
      count += 1;
      if (key.startsWith('etcd')) expect(keys).toContain(key);
      else if (key.startsWith('redis')) expect(await redis.call('GET', `load:${key}`)).toBe('1');
      else {
        const { error } = await zookeeper.call(Op.exists, body.read(`/load/${key}`));
        expect({ key, error }).toEqual({ key, error: 0 });
      }
    }
  }
  for (const client of [etcd, redis, zookeeper]) client.close();
  expect(count).toBeGreaterThan(100);
  console.log(`${count} acknowledged writes, all there`);
}

describe('a member', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start(3);
  });
  afterAll(() => cluster?.stop());

  it('whose directory was lost says what to do, and comes back as a new one', async () => {
    const lost = await cluster.follower();
    await lost.stop();
    rmSync(`${cluster.directory}/${lost.name}`, { recursive: true });
    lost.start();
    await until(() => !lost.running, 10_000);
    expect(lost.exitCode).toBe(NOT_A_MEMBER);
    expect(lost.output).toMatch(/has run with another data directory.*lockstep member remove/);
    const again = await cluster.newcomer(lost);
    const through = cluster.members.find((member) => member !== lost)!;
    expect(await LOCKSTEP.remove(through, lost)).toMatchObject({ code: 0 });
    await cluster.forget(lost);
    await join(cluster, LOCKSTEP, again);
    await cluster.allHealthy();
  });

  it('that was removed while it was away stops when it comes back', async () => {
    const away = await cluster.follower();
    await away.stop();
    const through = cluster.members.find((member) => member !== away)!;
    expect(await LOCKSTEP.remove(through, away)).toMatchObject({ code: 0 });
    away.start();
    await until(() => !away.running, 10_000);
    expect(away.exitCode).toBe(NOT_A_MEMBER);
    expect(away.output).toContain('this member was removed from the cluster');
    const again = await cluster.newcomer(away);
    await cluster.forget(away);
    await join(cluster, LOCKSTEP, again);
    await cluster.allHealthy();
  });

  it('that nobody has added is told how that is done', async () => {
    const stranger = await cluster.newcomer();
    stranger.start();
    await until(() => !stranger.running, 10_000);
    expect(stranger.output).toContain(
      `add it first: lockstep member add ${stranger.name} --peer ${peerOf(stranger)}`,
    );
  });

  it('is not formed a second time by flags that say new', async () => {
    const stranger = await cluster.newcomer();
    const words = stranger.args.slice(1).map((word) => (word === 'existing' ? 'new' : word));
    const second = new Member(stranger.name, stranger.ports, words);
    second.start();
    await until(() => !second.running, 10_000);
    expect(second.output).toMatch(/belongs to cluster [0-9a-f]{16} already/);
  });

  it('gets its vote by itself when it was added as voter', async () => {
    const newcomer = await cluster.newcomer();
    const through = cluster.members[0]!;
    const added = await lockstep(
      through,
      'add',
      newcomer.name,
      '--peer',
      peerOf(newcomer),
      '--voter',
    );
    expect(added.text).toContain('--initial-cluster-state existing');
    newcomer.start();
    cluster.admit(newcomer);
    await until(async () => {
      const row = (await rowsOf(through)).find(({ name }) => name === newcomer.name);
      return row?.role === 'voter';
    }, 20_000);
    await cluster.allHealthy();
  });

  it('moves to another port: the others are told, then it is started there', async () => {
    const member = await cluster.follower();
    const through = cluster.members.find((each) => each !== member)!;
    await member.stop();
    const peer = await freePort();
    const to = `127.0.0.1:${peer}`;
    expectDone(await lockstep(through, 'update', member.name, '--peer', to));
    const words = member.args.slice(1).map((word) => (word === peerOf(member) ? to : word));
    const moved = new Member(member.name, { ...member.ports, peer }, words);
    cluster.members[cluster.members.indexOf(member)] = moved;
    moved.start();
    await cluster.allHealthy();
    expect((await rowsOf(moved)).map(({ peerAddress }) => peerAddress)).toContain(to);
  });

  it('that joined starts again, with the flags it had or without those of the cluster', async () => {
    const joined = cluster.members.at(-1)!;
    await joined.stop();
    joined.start();
    await cluster.allHealthy();
    await joined.stop();
    const at = joined.args.indexOf('--initial-cluster');
    const fewer = [...joined.args.slice(1, at), ...joined.args.slice(at + 4)];
    expect(fewer.join(' ')).not.toContain('initial');
    const again = new Member(joined.name, joined.ports, fewer);
    cluster.members[cluster.members.length - 1] = again;
    again.start();
    await cluster.allHealthy();
  });
});
