import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redisExtension, startRedisDoor } from '@lockstep/adapter-redis';
import type { Clock, Random, Scheduler } from '@lockstep/model';
import { createLocalReplica, LocalImage } from '@lockstep/replica';
import { createStateMachine, encodeHello, FEATURE_LEVEL } from '@lockstep/state-machine';
import { freePort } from '../support/ports.ts';

/** A server that speaks RESP, at `127.0.0.1`. */
export interface RedisTarget {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The reference server, when it is installed. */
export const REDIS_SERVER = which('redis-server');

function which(name: string): string | undefined {
  try {
    return execFileSync('which', [name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** Starts a fresh Redis without persistence. */
export async function startReference(): Promise<RedisTarget> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'redis-reference-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory];
  const child = spawn(REDIS_SERVER!, args, { stdio: 'ignore' });
  await accepting(child, port);
  return {
    host: '127.0.0.1',
    port,
    async close() {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function accepting(child: ChildProcess, port: number): Promise<void> {
  while (child.exitCode === null) {
    const connected = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('redis-server ended');
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

/**
 * What is tested: the addresses in LOCKSTEP_REDIS (`host:port,host:port`, the members of a running
 * cluster), or else our door over a member without a log, in this process.
 */
export async function startOurs(): Promise<RedisTarget[]> {
  const given = process.env.LOCKSTEP_REDIS;
  if (given === undefined) return [await startLocalDoor()];
  return given.split(',').map((address) => {
    const split = address.lastIndexOf(':');
    const port = Number(address.slice(split + 1));
    return { host: address.slice(0, split), port, close: async () => {} };
  });
}

function startLocalDoor(): Promise<RedisTarget> {
  const image = new LocalImage();
  const stateMachine = createStateMachine({
    extensions: [redisExtension],
    image,
    bootstrap: {
      clusterId: 1n,
      members: [{ id: 1, name: 'n1', etcdId: 1n, peerAddress: '127.0.0.1:2380' }],
      options: {},
      // The local replica has no leader that would renew its member's lease.
      electionTimeoutMs: 1_000_000_000,
    },
  });
  const hello = encodeHello({
    member: 1,
    incarnation: 1,
    name: 'n1',
    version: '0.1.0',
    featureLevel: FEATURE_LEVEL,
    dataDirectory: 'interop',
    addresses: {},
  });
  const replica = createLocalReplica({ stateMachine, clock, scheduler, image, hello });
  return new Promise((resolve, reject) => {
    startRedisDoor({ replica, clock, random, address: '127.0.0.1:0' }, (error, door) => {
      if (error !== undefined || door === undefined) {
        reject(error);
        return;
      }
      const port = Number(door.address.split(':').at(-1));
      const close = () =>
        new Promise<void>((closed) => {
          door.close(() => {
            replica.close();
            closed();
          });
        });
      resolve({ host: '127.0.0.1', port, close });
    });
  });
}
