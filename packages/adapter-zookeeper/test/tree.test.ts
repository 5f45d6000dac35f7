import { beforeEach, describe, expect, test } from 'vitest';
import { digestIdentity } from '../src/authentication.ts';
import { listZookeeperLocks } from '../src/locks.ts';
import { OpCode, Xid } from '../src/opcodes.ts';
import { type Client, DoorWorld, summary } from './door-world.ts';
import { body, type MultiOperation, OPEN, readMulti, readStat } from './frames.ts';

let world: DoorWorld;
let client: Client;

beforeEach(() => {
  world = new DoorWorld();
  client = world.connect();
});

const statOf = (path: string) => {
  const reply = client.ask(OpCode.Exists, body.read(path));
  expect(reply.error).toBe(0);
  return readStat(reply.body);
};
const childrenOf = (path: string) => client.ask(OpCode.GetChildren, body.read(path)).body.strings();
const errorOf = (type: number, write: Parameters<Client['ask']>[1]) =>
  client.ask(type, write).error;

const EPHEMERAL = 1;
const SEQUENTIAL = 2;
const EPHEMERAL_SEQUENTIAL = 3;

describe('a fresh store', () => {
  test('has the nodes that every ZooKeeper has, at zxid 0', () => {
    expect(childrenOf('/')).toEqual(['zookeeper']);
    expect(childrenOf('/zookeeper')).toEqual(['config', 'quota']);
    expect(statOf('/')).toMatchObject({ czxid: 0, cversion: -1, numChildren: 1 });
    expect(statOf('/zookeeper')).toMatchObject({ cversion: -2, numChildren: 2 });
    expect(statOf('/zookeeper/config')).toMatchObject({ aversion: -1, dataLength: 0 });
  });

  test('its nodes can change but not go', () => {
    expect(errorOf(OpCode.SetData, body.setData('/', 'x'))).toBe(0);
    expect(statOf('/')).toMatchObject({ czxid: 0, version: 1, dataLength: 1, numChildren: 1 });
    for (const path of ['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']) {
      expect(errorOf(OpCode.Delete, body.version(path))).toBe(-8);
    }
    expect(errorOf(OpCode.SetData, body.setData('/zookeeper/config', 'x'))).toBe(-102);
  });
});

describe('create', () => {
  test.each([
    ['without a slash', body.create('n'), -8],
    ['with flags nobody knows', body.create('/n', '', 9), -8],
    ['with a TTL flag on the plain operation', body.create('/n', '', 5), -8],
    ['without a parent', body.create('/p/n'), -101],
    ['with an empty component whose text has no parent', body.create('/a//b'), -101],
    ['with a dot component below an existing parent', body.create('/..'), -8],
    ['of the root', body.create('/'), -110],
    ['with a null ACL', body.create('/n', '', 0, null), -114],
    ['with an empty ACL', body.create('/n', '', 0, []), -114],
    ['of a child of an ephemeral node', body.create('/e/c'), -108],
  ])('%s fails', (_name, write, error) => {
    client.create('/e', '', EPHEMERAL);
    expect(errorOf(OpCode.Create, write)).toBe(error);
  });

  test('moves cversion, pzxid and numChildren of the parent and nothing else', () => {
    client.create('/p');
    const before = statOf('/p');
    client.create('/p/a');
    const { zxid } = client.ask(OpCode.Ping);
    expect(statOf('/p')).toEqual({ ...before, cversion: 1, numChildren: 1, pzxid: zxid });
    expect(errorOf(OpCode.Delete, body.version('/p/a'))).toBe(0);
    expect(statOf('/p')).toMatchObject({ cversion: 2, numChildren: 0, pzxid: zxid + 1 });
  });

  test('numbers count all creations below the parent, and deletions never', () => {
    client.create('/p');
    for (const name of ['a', 'b', 'a']) client.create(`/p/${name}`, '', SEQUENTIAL);
    client.ask(OpCode.Delete, body.version('/p/b0000000001'));
    client.create('/p/plain');
    expect(client.create('/p/', '', SEQUENTIAL)).toBe('/p/0000000004');
    expect(errorOf(OpCode.Create, body.create('/p/plain'))).toBe(-110);
    expect(client.create('/p/c', '', SEQUENTIAL)).toBe('/p/c0000000005');
  });

  test('null and empty data stay different', () => {
    client.create('/null', null);
    client.create('/empty', '');
    const read = (path: string) => client.ask(OpCode.GetData, body.read(path)).body.buffer();
    expect(read('/null')).toBeNull();
    expect(read('/empty')).toHaveLength(0);
  });

  test('create2 returns the stat too', () => {
    const { body: reply } = client.ask(OpCode.Create2, body.create('/n', 'abc', EPHEMERAL));
    expect(reply.string()).toBe('/n');
    expect(readStat(reply)).toMatchObject({
      dataLength: 3,
      ephemeralOwner: client.answer?.sessionId,
    });
  });

  test('a value of many kilobytes survives', () => {
    client.create('/big', 'y'.repeat(900_000));
    const data = client.ask(OpCode.GetData, body.read('/big')).body.buffer();
    expect(Buffer.from(data ?? []).equals(Buffer.alloc(900_000, 'y'))).toBe(true);
  });
});

