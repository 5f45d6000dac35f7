import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { encodeHandshake, type Handshake } from '../../packages/transport/src/handshake.ts';
import { Cluster, type Member } from '../support/cluster.ts';
import { Redis } from '../support/redis.ts';
import { until } from '../support/until.ts';

describe('strangers at the peer port', () => {
  let cluster: Cluster;
  let victim: Member;
  let clusterId = '';
  let revision: number | undefined;
  beforeAll(async () => {
    cluster = await Cluster.start();
    victim = await cluster.leader();
    clusterId = (await victim.status())?.self.clusterId ?? '';
    const redis = await Redis.open(victim.ports.redis);
    await redis.call('SET', 'kept', 'x');
    redis.close();
    revision = (await victim.status())?.self.revision;
  });
  afterAll(() => cluster?.stop());

  /** The member leads on, lost nothing, and holds no connection of a stranger. */
  const nothingHappened = async (): Promise<void> => {
    expect(await victim.healthy()).toBe(true);
    const self = (await victim.status())?.self;
    expect(self?.role).toBe('leader');
    expect(self?.revision).toBe(revision);
    // Leases of members are renewed meanwhile, so the hash moves, but everywhere alike.
    expect(new Set(await cluster.stateHashes()).size).toBe(1);
    const sockets = () => readdirSync(`/proc/${victim.pid}/fd`).length;
    await until(
      () => sockets() < 120,
      10_000,
      () => `${sockets()} open files`,
    );
  };
  const raw = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(victim.ports.peer, '127.0.0.1', () => resolve(socket));
      socket.on('error', reject);
    });
  const gone = (socket: Socket): Promise<unknown> =>
    new Promise((resolve) => {
      socket.resume();
      socket.on('error', () => {});
      socket.once('close', resolve);
    });
  const lines = (part: string): number => victim.output.split(part).length - 1;

  const id = (): number => Number(victim.name.slice(1));
  const dial = (...messages: (Uint8Array | string)[]): Promise<string> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${victim.ports.peer}/peer`);
      socket.on('open', () => {
        for (const message of messages) socket.send(message);
      });
      socket.on('error', () => {});
      socket.once('close', (code, reason) => resolve(`${code} ${reason}`));
    });
  const hello = (change: Partial<Handshake>): Uint8Array =>
    encodeHandshake({
      protocol: 1,
      channel: 'control',
      cluster: clusterId,
      member: (id() % 3) + 1,
      target: id(),
      incarnation: 1000,
      dataDirectory: 'somewhere-else',
      link: 1,
      levels: { oldest: 1, newest: 2 },
      ...change,
    });

  it('random bytes, half a request, half a handshake: each is closed in time', async () => {
    const sockets = await Promise.all(Array.from({ length: 30 }, raw));
    const closed = Promise.all(sockets.map(gone));
    sockets.forEach((socket, i) => {
      if (i % 3 === 0) socket.write(randomBytes(1 + i * 100));
      else if (i % 3 === 1) socket.write('GET /peer HTTP/1.1\r\nUpg');
    });
    await closed;
    await nothingHappened();
    expect(lines('no request')).toBeGreaterThan(0);
    expect(lines('no request')).toBeLessThan(10);
  });

  it('handshakes of another cluster, version, id or directory are refused by name', async () => {
    expect(await dial(hello({ cluster: '00000000000000bb' }))).toContain('4001 cluster');
    expect(await dial(hello({ protocol: 7 }))).toContain('4001 peer protocol 7');
    expect(await dial(hello({ member: 77 }))).toContain('4001 member 77 is not known here');
    expect(await dial(hello({ target: 99 }))).toContain('4001 member 99 was wanted');
    expect(await dial(hello({ member: id() }))).toContain('is this member');
    expect(await dial(hello({}))).toContain('is bound to another data directory');
    expect(await dial('hello')).toContain('4001 text frames are not spoken here');
    expect(await dial(randomBytes(200))).toMatch(/^4001 /);
    expect(await dial(new Uint8Array(8 * 1024 * 1024))).not.toContain('4001');
    await nothingHappened();
    for (const cause of [
      'cluster 00000000000000bb is not',
      'peer protocol 7 is not',
      'member 77 is not known here',
      'member 99 was wanted',
      'is this member: check addresses',
      'is bound to another data directory',
      'text frames are not spoken here',
      'more came than a handshake',
    ]) {
      expect(lines(cause), cause).toBe(1);
    }
  });

  it('a sender of one byte a second never gets in', async () => {
    const socket = await raw();
    const closed = gone(socket);
    const text = 'GET /peer HTTP/1.1\r\nHost: x\r\n';
    let at = 0;
    const dribble = setInterval(() => socket.write(text[at++ % text.length] ?? ''), 500);
    await closed;
    clearInterval(dribble);
    await nothingHappened();
  });

  it('a flood of connections ends with few lines in the log', async () => {
    const before = victim.output.length;
    await Promise.all(Array.from({ length: 300 }, () => dial(randomBytes(30))));
    await nothingHappened();
    const flood = victim.output.slice(Math.min(before, victim.output.length)).split('\n').length;
    expect(flood).toBeLessThan(60);
  });
});
