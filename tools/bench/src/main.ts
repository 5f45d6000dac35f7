import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Recorder } from '@lockstep/checker';
import { startBarePipeline } from './bare-pipeline.ts';
import { startEmptyGrpc } from './empty-grpc.ts';
import { EtcdConnections } from './etcd-client.ts';
import { measureHandOver } from './hand-over.ts';
import { recordedEtcdClient, recordedRedisLockClient, recordedZooKeeperClient } from './history.ts';
import { drive, type LoadClient, type LoadResult } from './load.ts';
import {
  type LockstepServers,
  startEtcd,
  startLockstep,
  startRedis,
  startZooKeeper,
} from './processes.ts';
import { loadReleaseScript, RespConnection, redisLockClient, respCommand } from './redis-client.ts';
import { printHeader, printLine } from './report.ts';
import { zookeeperClient } from './zookeeper-client.ts';

const PARTS = ['core', 'ceilings', 'etcd', 'zookeeper', 'redis', 'hand-over'] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: 'string', default: '1,10,100,500' },
    seconds: { type: 'string', default: '5' },
    /** Before the first line of a workload, at 100 clients: a JIT compiles late. */
    'warm-up': { type: 'string', default: '5' },
    value: { type: 'string', default: '256' },
    /** Only the one member that clients talk to; default: spread over all three. */
    'one-member': { type: 'boolean', default: false },
    'node-args': { type: 'string', default: '' },
    'no-rival': { type: 'boolean', default: false },
    /** Records what clients of our doors see, for lockstep-checker; costs the load generator. */
    history: { type: 'string' },
  },
});
const parts = positionals.length > 0 ? positionals : [...PARTS];
const unknown = parts.find((part) => !(PARTS as readonly string[]).includes(part));
if (unknown !== undefined) {
  console.error(`bench: no part '${unknown}'; there are ${PARTS.join(', ')}`);
  process.exit(2);
}
// Each part has servers of its own, and with them a history of its own.
if (values.history !== undefined && parts.length !== 1) {
  console.error('bench: --history records one part; name one of etcd, zookeeper, redis');
  process.exit(2);
}
const counts = values.clients.split(',').map(Number);
const measureMs = Number(values.seconds) * 1000;
const value = Buffer.alloc(Number(values.value), 'v');
const recorder =
  values.history === undefined ? undefined : new Recorder(values.history, 'lockstep-bench');
const nodeArgs = values['node-args'].split(' ').filter((arg) => arg !== '');

type MakeClients = (count: number) => { clients: LoadClient[]; close: () => void };

const run = async (make: MakeClients, count: number): Promise<LoadResult> => {
  const { clients, close } = make(count);
  const result = await drive(clients, 1000, measureMs);
  close();
  return result;
};
const warmUp = async (make: MakeClients): Promise<void> => {
  const { clients, close } = make(100);
  await drive(clients, 0, Number(values['warm-up']) * 1000);
  close();
};
const many = (count: number, one: (id: number) => LoadClient): LoadClient[] =>
  Array.from({ length: count }, (_, id) => one(id));
const pick = (ports: readonly number[], id: number): number =>
  ports[values['one-member'] ? 0 : id % ports.length] ?? 0;

const etcd =
  (ports: readonly number[], kind: 'put' | 'get' | 'empty', recorder?: Recorder): MakeClients =>
  (count) => {
    const used = values['one-member'] ? ports.slice(0, 1) : ports;
    const connections = new EtcdConnections(used, Math.min(count, 30));
    return {
      clients: many(count, (id) =>
        recorder === undefined || kind === 'empty'
          ? connections.client(id, kind, value)
          : recordedEtcdClient(connections.session(id), id, kind, value, recorder),
      ),
      close: () => connections.close(),
    };
  };
const zookeeper =
  (ports: readonly number[], kind: 'set' | 'get', recorder?: Recorder): MakeClients =>
  (count) => ({
    clients: many(count, (id) =>
      recorder === undefined
        ? zookeeperClient(pick(ports, id), id, kind, value)
        : recordedZooKeeperClient(pick(ports, id), id, kind, value, recorder),
    ),
    close: () => undefined,
  });
const redis =
  (ports: readonly number[], sha: string, recorder?: Recorder): MakeClients =>
  (count) => ({
    clients: many(count, (id) =>
      recorder === undefined
        ? redisLockClient(pick(ports, id), id, sha)
        : recordedRedisLockClient(pick(ports, id), id, sha, recorder),
    ),
    close: () => undefined,
  });