describe('delete, setData, setACL', () => {
  test('a wrong version wins over children that are still there', () => {
    client.create('/p');
    client.create('/p/c');
    expect(errorOf(OpCode.Delete, body.version('/p', 7))).toBe(-103);
    expect(errorOf(OpCode.Delete, body.version('/p', 0))).toBe(-111);
    expect(errorOf(OpCode.Delete, body.version('/none'))).toBe(-101);
    expect(errorOf(OpCode.Delete, body.version('none'))).toBe(-8);
  });

  test('setData moves mzxid, mtime and version, also when the bytes stay', () => {
    client.create('/n', 'x');
    const before = statOf('/n');
    world.time.advance(1500);
    const reply = client.ask(OpCode.SetData, body.setData('/n', 'x', 0));
    const after = readStat(reply.body);
    expect(after).toEqual({
      ...before,
      mzxid: reply.zxid,
      mtime: before.mtime + 1500,
      version: 1,
    });
    expect(statOf('/n')).toEqual(after);
    expect(errorOf(OpCode.SetData, body.setData('/n', 'x', 0))).toBe(-103);
    expect(errorOf(OpCode.SetData, body.setData('/n', 'x', -2))).toBe(-103);
  });

  test('setACL moves aversion and compares with it', () => {
    client.create('/n');
    const before = statOf('/n');
    expect(errorOf(OpCode.SetAcl, body.setAcl('/n', OPEN, 0))).toBe(0);
    expect(statOf('/n')).toEqual({ ...before, aversion: 1 });
    expect(errorOf(OpCode.SetAcl, body.setAcl('/n', OPEN, 0))).toBe(-103);
    expect(errorOf(OpCode.SetAcl, body.setAcl('/none', []))).toBe(-114);
  });

  test('a node created again has a new czxid', () => {
    client.create('/n');
    const { czxid } = statOf('/n');
    client.ask(OpCode.Delete, body.version('/n'));
    client.create('/n');
    expect(statOf('/n').czxid).toBeGreaterThan(czxid);
  });
});

