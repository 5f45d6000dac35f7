import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, type Member } from '../support/cluster.ts';
import { Etcd, type Watch } from '../support/etcd.ts';
import { Redis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { body, Op, ZooKeeper } from '../support/zookeeper.ts';

const WATCHERS = 100;
const OTHERS = 20;
/**
 * Together more than the leader keeps of its log, so that a snapshot must bring the rest. They go
 * before and behind what the clients wait for: what fits into the buffers of a socket reaches the
 * sleeper all the same.
 */
const BLOB = 'x'.repeat(500_000);
const BLOBS = 160;
/** Whoever heard nothing for so long after the member woke up stays silent. */
const SILENCE_MS = 30_000;

async function writeBlobs(etcd: Etcd): Promise<void> {
  for (let i = 0; i < BLOBS; i++) await etcd.put('blob', BLOB);
}

/** A raw RESP connection: what came, and whether it was closed. */
class Line {
  readonly #socket: Socket;
  received = '';
  closed = false;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => {
      this.closed = true;
    });
  }

  /** Sends a line and waits until the answers so far end with `end`. */
  async say(line: string, end: string): Promise<void> {
    this.#socket.write(`${line}\r\n`);
    await until(() => this.received.endsWith(end), 10_000);
    this.received = '';
  }

  send(line: string): void {
    this.#socket.write(`${line}\r\n`);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Clients of all doors of one member, each waiting for something that happens while it sleeps. */
class Audience {
  readonly zookeepers: ZooKeeper[] = [];
  readonly etcd: Etcd;
  readonly watches: Watch[] = [];
  readonly trackers: Line[] = [];
  readonly subscribers: Line[] = [];
  readonly blocked: Line[] = [];

  private constructor(member: Member) {
    this.etcd = new Etcd(member.ports.etcd);
  }

  static async gather({ ports }: Member, leader: Member): Promise<Audience> {
    const audience = new Audience({ ports } as Member);
    const writer = await ZooKeeper.attach(leader.ports.zookeeper, 40_000);
    for (let i = 0; i < WATCHERS; i++) {
      await writer.call(Op.create, body.create(`/watched-${i}`, ''));
    }
    writer.close();
    const keys = await Redis.open(leader.ports.redis);
    await keys.call('SET', 'lock', 'holder');
    await keys.call('SET', 'read', '1');
    keys.close();

    for (let i = 0; i < WATCHERS; i++) {
      const client = await ZooKeeper.attach(ports.zookeeper, 40_000);
      await client.call(Op.sync, body.path('/'));
      const { error } = await client.call(Op.getData, body.read(`/watched-${i}`, true));
      expect(error).toBe(0);
      client.frames.length = 0;
      audience.zookeepers.push(client);
    }
    for (let i = 0; i < OTHERS; i++) {
      audience.watches.push(audience.etcd.watch({ key: Buffer.from(`watched-${i}`) }));
      const tracker = new Line(ports.redis);
      await tracker.say('HELLO 3', '*0\r\n');
      await tracker.say('CLIENT TRACKING ON', '+OK\r\n');
      await tracker.say('GET read', '$1\r\n1\r\n');
      audience.trackers.push(tracker);
      const subscriber = new Line(ports.redis);
      await subscriber.say('SUBSCRIBE news', ':1\r\n');
      audience.subscribers.push(subscriber);
      const blocked = new Line(ports.redis);
      await blocked.say('PING', '+PONG\r\n');
      blocked.send(`LOCK ACQUIRE lock waiter-${i} PX 60000 BLOCK 100000`);
      audience.blocked.push(blocked);
    }
    await until(() => audience.watches.every((watch) => watch.created), 10_000);
    const asker = await Redis.open(leader.ports.redis);
    await until(async () => {
      const queue = await asker.call('LOCK', 'QUEUE', 'lock');
      return Array.isArray(queue) && queue.length === OTHERS;
    }, 10_000);
    asker.close();
    return audience;
  }

  /** Who has heard nothing, by kind. */
  silent(): string[] {
    const silent: string[] = [];
    const check = (kind: string, i: number, heard: boolean): void => {
      if (!heard) silent.push(`${kind} ${i}`);
    };
    this.zookeepers.forEach((client, i) => {
      check('ZooKeeper watcher', i, client.closed || client.frames.some(({ xid }) => xid === -1));
    });
    this.watches.forEach((watch, i) => {
      const told = watch.events > 0 || watch.canceled !== undefined || watch.error !== undefined;
      check('etcd watcher', i, told);
    });
    this.trackers.forEach((line, i) => {
      check('Redis tracker', i, line.closed || line.received.includes('invalidate'));
    });
    this.subscribers.forEach((line, i) => {
      check('Redis subscriber', i, line.closed || line.received.includes('message'));
    });
    this.blocked.forEach((line, i) => {
      check('blocked command', i, line.closed || line.received !== '');
    });
    return silent;
  }

  close(): void {
    for (const client of this.zookeepers) client.close();
    for (const watch of this.watches) watch.close();
    for (const line of [...this.trackers, ...this.subscribers, ...this.blocked]) line.close();
    this.etcd.close();
  }
}

describe('a follower that slept past the end of the log', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.start();
  });
  afterAll(() => cluster?.stop());

  it.each([
    ['which still has the history', false],
    ['which no longer has the history', true],
  ])(
    'leaves no client of its doors silent when it gets a state %s',
    async (_, compacted) => {
      const leader = await cluster.leader();
      const follower = await cluster.follower();
      const audience = await Audience.gather(follower, leader);
      follower.signal('SIGSTOP');

      const etcd = new Etcd(leader.ports.etcd);
      await writeBlobs(etcd);
      const zookeeper = await ZooKeeper.attach(leader.ports.zookeeper, 40_000);
      for (let i = 0; i < WATCHERS; i++) {
        expect((await zookeeper.call(Op.delete, body.delete(`/watched-${i}`))).error).toBe(0);
      }
      zookeeper.close();
      const redis = await Redis.open(leader.ports.redis);
      await redis.call('DEL', 'read');
      await redis.call('PUBLISH', 'news', 'flash');
      await redis.call('LOCK', 'FORCE', 'lock');
      redis.close();
      for (let i = 0; i < OTHERS; i++) await etcd.put(`watched-${i}`, 'changed');
      const revision = Number((await etcd.put('last', 'x')).header?.revision);
      if (compacted) await etcd.compact(revision);
      await writeBlobs(etcd);
      follower.output = '';

      follower.signal('SIGCONT');
      await until(
        () => audience.silent().length === 0,
        SILENCE_MS,
        () => `silent: ${audience.silent().join(', ')}; ${follower.output}`,
      );
      expect(follower.output).toMatch(/the state received at \d+ is in force/);
      for (const watch of audience.watches) {
        if (compacted) expect(watch.canceled?.compactRevision).toBe(revision);
        else expect(watch.events).toBe(1);
      }
      etcd.close();
      audience.close();
      await cluster.allHealthy();
      await cluster.stateHashes();
    },
    120_000,
  );
});
