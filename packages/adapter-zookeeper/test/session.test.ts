import { beforeEach, describe, expect, test } from 'vitest';
import { OpCode, Xid } from '../src/opcodes.ts';
import { type Client, DoorWorld, summary } from './door-world.ts';
import { body, connectFrame, type MultiOperation, readStat } from './frames.ts';

let world: DoorWorld;
let client: Client;

beforeEach(() => {
  world = new DoorWorld();
  client = world.connect();
});

describe('order on one connection', () => {
  test('reads behind writes see those writes, events come first, the ping comes last', () => {
    client.create('/n', '0');
    client.segment(() => {
      for (let i = 1; i <= 5; i++) {
        client.send(OpCode.SetData, body.setData('/n', String(i)), i * 10);
        client.send(OpCode.GetData, body.read('/n', true), i * 10 + 1);
      }
      client.send(OpCode.Ping, undefined, Xid.Ping);
    });
    const writes = client.writes;
    const messages = client.take();
    expect(summary(messages)).toEqual([
      '10 ok',
      ...['11 ok', 'changed /n', '20 ok'],
      ...['21 ok', 'changed /n', '30 ok'],
      ...['31 ok', 'changed /n', '40 ok'],
      ...['41 ok', 'changed /n', '50 ok'],
      '51 ok',
      '-2 ok',
    ]);
    const values = messages
      .filter((m) => m.kind === 'reply' && m.xid > 0 && m.xid % 10 === 1)
      .map((m) => (m.kind === 'reply' ? Buffer.from(m.body.buffer() ?? []).toString() : ''));
    expect(values).toEqual(['1', '2', '3', '4', '5']);
    const zxids = messages.map((m) => m.zxid);
    expect(zxids).toEqual([...zxids].sort((a, b) => a - b));
    expect(client.writes - writes).toBe(1);
  });

  test('a read behind a sync waits for it', () => {
    client.segment(() => {
      client.send(OpCode.Sync, body.path('bad'));
      client.send(OpCode.GetData, body.read('/'));
    });
    const messages = client.take();
    expect(summary(messages)).toEqual(['1 ok', '2 ok']);
    expect(messages[0]?.kind === 'reply' && messages[0].body.string()).toBe('bad');
  });

  test('a write behind a sync keeps its place, and so does the read behind it', () => {
    client.segment(() => {
      client.send(OpCode.Sync, body.path('/'));
      client.send(OpCode.Create, body.create('/n', 'x'));
      client.send(OpCode.GetData, body.read('/n'));
    });
    expect(summary(client.take())).toEqual(['1 ok', '2 ok', '3 ok']);
  });

  test('a read between a sync and a write does not see that write', () => {
    client.segment(() => {
      client.send(OpCode.Create, body.create('/n'));
      client.send(OpCode.Sync, body.path('/'));
      client.send(OpCode.Exists, body.read('/n'));
      client.send(OpCode.Sync, body.path('/'));
      client.send(OpCode.Delete, body.version('/n'));
      client.send(OpCode.Exists, body.read('/n'));
    });
    expect(summary(client.take())).toEqual([
      ...['1 ok', '2 ok', '3 ok', '4 ok', '5 ok'],
      '6 error -101',
    ]);
  });

  test('a closeSession behind a sync waits for it and is answered', () => {
    client.segment(() => {
      client.send(OpCode.Sync, body.path('/'));
      client.send(OpCode.Create, body.create('/n'));
      client.send(OpCode.CloseSession);
    });
    expect(summary(client.take())).toEqual(['1 ok', '2 ok', '3 ok']);
    expect(client.closed).toBe('end');
  });

  test('what stands behind closeSession is dropped', () => {
    client.segment(() => {
      client.send(OpCode.Create, body.create('/n'));
      client.send(OpCode.CloseSession);
      client.send(OpCode.Create, body.create('/m'));
      client.send(OpCode.Ping, undefined, Xid.Ping);
    });
    expect(summary(client.take())).toEqual(['1 ok', '2 ok']);
    expect(client.closed).toBe('end');
    expect(world.connect().ask(OpCode.Exists, body.read('/m')).error).toBe(-101);
  });

  test('an unknown operation is answered with -6 and zxid -1, then the connection ends', () => {
    client.send(10);
    const [reply] = client.take();
    expect(reply).toMatchObject({ xid: 1, zxid: -1, error: -6 });
    expect(client.closed).toBe('end');
  });

  test('a body that ends early is answered with -5 and the connection stays', () => {
    expect(client.ask(OpCode.GetData, (frames) => frames.int(50)).error).toBe(-5);
    expect(client.ask(OpCode.Exists, body.read('/')).error).toBe(0);
  });
});

