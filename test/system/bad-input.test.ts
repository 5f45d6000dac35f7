import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { Etcd } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const DOORS = ['etcd', 'zookeeper', 'redis', 'peer', 'admin'] as const;

function raw(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
    socket.on('error', () => undefined);
  });
}

const residentBytes = async (adminPort: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
};

describe('bad input at every door', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  /** Every door still does its work for others, with answers in bounded time. */
  const othersDoNotNotice = async (): Promise<void> => {
    const [member] = cluster.members;
    if (member === undefined) throw new Error('no member');
    const etcd = new Etcd(member.ports.etcd);
    await etcd.put('others', 'x', 5000);
    etcd.close();
    const redis = await Redis.open(member.ports.redis);
    expect(await redis.call('SET', 'others', 'x')).toBe('OK');
    redis.close();
    const zookeeper = await ZooKeeper.open(member.ports.zookeeper);
    const exists = await zookeeper.call(Op.exists, body.read('/'));
    expect(exists.error).toBe(0);
    zookeeper.close();
  };

  it.each(DOORS)('%s: random bytes end in an error or a closed connection', async (door) => {
    const port = cluster.members[0]?.ports[door] ?? 0;
    for (let round = 0; round < 20; round++) {
      const socket = await raw(port);
      const over = new Promise((resolve) => {
        socket.once('close', resolve);
        socket.once('data', resolve);
      });
      socket.write(randomBytes(1 + ((round * 997) % 5000)));
      // What looks like half a frame may wait for the rest; that ends when we half-close.
      socket.end();
      await over;
      socket.destroy();
    }
    await othersDoNotNotice();
  });

  it('oversized frames are refused without being stored', async () => {
    const ports = cluster.members[0]?.ports;
    if (ports === undefined) throw new Error('no member');
    const redis = await raw(ports.redis);
    const answer = new Promise<string>((resolve) =>
      redis.once('data', (bytes) => resolve(bytes.toString())),
    );
    redis.write('*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$999999999\r\n');
    expect(await answer).toMatch(/^-ERR Protocol error: invalid bulk length/);
    const zookeeper = await raw(ports.zookeeper);
    const closed = new Promise((resolve) => zookeeper.once('close', resolve));
    zookeeper.write(Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]));
    await closed;
    const etcd = new Etcd(ports.etcd);
    const error = await etcd.put('big', 'x'.repeat(3 * 1024 * 1024)).catch((e: Error) => e);
    expect(String(error)).toMatch(/too large|larger than max|RESOURCE_EXHAUSTED/);
    etcd.close();
    redis.destroy();
    await othersDoNotNotice();
  });

  it('half a frame and then silence holds nobody up', async () => {
    const ports = cluster.members[0]?.ports;
    if (ports === undefined) throw new Error('no member');
    const halves: [number, Buffer][] = [
      [ports.redis, Buffer.from('*2\r\n$3\r\nGET\r\n$10\r\nabc')],
      [ports.zookeeper, Buffer.from([0, 0, 0, 45, 0, 0])],
      [ports.etcd, Buffer.from('PRI * HTTP/2.0\r\n\r\nSM')],
      [ports.admin, Buffer.from('GET /sta')],
    ];
    const sockets = await Promise.all(
      halves.flatMap(([port, half]) =>
        Array.from({ length: 50 }, async () => {
          const socket = await raw(port);
          socket.write(half);
          return socket;
        }),
      ),
    );
    await othersDoNotNotice();
    for (const socket of sockets) socket.destroy();
  });

  it('100,000 pipelined requests whose replies nobody reads: memory stays bounded', async () => {
    const member = cluster.members[0];
    if (member === undefined) throw new Error('no member');
    const before = await residentBytes(member.ports.admin);

    const redis = await raw(member.ports.redis);
    redis.pause();
    const value = 'v'.repeat(1000);
    redis.write(`*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\n${value}\r\n`);
    redis.write('*2\r\n$3\r\nGET\r\n$1\r\nk\r\n'.repeat(100_000));

    const client = await ZooKeeper.open(member.ports.zookeeper, 30_000);
    await client.call(Op.create, body.create('/unread', value));
    const zookeeper = client.takeSocket();
    zookeeper.pause();
    const frames = Array.from({ length: 100_000 }, () =>
      client.encode(Op.getData, body.read('/unread')),
    );
    zookeeper.write(Buffer.concat(frames.map(({ frame }) => frame)));

    // The doors stop reading these sockets once replies pile up; others go on.
    await until(async () => {
      await othersDoNotNotice();
      return true;
    }, 10_000);
    const after = await residentBytes(member.ports.admin);
    expect((after - before) / 1024 / 1024).toBeLessThan(100);
    redis.destroy();
    zookeeper.destroy();
    await othersDoNotNotice();
  });
});