/** Ours first, then the rival, count by count, in one run: both see the same machine. */
async function versus(name: string, ours: MakeClients, rival: MakeClients | undefined) {
  await warmUp(ours);
  if (rival !== undefined) await warmUp(rival);
  for (const count of counts) {
    const left = await run(ours, count);
    const right = rival === undefined ? undefined : await run(rival, count);
    printLine(name, left, right);
  }
}

/**
 * In one thread, without network or door: consensus alone, with its log in memory and with the
 * write-ahead log on a disk in memory; then three whole replicas.
 */
function benchCore(): void {
  const folder = new URL('../../../packages/replica/bench/', import.meta.url);
  const spawn = (script: string, ...args: readonly string[]): void => {
    const flags = ['--conditions=@lockstep/source', '--import', 'tsx'];
    const path = fileURLToPath(new URL(script, folder));
    spawnSync(process.execPath, [...flags, ...nodeArgs, path, ...args], { stdio: 'inherit' });
  };
  for (const log of ['memory', 'wal']) {
    for (const inFlight of ['1', '100', '1000']) spawn('consensus.ts', inFlight, log);
  }
  for (const inFlight of ['10', '100', '1000']) {
    for (const through of ['leader', 'follower']) spawn('replicas.ts', inFlight, '100000', through);
  }
}

async function benchCeilings(): Promise<void> {
  const bare = await startBarePipeline(24_100);
  const set = respCommand(['SET', 'bench:key', value]);
  await versus(
    'ceiling: bare pipeline',
    (count) => ({
      clients: many(count, () => {
        const connection = new RespConnection(bare.ports[0] ?? 0);
        return {
          next: (done) =>
            connection.send(set, (reply) => done(reply === '+OK' ? undefined : new Error(reply))),
          close: () => connection.close(),
        };
      }),
      close: () => undefined,
    }),
    undefined,
  );
  await bare.stop();
  const empty = await startEmptyGrpc(24_110);
  await versus('ceiling: empty gRPC', etcd(empty.ports, 'empty'), undefined);
  await empty.stop();
}

async function benchEtcd(ours: LockstepServers): Promise<void> {
  const rival = values['no-rival'] ? undefined : await startEtcd(24_200);
  for (const kind of ['put', 'get'] as const) {
    await versus(`etcd ${kind}`, etcd(ours.etcd, kind, recorder), rival && etcd(rival.ports, kind));
  }
  await rival?.stop();
}

async function benchZooKeeper(ours: LockstepServers): Promise<void> {
  const rival = values['no-rival'] ? undefined : await startZooKeeper(24_300);
  for (const kind of ['set', 'get'] as const) {
    const left = zookeeper(ours.zookeeper, kind, recorder);
    await versus(`ZooKeeper ${kind}`, left, rival && zookeeper(rival.ports, kind));
  }
  await rival?.stop();
}

async function benchRedis(ours: LockstepServers): Promise<void> {
  const rival = values['no-rival'] ? undefined : await startRedis(24_400);
  const sha = await loadReleaseScript(ours.redis[0] ?? 0);
  if (rival !== undefined) await loadReleaseScript(rival.ports[0] ?? 0);
  await versus('Redis lock', redis(ours.redis, sha, recorder), rival && redis(rival.ports, sha));
  await rival?.stop();
}

async function benchHandOver(ours: LockstepServers): Promise<void> {
  for (const port of ours.redis) {
    const result = await measureHandOver(port, 500);
    const ratio = (result.p50Ms / result.commitP50Ms).toFixed(2);
    console.log(
      `lock hand-over at ${port}: p50 ${result.p50Ms.toFixed(2)} ms, ` +
        `p99 ${result.p99Ms.toFixed(2)} ms, one commit ${result.commitP50Ms.toFixed(2)} ms, ` +
        `ratio ${ratio}`,
    );
  }
}

const wants = (part: (typeof PARTS)[number]): boolean => parts.includes(part);
console.log(`node ${process.version}, ${value.length}-byte values, ${values.seconds} s a line\n`);
if (wants('core')) benchCore();
if (parts.some((part) => part !== 'core')) printHeader();
if (wants('ceilings')) await benchCeilings();
const doors = [
  ['etcd', benchEtcd],
  ['zookeeper', benchZooKeeper],
  ['redis', benchRedis],
  ['hand-over', benchHandOver],
] as const;
for (const [part, bench] of doors) {
  if (!wants(part)) continue;
  const ours = await startLockstep(24_000, nodeArgs);
  await bench(ours);
  await ours.stop();
}
if (recorder !== undefined) {
  recorder.close();
  console.log(`${recorder.count} operations in ${recorder.path}`);
}
process.exit(0);