describe('handshake', () => {
  test('timeouts are clamped to 2 and 20 ticks', () => {
    expect(world.dial().handshake({ timeoutMs: 1 }).timeoutMs).toBe(4000);
    expect(world.dial().handshake({ timeoutMs: -1 }).timeoutMs).toBe(4000);
    expect(world.dial().handshake({ timeoutMs: 10_000_000 }).timeoutMs).toBe(40_000);
  });

  test('session ids are positive and different', () => {
    const ids = [client, world.connect(), world.connect()].map((c) => c.answer?.sessionId ?? 0n);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => id > 0n)).toBe(true);
  });

  test('requests right behind the connect request are answered after it', () => {
    const eager = world.dial();
    eager.segment(() => {
      eager.bytes(connectFrame());
      eager.send(OpCode.Create, body.create('/eager'));
      eager.send(OpCode.Exists, body.read('/eager'));
    });
    world.time.settle();
    eager.readAnswer();
    expect(summary(eager.take())).toEqual(['1 ok', '2 ok']);
  });

  test('a reattach keeps the session, renegotiates, and closes the older connection', () => {
    client.create('/e', '', 1);
    const { sessionId = 0n, password = Buffer.alloc(0) } = client.answer ?? {};
    const next = world.dial();
    const answer = next.handshake({ sessionId, password, timeoutMs: 6000 });
    expect(answer).toEqual({ sessionId, password, timeoutMs: 6000 });
    expect(client.closed).toBe('destroy');
    expect(next.ask(OpCode.Exists, body.read('/e')).error).toBe(0);
  });

  test('an unknown session and a wrong password get a timeout of 0 and no session', () => {
    const { sessionId = 0n } = client.answer ?? {};
    const wrong = { timeoutMs: 0, sessionId: 0n, password: Buffer.alloc(16) };
    const thief = world.dial();
    expect(thief.handshake({ sessionId, password: new Uint8Array(16) })).toEqual(wrong);
    expect(thief.closed).toBe('end');
    const stranger = world.dial();
    expect(stranger.handshake({ sessionId: 99n })).toEqual(wrong);
    expect(client.closed).toBeUndefined();
  });

  test('a client that has seen a newer state waits for it, at most an election timeout', () => {
    const { zxid } = client.ask(OpCode.Exists, body.read('/'));
    const ahead = world.dial();
    ahead.bytes(connectFrame({ lastZxidSeen: zxid + 1 }));
    expect(ahead.take()).toEqual([]);
    client.create('/n');
    world.time.settle();
    expect(ahead.session.isOpen).toBe(true);
    const far = world.dial();
    far.bytes(connectFrame({ lastZxidSeen: 1_000_000 }));
    world.time.advance(999);
    expect(far.closed).toBeUndefined();
    world.time.advance(2);
    expect(far.closed).toBe('destroy');
  });

  test('a connection that does not finish its handshake is closed after ten seconds', () => {
    const slow = world.dial();
    slow.bytes(connectFrame().subarray(0, 20));
    world.time.advance(9_999);
    expect(slow.closed).toBeUndefined();
    world.time.advance(2);
    expect(slow.closed).toBe('destroy');
  });

  test('a session whose client left before it was told is closed again', () => {
    const gone = world.dial();
    gone.bytes(connectFrame());
    gone.session.close();
    world.time.settle();
    expect(world.machine.leases(3)).toHaveLength(1);
  });
});