describe('multi', () => {
  const multi = (...operations: readonly MultiOperation[]) => {
    const reply = client.ask(OpCode.Multi, body.multi(...operations));
    expect(reply.error).toBe(0);
    return readMulti(reply.body);
  };

  test('later operations see earlier ones and all share one zxid', () => {
    const results = multi(
      [OpCode.Create, body.create('/p')],
      [OpCode.Create2, body.create('/p/c-', 'x', SEQUENTIAL)],
      [OpCode.Create, body.create('/p/c-', 'x', SEQUENTIAL)],
      [OpCode.SetData, body.setData('/p', 'y', 0)],
      [OpCode.Check, body.version('/p', 1)],
      [OpCode.Delete, body.version('/p/c-0000000000')],
    );
    expect(results.map(({ type, error, path }) => [type, error, path])).toEqual([
      [OpCode.Create, 0, '/p'],
      [OpCode.Create, 0, '/p/c-0000000000'],
      [OpCode.Create, 0, '/p/c-0000000001'],
      [OpCode.SetData, 0, undefined],
      [OpCode.Check, 0, undefined],
      [OpCode.Delete, 0, undefined],
    ]);
    const { czxid, mzxid, pzxid } = statOf('/p');
    expect([mzxid, pzxid, statOf('/p/c-0000000001').czxid]).toEqual([czxid, czxid, czxid]);
  });

  test('the first failure undoes all, and no sequence number is lost', () => {
    client.create('/p');
    const results = multi(
      [OpCode.Create, body.create('/p/s-', '', SEQUENTIAL)],
      [OpCode.Check, body.version('/p', 5)],
      [OpCode.Delete, body.version('/none')],
    );
    expect(results.map(({ error }) => error)).toEqual([0, -103, -2]);
    expect(results.map(({ type }) => type)).toEqual([-1, -1, -1]);
    expect(client.create('/p/s-', '', SEQUENTIAL)).toBe('/p/s-0000000000');
  });

  test('a refusal inside counts only when its turn comes', () => {
    const results = multi(
      [OpCode.Delete, body.version('/none')],
      [OpCode.Create, body.create('/n', '', 0, [])],
    );
    expect(results.map(({ error }) => error)).toEqual([-101, -2]);
    expect(multi([OpCode.CreateTtl, body.createTtl('/n', -5)])[0]?.error).toBe(-8);
  });

  test('a node may be created and deleted, or deleted and created, in one', () => {
    multi([OpCode.Create, body.create('/n')], [OpCode.Delete, body.version('/n')]);
    expect(errorOf(OpCode.Exists, body.read('/n'))).toBe(-101);
    client.create('/n', 'old');
    const { czxid } = statOf('/n');
    multi([OpCode.Delete, body.version('/n')], [OpCode.Create, body.create('/n', 'newer')]);
    expect(statOf('/n')).toMatchObject({ version: 0, dataLength: 5 });
    expect(statOf('/n').czxid).toBeGreaterThan(czxid);
    multi(
      [OpCode.Delete, body.version('/n')],
      [OpCode.Create, body.create('/n')],
      [OpCode.Delete, body.version('/n')],
    );
    expect(childrenOf('/')).toEqual(['zookeeper']);
  });

  test('watchers hear of each part in order', () => {
    client.ask(OpCode.Exists, body.read('/n', true));
    client.ask(OpCode.GetChildren, body.read('/', true));
    client.send(
      OpCode.Multi,
      body.multi([OpCode.Create, body.create('/n')], [OpCode.SetData, body.setData('/n', 'x')]),
      77,
    );
    expect(summary(client.take())).toEqual(['created /n', 'children /', '77 ok']);
  });

  test('an empty one succeeds, an operation that may not be inside fails the whole', () => {
    expect(multi()).toEqual([]);
    expect(errorOf(OpCode.Multi, body.multi([OpCode.SetAcl, body.setAcl('/n', OPEN)]))).toBe(-5);
  });

  test('multiRead answers each entry by itself', () => {
    client.create('/n', 'abc');
    const reply = client.ask(
      OpCode.MultiRead,
      body.multi(
        [OpCode.GetData, body.read('/n', true)],
        [OpCode.GetData, body.read('/none')],
        [OpCode.GetChildren, body.read('/')],
      ),
    );
    expect(readMulti(reply.body)).toMatchObject([
      { error: 0, data: 'abc' },
      { error: -101 },
      { error: 0, children: ['n', 'zookeeper'] },
    ]);
    client.send(OpCode.SetData, body.setData('/n', 'x'), 9);
    expect(summary(client.take())).toEqual(['9 ok']);
  });

  test('a multiRead whose reply would be gigabytes ends the connection', () => {
    client.create('/large', 'x'.repeat(900_000));
    const read = [OpCode.GetData, body.read('/large')] as const;
    client.send(OpCode.MultiRead, body.multi(...Array.from({ length: 5000 }, () => read)));
    expect(client.closed).toBe('destroy');
    expect(world.connect().ask(OpCode.Exists, body.read('/large')).error).toBe(0);
  });
});

