import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { etcdExtension, startEtcdDoor } from '@lockstep/adapter-etcd';
import type { Clock, Random, Scheduler } from '@lockstep/model';
import { createLocalReplica, LocalImage } from '@lockstep/replica';
import { createStateMachine, encodeHello } from '@lockstep/state-machine';
import { Cluster } from '../support/cluster.ts';
import { freePort } from '../support/ports.ts';

/** A cluster that etcdctl can talk to. */
export interface EtcdTarget {
  readonly endpoints: string;
  close(): Promise<void>;
}

function which(name: string): string | undefined {
  try {
    return execFileSync('which', [name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** The reference server, when it is installed. */
export const ETCD = which('etcd');

/** Every etcdctl found: the system's, and those that build-etcdctl.sh has made. */
export function etcdctls(): string[] {
  const found = which('etcdctl');
  const tools = process.env.LOCKSTEP_TOOLS ?? join(homedir(), '.cache', 'lockstep-tools');
  const built = existsSync(tools)
    ? readdirSync(tools)
        .filter((name) => name.startsWith('etcdctl-'))
        .map((name) => join(tools, name))
    : [];
  return [...(found === undefined ? [] : [found]), ...built];
}

/** Starts a fresh one-member etcd. */
export async function startReference(): Promise<EtcdTarget> {
  const directory = mkdtempSync(join(tmpdir(), 'etcd-reference-'));
  const client = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(ETCD!, [
    ...['--name', 'n1', '--data-dir', join(directory, 'data')],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `n1=${peer}`, '--logger', 'zap'],
  ]);
  await healthy(child, client);
  return {
    endpoints: client.slice('http://'.length),
    async close() {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function healthy(child: ChildProcess, url: string): Promise<void> {
  let log = '';
  child.stderr!.on('data', (bytes) => {
    log += bytes;
  });
  while (child.exitCode === null) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`etcd ended: ${log}`);
}

const clock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
const scheduler: Scheduler = { post: (callback) => void setImmediate(callback) };
const random: Random = {
  u32: () => Math.floor(Math.random() * 2 ** 32),
  fill: (bytes) => void crypto.getRandomValues(bytes),
};

/** Our door over a member without a log, in this process. */
export async function startLocalDoor(): Promise<EtcdTarget> {
  const address = `127.0.0.1:${await freePort()}`;
  const image = new LocalImage();
  const stateMachine = createStateMachine({
    extensions: [etcdExtension],
    image,
    bootstrap: {
      clusterId: 0x70c4_57e9_1234_5678n,
      members: [
        { id: 1, name: 'n1', etcdId: 0x1cee_d5a1_7b2c_0d3en, peerAddress: '127.0.0.1:2380' },
      ],
      options: {},
      electionTimeoutMs: 1000,
    },
  });
  const hello = encodeHello({
    member: 1,
    incarnation: 1,
    name: 'n1',
    version: '0.1.0',
    featureLevel: 1,
    dataDirectory: '00000000-0000-4000-8000-000000000001',
    addresses: { etcd: address },
  });
  const replica = createLocalReplica({ stateMachine, image, hello, clock, scheduler });
  const ports = { clock, random, scheduler };
  const handle = await new Promise<{ close(done: () => void): void }>((resolve, reject) => {
    startEtcdDoor({ replica, ports, address }, (error, started) => {
      if (error !== undefined) reject(error);
      else resolve(started!);
    });
  });
  return {
    endpoints: address,
    async close() {
      await new Promise<void>((resolve) => handle.close(resolve));
      replica.close();
    },
  };
}

/** A fresh cluster of three real members, asked through one that does, or does not, lead. */
async function startCluster(asked: Asked): Promise<EtcdTarget> {
  const cluster = await Cluster.start();
  const leader = await cluster.leader();
  const [first, second] = cluster.members.filter((member) => member !== leader);
  const { ports } = { leader, follower: first!, 'other follower': second! }[asked];
  return { endpoints: `127.0.0.1:${ports.etcd}`, close: () => cluster.stop() };
}

export const MEMBERS = ['leader', 'follower', 'other follower'] as const;
export type Asked = (typeof MEMBERS)[number];

/**
 * What is compared with the reference: a fresh cluster of real members, or a local door when
 * LOCKSTEP_ETCD is `local`, or the fresh cluster at LOCKSTEP_ETCD_ENDPOINTS.
 */
export async function startOurs(asked: Asked = 'follower'): Promise<EtcdTarget> {
  const endpoints = process.env.LOCKSTEP_ETCD_ENDPOINTS;
  if (endpoints !== undefined) return { endpoints, close: () => Promise.resolve() };
  if (process.env.LOCKSTEP_ETCD === 'local') return await startLocalDoor();
  return await startCluster(asked);
}
