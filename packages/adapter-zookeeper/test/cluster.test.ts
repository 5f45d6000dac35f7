import { LeaseKind } from '@lockstep/model';
import type { Tuning } from '@lockstep/replica';
import { beforeEach, describe, expect, test } from 'vitest';
import { seededRandom, type TestMember, World } from '../../replica/test/test-world.ts';
import { Door } from '../src/door.ts';
import { zookeeperExtension } from '../src/extension.ts';
import { OpCode } from '../src/opcodes.ts';
import { resolveSettings } from '../src/settings.ts';
import { Client, type Host, summary } from './door-world.ts';
import { body, type ConnectOptions, connectFrame } from './frames.ts';
import { RandomRequests } from './random-requests.ts';

/** Three members with a door each, on virtual time. */
class Cluster {
  readonly world: World;
  readonly hosts = new Map<TestMember, Host>();

  constructor(tuning: Partial<Tuning> = {}) {
    const extensions = [zookeeperExtension];
    this.world = new World({ extensions, tuning: { hashCheckEntries: 50, ...tuning } });
    for (const member of this.world.members) this.open(member);
    this.world.elect();
    this.world.time.until('every member is in contact', () =>
      this.world.members.every(({ replica }) => replica.inContact && replica.serving),
    );
  }

  open(member: TestMember): void {
    const { time } = this.world;
    const { replica } = member;
    const address = '127.0.0.1:0';
    const random = seededRandom(member.id);
    const settings = resolveSettings({ replica, clock: time, random, address }, time, 2181);
    const door = new Door(settings);
    this.hosts.set(member, { door, settle: () => time.advance(30) });
  }

  dial(member: TestMember): Client {
    const host = this.hosts.get(member);
    if (host === undefined) throw new Error(`no door at ${member.id}`);
    return new Client(host);
  }

  connect(member: TestMember, options: ConnectOptions = {}): Client {
    const client = this.dial(member);
    client.handshake(options);
    return client;
  }

  /** Lets time pass while these clients ping. */
  pass(ms: number, ...alive: Client[]): void {
    for (let left = ms; left > 0; left -= 1000) {
      this.world.time.advance(Math.min(left, 1000));
      for (const client of alive) client.send(OpCode.Ping, undefined, -2);
    }
  }
}

let cluster: Cluster;
let leader: TestMember;
let followers: TestMember[];

beforeEach(() => {
  cluster = new Cluster();
  leader = cluster.world.leader!;
  followers = cluster.world.followers();
});

const events = (client: Client) =>
  summary(client.take().filter((message) => message.kind === 'event'));

const again = ({ answer }: Client, more: ConnectOptions = {}): ConnectOptions => ({
  ...(answer === undefined ? {} : { sessionId: answer.sessionId, password: answer.password }),
  ...more,
});

