import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkHistory,
  holds,
  monotonicNs,
  Recorder,
  readHistory,
  summarize,
  tell,
} from '../../tools/checker/src/index.ts';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';
import { EtcdLease } from './clients/etcd-lease.ts';
import { EtcdLock } from './clients/etcd-lock.ts';
import { EtcdRegister } from './clients/etcd-register.ts';
import { EtcdWatcher } from './clients/etcd-watcher.ts';
import { RedisLease } from './clients/redis-lease.ts';
import { RedisLock } from './clients/redis-lock.ts';
import { RedisRegister } from './clients/redis-register.ts';
import { LOCK, RESOURCE, ZooKeeperLock } from './clients/zookeeper-lock.ts';
import { NODES, nodeOf, ZooKeeperRegister } from './clients/zookeeper-register.ts';
import { ZooKeeperWatcher } from './clients/zookeeper-watcher.ts';
import { SlowDisks, SmallDisks } from './disks.ts';
import { readEverything } from './final-reads.ts';
import { COMPANIONS, type Fault, Nemesis } from './nemesis.ts';
import { PeerNetwork } from './peer-network.ts';
import { Random } from './random.ts';
import { type Actor, Stage } from './stage.ts';

export interface Scenario {
  readonly name: string;
  readonly seed: number;
  readonly seconds: number;
  readonly faults: readonly Fault[];
  /** Two at a time: another nemesis with faults that go together with any. */
  readonly together?: boolean;
  /** Disks that can be filled, which are memory and so never slow. */
  readonly smallDisks?: boolean;
  readonly slowDisks?: boolean;
  /** The build that members start as, when it is not this one. */
  readonly main?: string;
}

/**
 * Breaks a cluster of three while clients of all doors run, and judges what they saw. Prints what
 * happened; gives whether all of it holds.
 */
export async function play(scenario: Scenario): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-chaos-'));
  const network = new PeerNetwork();
  const smallDisks = scenario.smallDisks ? new SmallDisks() : undefined;
  const slowDisks = scenario.slowDisks ? SlowDisks.build(directory) : undefined;
  const cluster = await Cluster.start(3, ['--log-level', 'info'], {
    peerProxy: async (_, port) => network.proxy(port, await freePort()),
    ...(smallDisks && { dataDirectory: (name, parent) => smallDisks.add(name, parent) }),
    ...(slowDisks && { env: (name) => slowDisks.env(name) }),
    ...(scenario.main !== undefined && { main: scenario.main }),
  });
  for (const member of cluster.members) member.outputMax = 4_000_000;
  const path = join(directory, 'history.ndjson');
  const recorder = new Recorder(path, `chaos: ${scenario.name}`, String(scenario.seed));
  const stage = new Stage(cluster, recorder, scenario.seed);
  const report: string[] = [];
  const startedAt = performance.now();
  const log = (line: string): void => {
    report.push(`${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${line}`);
  };
  let good = false;
  try {
    const stopping = (): boolean => stage.stopping;
    const ids = new Map(cluster.members.map((member, i) => [member, i + 1]));
    const field = { cluster, network, ids, smallDisks, slowDisks, stopping, log };
    const nemesis = new Nemesis(field);
    await run(stage, nemesis, scenario);
    const lost = await readEverything(stage);
    const hashes = new Set(await cluster.stateHashes(30_000));
    recorder.close();
    const { operations } = readHistory(path);
    const verdicts = checkHistory(operations);
    const failures = cluster.members.reduce((sum, member) => sum + member.failures, 0);
    const faults = [...nemesis.counts].map(([fault, count]) => `${fault} ${count}`);
    report.push(
      `faults: ${faults.join(', ')}`,
      summarize(operations),
      ...verdicts.flatMap(tell),
      `acknowledged unique keys: ${stage.acknowledged.length}, lost: ${lost}`,
      `members that stopped by themselves: ${failures}`,
      `states: ${hashes.size === 1 ? 'equal' : [...hashes].join(' ')}`,
    );
    good = holds(verdicts) && lost === 0 && failures === 0 && hashes.size === 1;
  } finally {
    if (!good) report.push(keep(scenario, cluster, recorder));
    await Promise.all(cluster.members.map((member) => member.stop()));
    smallDisks?.unmount();
    await cluster.stop();
    await network.close();
    rmSync(directory, { recursive: true, force: true });
    const { name, seconds, seed } = scenario;
    console.log([`${name}, ${seconds} s, seed ${seed}`, ...report].join('\n'));
  }
  return good;
}