describe('session life', () => {
  test('a silent session expires with its ephemeral nodes and tells their watchers', () => {
    client.create('/e', '', 1);
    const watcher = world.connect({ timeoutMs: 40_000 });
    watcher.ask(OpCode.Exists, body.read('/e', true));
    watcher.ask(OpCode.GetChildren, body.read('/', true));
    world.time.advance(9_900);
    expect(watcher.take()).toEqual([]);
    world.time.advance(5_000);
    expect(summary(watcher.take())).toEqual(['deleted /e', 'children /']);
    expect(client.closed).toBe('destroy');
    const { sessionId = 0n, password = Buffer.alloc(0) } = client.answer ?? {};
    expect(world.dial().handshake({ sessionId, password }).timeoutMs).toBe(0);
  });

  test.each([
    ['pings', OpCode.Ping],
    ['reads', OpCode.Exists],
  ])('a session lives for ever on %s alone', (_name, type) => {
    client.create('/e', '', 1);
    for (let round = 0; round < 20; round++) {
      world.time.advance(6000);
      client.send(type, type === OpCode.Ping ? undefined : body.read('/e'));
      expect(client.take().map((m) => m.kind === 'reply' && m.error)).toEqual([0]);
    }
  });

  test('a frame shortly after a renewal counts from its own time', () => {
    world.time.advance(5000);
    client.ask(OpCode.Exists, body.read('/'));
    world.time.advance(1000);
    client.ask(OpCode.Exists, body.read('/'));
    world.time.advance(9_900);
    expect(client.closed).toBeUndefined();
    world.time.advance(4_000);
    expect(client.closed).toBe('destroy');
  });

  test('losing the connection does not end the session', () => {
    client.create('/e', '', 1);
    client.session.close();
    expect(world.connect().ask(OpCode.Exists, body.read('/e')).error).toBe(0);
  });

  test('out of contact with the majority all connections close, new ones after a wait', () => {
    world.replica.setContact(false);
    expect(client.closed).toBe('destroy');
    const late = world.dial();
    late.bytes(connectFrame());
    expect(late.closed).toBeUndefined();
    world.time.advance(1001);
    expect(late.closed).toBe('destroy');
  });

  test('a connection whose renewals are not confirmed closes while its session lives', () => {
    world.replica.renew = () => undefined;
    world.time.advance(3000);
    client.ask(OpCode.Ping, undefined);
    world.time.advance(3000);
    client.ask(OpCode.Ping, undefined);
    expect(client.closed).toBeUndefined();
    world.time.advance(1200);
    expect(client.closed).toBe('destroy');
    const { sessionId = 0n, password = Buffer.alloc(0) } = client.answer ?? {};
    expect(world.dial().handshake({ sessionId, password }).timeoutMs).toBeGreaterThan(0);
  });

  test('a ping is not answered while a renewal is outstanding in the last third', () => {
    world.replica.renew = () => undefined;
    world.time.advance(7000);
    client.ask(OpCode.Ping);
    world.time.advance(2500);
    client.send(OpCode.Ping);
    expect(client.closed).toBe('destroy');
    expect(client.take()).toEqual([]);
  });

  test('a session that its member learns of when it may be over already is not opened', () => {
    const { sessionId = 0n, password = Buffer.alloc(0) } = client.answer ?? {};
    const submit = world.replica.submit.bind(world.replica);
    let tell: (() => void) | undefined;
    world.replica.submit = (command, waiter) =>
      submit(command, {
        applied: (outcome) => {
          tell = () => waiter?.applied(outcome);
        },
        failed: (error) => waiter?.failed(error),
      });
    const attach = (learnedAfterMs: number): Client => {
      const late = world.dial();
      late.bytes(connectFrame({ sessionId, password }));
      late.send(OpCode.Ping, undefined, Xid.Ping);
      world.time.advance(learnedAfterMs);
      tell?.();
      world.time.settle();
      return late;
    };
    world.replica.renew = () => undefined;
    const open = attach(6_600);
    expect(open.readAnswer().timeoutMs).toBe(10_000);
    expect(summary(open.take())).toEqual(['-2 ok']);
    world.time.advance(100);
    open.send(OpCode.Ping, undefined, Xid.Ping);
    expect(open.take(), 'its time counts from the command').toEqual([]);
    expect(open.closed).toBe('destroy');
    expect(attach(6_700).writes, 'neither the answer nor the ping').toBe(0);
  });

  test('a handshake that waits for contact goes on as soon as there is some', () => {
    world.replica.setContact(false);
    const early = world.dial();
    early.bytes(connectFrame());
    world.time.advance(500);
    world.replica.setContact(true);
    world.time.advance(1);
    expect(early.readAnswer().timeoutMs).toBeGreaterThan(0);
    expect(early.closed).toBeUndefined();
  });

  test('a skipped stretch of events closes the connections', () => {
    world.replica.skip(1, 5);
    expect(client.closed).toBe('destroy');
  });

  test('an unknown outcome closes the connection', () => {
    client.send(OpCode.Create, body.create('/n'));
    world.replica.failPending('UNKNOWN_OUTCOME');
    expect(client.closed).toBe('destroy');
  });
});