describe('ephemeral nodes', () => {
  test('go with their session in one transaction that counts as deletions', () => {
    client.create('/p');
    const owner = world.connect();
    for (const name of ['a', 'b', 'c']) owner.create(`/p/${name}`, '', EPHEMERAL);
    const before = statOf('/p');
    const paths = owner.ask(OpCode.GetEphemerals, body.path('/p/b')).body.strings();
    expect(paths).toEqual(['/p/b']);
    owner.ask(OpCode.CloseSession);
    const { zxid } = client.ask(OpCode.Ping);
    expect(statOf('/p')).toEqual({
      ...before,
      cversion: before.cversion + 3,
      numChildren: 0,
      pzxid: zxid,
    });
    expect(zxid).toBe(before.pzxid + 1);
    expect(errorOf(OpCode.Delete, body.version('/p'))).toBe(0);
  });

  test('the lowest number of ephemeral sequential siblings is shown as the holder', () => {
    client.create('/lock');
    const other = world.connect();
    client.create('/lock/x-', '', EPHEMERAL_SEQUENTIAL);
    other.create('/lock/x-', '', EPHEMERAL_SEQUENTIAL);
    const id = client.answer?.sessionId.toString(16);
    expect(listZookeeperLocks(world.machine)).toEqual([
      {
        door: 'zookeeper',
        name: '/lock',
        holder: `0x${id} x-0000000000`,
        token: statOf('/lock/x-0000000000').czxid,
        leaseMsLeft: 10_000,
        waiters: 1,
      },
    ]);
  });
});

describe('containers and TTL nodes', () => {
  test('a container goes once its last child is gone, an unused one stays', () => {
    expect(errorOf(OpCode.CreateContainer, body.create('/c', '', 4))).toBe(0);
    client.ask(OpCode.CreateContainer, body.create('/unused', '', 4));
    client.create('/c/child');
    expect(statOf('/c').ephemeralOwner).toBe(0n);
    const keepAlive = () => {
      for (let at = 0; at < 13; at++) {
        world.time.advance(5000);
        client.ask(OpCode.Ping);
      }
    };
    keepAlive();
    expect(childrenOf('/')).toContain('c');
    client.ask(OpCode.Delete, body.version('/c/child'));
    keepAlive();
    expect(childrenOf('/')).toEqual(['unused', 'zookeeper']);
  });

  test('a TTL node goes when unchanged for its TTL', () => {
    expect(errorOf(OpCode.CreateTtl, body.createTtl('/t', 90_000))).toBe(0);
    expect(errorOf(OpCode.CreateTtl, body.createTtl('/u', 0))).toBe(-8);
    for (let minute = 0; minute < 4; minute++) {
      if (minute === 1) client.ask(OpCode.SetData, body.setData('/t', 'x'));
      for (let at = 0; at < 12; at++) {
        world.time.advance(5000);
        client.ask(OpCode.Ping);
      }
      expect(childrenOf('/').includes('t')).toBe(minute < 2);
    }
  });
});

describe('permissions', () => {
  const bobs = [{ perms: 31, scheme: 'digest', id: digestIdentity(Buffer.from('bob:pw')) }];
  const reader = [{ perms: 1, scheme: 'world', id: 'anyone' }, ...bobs];

  test('identities come by auth packets and travel with each command', () => {
    client.ask(OpCode.Create, body.create('/secret', 'x', 0, bobs));
    expect(errorOf(OpCode.GetData, body.read('/secret'))).toBe(-102);
    expect(errorOf(OpCode.SetData, body.setData('/secret', 'y', 9))).toBe(-102);
    expect(errorOf(OpCode.Create, body.create('/secret/c'))).toBe(-102);
    expect(errorOf(OpCode.Exists, body.read('/secret'))).toBe(-102);
    client.send(OpCode.Auth, body.auth('digest', 'bob:pw'), Xid.Auth);
    expect(summary(client.take())).toEqual(['-4 ok']);
    expect(errorOf(OpCode.GetData, body.read('/secret'))).toBe(0);
    expect(errorOf(OpCode.Create, body.create('/secret/c'))).toBe(0);
    expect(errorOf(OpCode.Delete, body.version('/secret/c'))).toBe(0);
  });

  test('the hash is hidden from those who may only read', () => {
    client.ask(OpCode.Create, body.create('/n', 'x', 0, reader));
    const { body: reply } = client.ask(OpCode.GetAcl, body.path('/n'));
    expect(reply.int()).toBe(2);
    expect([reply.int(), reply.string(), reply.string()]).toEqual([1, 'world', 'anyone']);
    expect([reply.int(), reply.string(), reply.string()]).toEqual([31, 'digest', 'bob:x']);
  });

  test('events go only to those who may read the node', () => {
    client.create('/p');
    client.ask(OpCode.Exists, body.read('/p/secret', true));
    client.ask(OpCode.GetChildren, body.read('/p', true));
    const other = world.connect();
    other.ask(OpCode.Create, body.create('/p/secret', 'x', 0, bobs));
    expect(summary(client.take())).toEqual(['children /p']);
  });

  test('whoAmI shows users without their hashes', () => {
    client.send(OpCode.Auth, body.auth('digest', 'bob:pw'), Xid.Auth);
    client.take();
    const { body: reply } = client.ask(OpCode.WhoAmI);
    const rows = Array.from({ length: reply.int() }, () => `${reply.string()}:${reply.string()}`);
    expect(rows).toEqual(['ip:127.0.0.1', 'digest:bob']);
  });

  test('an unknown scheme fails and ends the connection', () => {
    client.send(OpCode.Auth, body.auth('magic', 'x'), Xid.Auth);
    expect(summary(client.take())).toEqual(['-4 error -115']);
    expect(client.closed).toBe('end');
  });
});