/** All clients and the nemesis for that long; afterwards everything serves and is quiet. */
async function run(stage: Stage, nemesis: Nemesis, scenario: Scenario): Promise<void> {
  const { seconds, seed, faults, together } = scenario;
  const from = await prepare(stage);
  const watchers = stage.cluster.members.map(
    ({ name }, i) => new EtcdWatcher(stage, `watch-${name}`, i, from),
  );
  const running = [...actors(stage), ...watchers].map((actor) => actor.run());
  const end = setTimeout(() => {
    stage.stopping = true;
  }, seconds * 1000);
  try {
    await Promise.all([
      nemesis.run(faults, new Random(seed, 'nemesis')),
      together && nemesis.run(COMPANIONS, new Random(seed, 'companion')),
    ]);
    await nemesis.heal();
  } finally {
    clearTimeout(end);
    stage.stopping = true;
    await Promise.all(running);
  }
  await watchToTheEnd(stage, watchers);
}

function actors(stage: Stage): Actor[] {
  const all: Actor[] = [];
  stage.cluster.members.forEach((_, i) => {
    all.push(
      new EtcdRegister(stage, 'etcd', `e${i}`, i),
      new ZooKeeperRegister(stage, 'zookeeper', `z${i}`, i),
      new RedisRegister(stage, 'redis', `r${i}`, i),
      new ZooKeeperWatcher(stage, 'zookeeper', `zw${i}`, i),
      new EtcdLock(stage, 'etcd', `el${i}`),
      new ZooKeeperLock(stage, 'zookeeper', `zl${i}`),
      new RedisLock('LOCK family', stage, 'redis', `rl${i}`),
      new RedisLock('SET NX', stage, 'redis', `rs${i}`),
    );
  });
  // These move from member to member.
  all.push(
    new EtcdRegister(stage, 'etcd', 'e*'),
    new ZooKeeperRegister(stage, 'zookeeper', 'z*'),
    new RedisRegister(stage, 'redis', 'r*'),
    new EtcdLease(stage, 'etcd', 'ee'),
    new RedisLease(stage, 'redis', 're'),
  );
  return all;
}

/** The nodes that ZooKeeper clients expect; gives the revision at which watching begins. */
async function prepare({ cluster, recorder }: Stage): Promise<number> {
  const [member] = cluster.members;
  if (member === undefined) throw new Error('no members');
  const zookeeper = await ZooKeeper.open(member.ports.zookeeper);
  const nodes = ['/chaos', '/chaos/u', LOCK, RESOURCE];
  for (let i = 0; i < NODES; i++) nodes.push(nodeOf(i));
  for (const path of nodes) {
    const call = monotonicNs();
    const { error, zxid } = await zookeeper.call(Op.create, body.create(path, ''));
    if (error !== 0) throw new Error(`create ${path}: ${error}`);
    const when = { call, return: monotonicNs(), outcome: 'ok', revision: Number(zxid) } as const;
    const base = { client: 'preparation', door: 'zookeeper', key: path } as const;
    recorder.record({ ...base, ...when, op: 'write', value: '' });
  }
  zookeeper.close();
  const etcd = new Etcd(member.ports.etcd);
  const { header } = await etcd.put('before', 'x');
  etcd.close();
  return (header?.revision ?? 0) + 1;
}

/** Watchers are complete when they have been told the last write of all. */
async function watchToTheEnd(stage: Stage, watchers: readonly EtcdWatcher[]): Promise<void> {
  const [member] = stage.cluster.members;
  const etcd = new Etcd(member?.ports.etcd ?? 0);
  const { header } = await etcd.put('chaos/end', 'x');
  etcd.close();
  const revision = header?.revision ?? 0;
  stage.stopping = false;
  const running = watchers.map((watcher) => watcher.run());
  await until(() => watchers.every(({ last }) => last >= revision), 30_000).catch(() => undefined);
  stage.stopping = true;
  await Promise.all(running);
  // Whoever was not told by now has missed it.
  for (const watcher of watchers) watcher.complete(revision);
}

/** Keeps what is needed to find out why, and says where. */
function keep(scenario: Scenario, cluster: Cluster, recorder: Recorder): string {
  recorder.flush();
  const name = `lockstep-chaos-failure-${scenario.name.replaceAll(' ', '-')}-${scenario.seed}`;
  const kept = join(tmpdir(), name);
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept);
  cpSync(recorder.path, join(kept, 'history.ndjson'));
  for (const member of cluster.members) {
    writeFileSync(join(kept, `${member.name}.log`), member.output);
  }
  return `kept in ${kept}: history.ndjson and the members' logs`;
}