describe('limits', () => {
  test('a hundred thousand requests of a client that reads nothing stay bounded', () => {
    client.stalled = true;
    const one = Buffer.from('000000080000000000000000', 'hex');
    one.writeInt32BE(Xid.Ping, 4);
    one.writeInt32BE(OpCode.Ping, 8);
    const stream = Buffer.alloc(one.length * 100_000, one);
    for (let at = 0; at < stream.length && !client.paused; at += 65_536) {
      client.bytes(stream.subarray(at, at + 65_536));
      world.time.settle();
    }
    expect(client.paused).toBe(true);
    expect(client.unsentBytes()).toBeLessThan(1024 * 1024 + 65_536 * 2);
  });

  test('more than a thousand writes in flight stop the reading until they are answered', () => {
    client.segment(() => {
      for (let i = 0; i < 1500; i++) client.send(OpCode.SetData, body.setData('/', 'x'));
    });
    expect(client.paused).toBe(true);
    expect(client.session.queue.count).toBe(1000);
    expect(client.take()).toHaveLength(1500);
    expect(client.paused).toBe(false);
  });

  test('a frame of one byte too many closes the connection without an answer', () => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(0xfffff + 1);
    client.bytes(head);
    expect(client.closed).toBe('destroy');
    expect(client.take()).toEqual([]);
  });

  test('a subscriber that reads nothing is closed before its events fill the memory', () => {
    const path = `/${'n'.repeat(100_000)}`;
    client.ask(OpCode.AddWatch, (frames) => frames.string(path).int(0));
    client.stalled = true;
    const writer = world.connect();
    writer.create(path);
    let changes = 0;
    while (client.closed === undefined && changes < 200) {
      writer.ask(OpCode.SetData, body.setData(path, ''));
      changes++;
    }
    expect(client.closed).toBe('destroy');
    expect(changes).toBe(83);
  });

  test('a multi over the budget of a transaction is refused as a whole', () => {
    const operations: MultiOperation[] = Array.from({ length: 5000 }, (_, i) => [
      OpCode.Create,
      body.create(`/${i}`),
    ]);
    const tight = new DoorWorld({}, { 'transaction-steps': 4000 });
    const one = tight.connect();
    expect(one.ask(OpCode.Multi, body.multi(...operations)).error).toBe(-100);
    expect(one.ask(OpCode.GetChildren, body.read('/')).body.strings()).toEqual(['zookeeper']);
  });

  test('watches that take too much memory close the connection', () => {
    const small = new DoorWorld({ watchBytesMax: 10_000 });
    const greedy = small.connect();
    for (let i = 0; i < 9; i++) {
      greedy.ask(OpCode.Exists, body.read(`/${'n'.repeat(1000)}${i}`, true));
    }
    expect(greedy.closed).toBeUndefined();
    greedy.send(OpCode.Exists, body.read('/once-too-often', true));
    greedy.take();
    expect(greedy.closed).toBe('destroy');
    expect(small.door.watches.size).toBe(0);
  });

  test('identities beyond what a command should carry are refused', () => {
    client.send(OpCode.Auth, body.auth('digest', `${'u'.repeat(20_000)}:p`), Xid.Auth);
    expect(summary(client.take())).toEqual(['-4 error -115']);
    expect(client.closed).toBe('end');
  });

  test('connections from one address are counted', () => {
    const small = new DoorWorld({ connectionsPerAddressMax: 2 });
    small.dial();
    const second = small.dial();
    expect(() => small.dial()).toThrow('refused');
    second.session.close();
    small.dial();
  });
});

test('a stat record has its 68 bytes in the order of the protocol', () => {
  client.create('/n', 'abc');
  const { body: reply } = client.ask(OpCode.Exists, body.read('/n'));
  expect(reply.remaining).toBe(68);
  const stat = readStat(reply);
  expect(stat).toMatchObject({ version: 0, cversion: 0, dataLength: 3, ephemeralOwner: 0n });
  expect([stat.mzxid, stat.pzxid]).toEqual([stat.czxid, stat.czxid]);
});