describe('three members', () => {
  test('a change at one member is told to the watchers of another', () => {
    const one = cluster.connect(followers[0]!);
    const two = cluster.connect(followers[1]!);
    one.create('/n', 'x');
    expect(two.ask(OpCode.Sync, body.path('/')).error).toBe(0);
    expect(two.ask(OpCode.GetData, body.read('/n', true)).error).toBe(0);
    one.ask(OpCode.SetData, body.setData('/n', 'y'));
    expect(events(two)).toEqual(['changed /n']);
  });

  test('a pipeline through a follower keeps its order', () => {
    const client = cluster.connect(followers[0]!);
    client.segment(() => {
      client.send(OpCode.Create, body.create('/n', '0'), 1);
      client.send(OpCode.GetData, body.read('/n', true), 2);
      client.send(OpCode.SetData, body.setData('/n', '1'), 3);
      client.send(OpCode.Sync, body.path('/'), 4);
      client.send(OpCode.Exists, body.read('/n'), 5);
      client.send(OpCode.Delete, body.version('/n'), 6);
      client.send(OpCode.Exists, body.read('/n'), 7);
    });
    expect(summary(client.take())).toEqual([
      ...['1 ok', '2 ok', 'changed /n', '3 ok', '4 ok', '5 ok', '6 ok'],
      '7 error -101',
    ]);
  });

  test('a session that moves to another member loses its old connection there', () => {
    const old = cluster.connect(followers[0]!);
    old.create('/e', '', 1);
    const moved = cluster.dial(followers[1]!);
    expect(moved.handshake(again(old)).sessionId).toBe(old.answer?.sessionId);
    expect(old.closed).toBe('destroy');
    expect(moved.ask(OpCode.Exists, body.read('/e')).error).toBe(0);
  });

  test('what the old connection sent after the move never applies', () => {
    const old = cluster.connect(followers[0]!);
    const moved = cluster.dial(followers[1]!);
    cluster.world.isolate(followers[0]!);
    old.send(OpCode.Create, body.create('/late'));
    moved.handshake(again(old));
    cluster.world.rejoin(followers[0]!);
    cluster.pass(3000, moved);
    expect(old.closed).toBe('destroy');
    moved.take();
    expect(moved.ask(OpCode.Exists, body.read('/late')).error).toBe(-101);
  });

  test('a member out of contact closes its connections, and sessions live on elsewhere', () => {
    const client = cluster.connect(followers[0]!, { timeoutMs: 6000 });
    client.create('/e', '', 1);
    const { zxid } = client.ask(OpCode.Ping);
    cluster.world.isolate(followers[0]!);
    cluster.world.time.advance(1500);
    expect(client.closed).toBe('destroy');
    const late = cluster.dial(followers[0]!);
    late.bytes(connectFrame(again(client)));
    expect(late.closed).toBeUndefined();
    cluster.world.time.advance(1000);
    expect(late.closed).toBe('destroy');
    const moved = cluster.dial(leader);
    moved.handshake(again(client, { lastZxidSeen: zxid }));
    expect(moved.ask(OpCode.Exists, body.read('/e')).error).toBe(0);
  });

  test('reads at a follower keep a session alive', () => {
    const client = cluster.connect(followers[0]!, { timeoutMs: 4000 });
    for (let second = 0; second < 20; second++) {
      cluster.world.time.advance(1000);
      expect(client.ask(OpCode.Exists, body.read('/')).error).toBe(0);
    }
  });

  test('the clients of a dead leader find their sessions again', () => {
    const client = cluster.connect(leader);
    client.create('/e', '', 1);
    cluster.world.kill(leader);
    cluster.world.elect();
    cluster.pass(2000);
    const moved = cluster.connect(followers[1]!, again(client));
    const watcher = cluster.connect(followers[0]!);
    expect(moved.answer?.sessionId).toBe(client.answer?.sessionId);
    watcher.ask(OpCode.Exists, body.read('/e', true));
    moved.ask(OpCode.CloseSession);
    expect(events(watcher)).toEqual(['deleted /e']);
  });

  test('a session whose client died with the leader expires, not earlier than its timeout', () => {
    const client = cluster.connect(leader, { timeoutMs: 6000 });
    client.create('/e', '', 1);
    const startMs = cluster.world.time.monotonicMs();
    cluster.world.kill(leader);
    cluster.world.elect();
    const watcher = cluster.connect(followers[0]!, { timeoutMs: 40_000 });
    watcher.ask(OpCode.Exists, body.read('/e', true));
    cluster.pass(5900 - (cluster.world.time.monotonicMs() - startMs), watcher);
    expect(events(watcher)).toEqual([]);
    cluster.pass(4000, watcher);
    expect(events(watcher)).toEqual(['deleted /e']);
    for (const { replica } of followers) {
      expect(replica.state.leases(LeaseKind.ZooKeeper)).toHaveLength(1);
    }
  });

  test('a snapshot install closes the connections, and setWatches tells what was missed', () => {
    const small = new Cluster({ logEntriesMax: 100, logEntriesTrailing: 10 });
    const [lagging, other] = small.world.followers();
    const client = small.connect(lagging!, { timeoutMs: 40_000 });
    client.create('/n');
    const { zxid } = client.ask(OpCode.Exists, body.read('/n', true));
    small.world.isolate(lagging!);
    const writer = small.connect(other!, { timeoutMs: 40_000 });
    for (let i = 0; i < 400; i++) {
      writer.ask(OpCode.SetData, body.setData('/n', String(i)));
    }
    small.world.rejoin(lagging!);
    small.world.time.until('a snapshot was installed', () => lagging!.skipped.length > 0);
    small.pass(3000, writer);
    expect(client.closed).toBe('destroy');
    // By its first command the member learns that its incarnation has expired meanwhile.
    const first = small.dial(lagging!);
    first.bytes(connectFrame());
    first.take();
    const back = small.connect(lagging!, again(client, { lastZxidSeen: zxid }));
    back.send(OpCode.SetWatches, body.setWatches(zxid, ['/n'], [], []), -8);
    expect(summary(back.take())).toEqual(['changed /n', '-8 ok']);
  });

  test.each([1, 2, 3])('random requests at all members leave one state (seed %i)', (seed) => {
    const clients = cluster.world.members.map((member) => cluster.connect(member));
    clients[0]!.create('/root');
    const random = new RandomRequests(seed, '/root');
    for (let round = 0; round < 400; round++) {
      clients[random.below(3)]!.send(...random.next());
      if (round % 7 === 0) cluster.world.time.advance(random.below(20));
    }
    for (const client of clients) {
      const zxids = client.take().map(({ zxid }) => zxid);
      expect(zxids).toEqual([...zxids].sort((a, b) => a - b));
    }
    cluster.world.time.advance(500);
    const hashes = cluster.world.members.map(({ replica }) => replica.state.stateHash());
    expect(new Set(hashes).size).toBe(1);
    expect(cluster.world.members.map(({ fatal }) => fatal)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