describe('watches over the wire', () => {
  test('a missing node leaves a watch by exists only', () => {
    client.ask(OpCode.GetData, body.read('/n', true));
    client.ask(OpCode.GetChildren, body.read('/n', true));
    expect(world.door.watches.size).toBe(0);
    client.ask(OpCode.Exists, body.read('/n', true));
    client.send(OpCode.Create, body.create('/n'), 50);
    expect(summary(client.take())).toEqual(['created /n', '50 ok']);
  });

  test('setWatches tells what was missed and registers the rest, events before the reply', () => {
    client.create('/changed');
    client.create('/same');
    client.create('/parent');
    client.create('/parent/child');
    const { zxid } = client.ask(OpCode.Ping);
    client.ask(OpCode.SetData, body.setData('/changed', 'x'));
    client.create('/parent/other');
    client.ask(OpCode.Delete, body.version('/parent/other'));
    client.create('/born');
    const data = ['/changed', '/same', '/gone'];
    client.send(
      OpCode.SetWatches,
      body.setWatches(zxid, data, ['/born', '/unborn'], ['/parent', '/same', '/gone']),
      Xid.SetWatches,
    );
    expect(summary(client.take())).toEqual([
      'changed /changed',
      'deleted /gone',
      'created /born',
      'children /parent',
      'deleted /gone',
      '-8 ok',
    ]);
    expect(world.door.watches.size).toBe(3);
    client.send(OpCode.Delete, body.version('/same'), 60);
    expect(summary(client.take())).toEqual(['deleted /same', '60 ok']);
  });

  test('persistent and recursive watches are added, checked and removed', () => {
    const add = (path: string, mode: number) =>
      client.ask(OpCode.AddWatch, (frames) => frames.string(path).int(mode));
    expect(add('/p', 0).body.int()).toBe(0);
    expect(add('/p', 1).error).toBe(0);
    expect(add('/p', 2).error).toBe(-5);
    client.send(OpCode.Create, body.create('/p'), 70);
    expect(summary(client.take())).toEqual(['created /p', '70 ok']);
    client.send(OpCode.Create, body.create('/p/q'), 71);
    expect(summary(client.take())).toEqual(['created /p/q', 'children /p', '71 ok']);
    const check = (type: number, kind: number) => errorOf(type, body.version('/p', kind));
    expect(check(OpCode.CheckWatches, 5)).toBe(0);
    expect(check(OpCode.RemoveWatches, 5)).toBe(0);
    expect(check(OpCode.RemoveWatches, 5)).toBe(-121);
    expect(check(OpCode.CheckWatches, 9)).toBe(-5);
    client.send(OpCode.SetData, body.setData('/p/q', 'x'), 72);
    expect(summary(client.take())).toEqual(['72 ok']);
  });

  test('watches go with their connection', () => {
    client.ask(OpCode.Exists, body.read('/n', true));
    client.session.close();
    expect(world.door.watches.size).toBe(0);
  });
});

describe('counts and refusals', () => {
  test('getAllChildrenNumber counts descendants', () => {
    client.create('/a');
    client.create('/a/b');
    client.create('/a/b/c');
    expect(client.ask(OpCode.GetAllChildrenNumber, body.path('/a')).body.int()).toBe(2);
    expect(client.ask(OpCode.GetAllChildrenNumber, body.path('/')).body.int()).toBe(6);
  });

  test('reconfig is disabled and SASL answers with a null token', () => {
    expect(errorOf(OpCode.Reconfig, body.path('x'))).toBe(-123);
    expect(client.ask(OpCode.Sasl).body.buffer()).toBeNull();
  });
});
