import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import Redlock from 'redlock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisTarget, startOurs } from './redis-targets.ts';

/** Client libraries as people use them, each against the first and the last member. */

const tools = process.env.LOCKSTEP_TOOLS ?? join(homedir(), '.cache', 'lockstep-tools');
const python = join(tools, 'redis-py', 'bin', 'python');
const required = process.env.CI !== undefined;

describe('client libraries', () => {
  let targets: RedisTarget[] = [];
  let first: RedisTarget;
  let last: RedisTarget;

  beforeAll(async () => {
    targets = await startOurs();
    first = targets[0]!;
    last = targets.at(-1)!;
  });

  afterAll(async () => {
    await Promise.all(targets.map((target) => target.close()));
  });

  it('ioredis: commands, pipelines, scripts, transactions, pub/sub', async () => {
    const [client, other] = [new Redis(first.port, first.host), new Redis(last.port, last.host)];
    try {
      expect(await client.set('io:lock', 'me', 'PX', 30_000, 'NX')).toBe('OK');
      expect(await other.set('io:lock', 'you', 'PX', 30_000, 'NX')).toBeNull();
      expect(await other.pttl('io:lock')).toBeGreaterThan(29_000);
      const script =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end";
      client.defineCommand('release', { numberOfKeys: 1, lua: script });
      const release = client as unknown as {
        release(key: string, owner: string): Promise<unknown>;
      };
      expect(await release.release('io:lock', 'you')).toBeNull();
      expect(await release.release('io:lock', 'me')).toBe(1);
      const results = await client.multi().set('io:a', '1').incr('io:a').get('io:a').exec();
      expect(results).toEqual([
        [null, 'OK'],
        [null, 2],
        [null, '2'],
      ]);
      const pipeline = client.pipeline();
      for (let i = 0; i < 500; i++) pipeline.set('io:p', i).get('io:p');
      const replies = (await pipeline.exec())!;
      expect(replies.filter((_, i) => i % 2 === 1).map(([, value]) => Number(value))).toEqual(
        Array.from({ length: 500 }, (_, i) => i),
      );
      const message = new Promise((resolve) => other.on('message', (...parts) => resolve(parts)));
      await other.subscribe('io:channel');
      await client.publish('io:channel', 'hello');
      expect(await message).toEqual(['io:channel', 'hello']);
    } finally {
      client.disconnect();
      other.disconnect();
    }
  });

  it('node-redis: RESP3, WATCH, LOCK with a queue', async () => {
    const open = ({ host, port }: RedisTarget) =>
      createClient({ socket: { host, port }, RESP: 3 }).connect();
    const [client, other] = [await open(first), await open(last)];
    try {
      const lock = ['LOCK', 'ACQUIRE', 'nr:lock'];
      const token = Number(await client.sendCommand([...lock, 'me', 'PX', '30000']));
      expect(token).toBeGreaterThan(1);
      const queued = other.sendCommand([...lock, 'you', 'PX', '30000', 'BLOCK', '10000']);
      while (
        ((await client.sendCommand(['LOCK', 'QUEUE', 'nr:lock'])) as unknown as []).length < 1
      );
      await client.sendCommand(['LOCK', 'RELEASE', 'nr:lock', 'me']);
      const next = Number(await queued);
      expect(next).toBeGreaterThan(token);
      await expect(
        client.sendCommand(['GUARD', 'nr:lock', String(token), 'SET', 'nr:data', 'x']),
      ).rejects.toThrow(`FENCED Stale token ${token} for 'nr:lock', current is ${next}`);
      await client.watch('nr:w');
      await other.set('nr:w', '1');
      await expect(client.multi().set('nr:w', '2').exec()).rejects.toThrow();
      expect(await client.get('nr:w')).toBe('1');
      await other.sendCommand(['LOCK', 'RELEASE', 'nr:lock', 'you']);
    } finally {
      client.destroy();
      other.destroy();
    }
  });

  it('redlock over one endpoint: acquire, extend, release, and the next one gets it', async () => {
    const client = new Redis(first.port, first.host);
    const redlock = new Redlock([client as never], { retryCount: 0 });
    try {
      const lock = await redlock.lock('rl:job', 5_000);
      await expect(redlock.lock('rl:job', 5_000)).rejects.toThrow();
      const extended = await lock.extend(10_000);
      expect(await client.pttl('rl:job')).toBeGreaterThan(9_000);
      await extended.unlock();
      await (await redlock.lock('rl:job', 5_000)).unlock();
    } finally {
      client.disconnect();
    }
  });

  it.runIf(existsSync(python) || required)('redis-py: Lock', async () => {
    const program = new URL('./redis/lock.py', import.meta.url).pathname;
    const args = [program, first.host, String(first.port), last.host, String(last.port)];
    const { stdout } = await promisify(execFile)(python, args);
    expect(stdout.trim()).toBe('ok');
  });
});
