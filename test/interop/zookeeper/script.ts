import { digestIdentity } from '../../../packages/adapter-zookeeper/src/authentication.ts';
import { OpCode, Xid } from '../../../packages/adapter-zookeeper/src/opcodes.ts';
import {
  type AclRow,
  body,
  type MultiOperation,
  OPEN,
} from '../../../packages/adapter-zookeeper/test/frames.ts';
import { RandomRequests } from '../../../packages/adapter-zookeeper/test/random-requests.ts';
import { Recorder } from './transcript.ts';

const BOB = digestIdentity(Buffer.from('bob:pw'));

/**
 * Everything of the protocol on which ZooKeeper 3.8 and 3.9 agree, below one root so that it may
 * run on a store in use. Returns the transcript.
 */
export async function runScript(address: string, root: string): Promise<string[]> {
  const recorder = new Recorder(address);
  await recorder.connect('a');
  await recorder.connect('b');
  const part = { recorder, root, at: (path: string) => `${root}${path}` };
  await recorder.ask('a', OpCode.Create, body.create(root, null));
  await systemNodes(part);
  await creation(part);
  await changes(part);
  await acls(part);
  await transactions(part);
  await watches(part);
  await restoredWatches(part);
  await pipelines(part);
  await refusals(part);
  await sessionEnd(part);
  return recorder.finish();
}

interface Part {
  readonly recorder: Recorder;
  readonly root: string;
  readonly at: (path: string) => string;
}

/** Only what other clients of the store cannot have changed. */
async function systemNodes({ recorder }: Part): Promise<void> {
  await recorder.ask('a', OpCode.GetData, body.read('/zookeeper/config'));
  await recorder.ask('a', OpCode.GetAcl, body.path('/zookeeper/config'));
  await recorder.ask('a', OpCode.GetChildren2, body.read('/zookeeper'));
  await recorder.ask('a', OpCode.SetData, body.setData('/zookeeper/config', 'x'));
  for (const path of ['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']) {
    await recorder.ask('a', OpCode.Delete, body.version(path));
  }
}

async function creation({ recorder, at }: Part): Promise<void> {
  const create = (path: string, ...rest: [data?: string | null, flags?: number]) =>
    recorder.ask('a', OpCode.Create, body.create(at(path), ...rest));
  await create('/c', 'data');
  await create('/c', 'data');
  await create('/c/null', null);
  await create('/c/empty', '');
  for (const path of ['/c/null', '/c/empty']) {
    await recorder.ask('a', OpCode.GetData, body.read(at(path)));
  }
  for (const path of ['/c/x', '/c/y', '/c/x']) await create(path, '', 2);
  await recorder.ask('a', OpCode.Delete, body.version(at('/c/y0000000003')));
  await create('/c/', '', 2);
  await create('/c/e', 'mine', 1);
  await create('/c/e/child');
  await create('/c/e/child', '', 2);
  await create('/c/es-', '', 3);
  await recorder.ask('a', OpCode.Exists, body.read(at('/c/e')));
  await recorder.ask('a', OpCode.Create2, body.create(at('/c/two'), 'xy', 0));
  await recorder.ask('a', OpCode.CreateContainer, body.create(at('/c/box'), '', 4));
  await recorder.ask('a', OpCode.CreateContainer, body.create(at('/c/box2'), '', 0));
  await recorder.ask('a', OpCode.CreateTtl, body.createTtl(at('/c/ttl'), 1_000_000));
  await recorder.ask('a', OpCode.CreateTtl, body.createTtl(at('/c/ttl-'), 1_000_000, 6));
  await recorder.ask('a', OpCode.CreateTtl, body.createTtl(at('/c/ttl2'), 0));
  await recorder.ask('a', OpCode.CreateTtl, body.createTtl(at('/c/ttl2'), 5, 0));
  await recorder.ask('a', OpCode.GetChildren2, body.read(at('/c')));
  await recorder.ask('a', OpCode.Exists, body.read(at('/c')));
  for (const path of ['/c//b', '/c/./b', '/c/..', '/c/.', '/none/b', '/c/\u0001', '/c/tail/']) {
    await create(path);
  }
  await recorder.ask('a', OpCode.Create, body.create('relative'));
  await recorder.ask('a', OpCode.Create, body.create('/'));
  for (const flags of [4, 5, 7, -1]) await create(`/c/flag${flags}`, '', flags);
  await create(`/c/${Buffer.from('höhe 日本').toString('latin1')}`);
  await create(`/c/${Buffer.from('😀').toString('latin1')}`);
}

async function changes({ recorder, at }: Part): Promise<void> {
  const node = at('/s');
  await recorder.ask('a', OpCode.Create, body.create(node, '1'));
  const stat = () => recorder.ask('a', OpCode.Exists, body.read(node));
  for (const version of [0, 0, -1, -2, 7]) {
    await recorder.ask('a', OpCode.SetData, body.setData(node, '1', version));
    await stat();
  }
  await recorder.ask('a', OpCode.SetData, body.setData(node, null));
  await recorder.ask('a', OpCode.GetData, body.read(node));
  for (const version of [0, 0, -1]) {
    await recorder.ask('a', OpCode.SetAcl, body.setAcl(node, OPEN, version));
    await stat();
  }
  await recorder.ask('a', OpCode.Create, body.create(`${node}/child`));
  await stat();
  await recorder.ask('a', OpCode.SetData, body.setData(`${node}/child`, 'x'));
  await stat();
  for (const version of [7, -1])
    await recorder.ask('a', OpCode.Delete, body.version(node, version));
  await recorder.ask('a', OpCode.Delete, body.version(`${node}/child`, 1));
  await stat();
  for (const path of ['/none', '/none/child', '/s//', '/s/.']) {
    await recorder.ask('a', OpCode.Delete, body.version(at(path)));
    await recorder.ask('a', OpCode.SetData, body.setData(at(path), ''));
    await recorder.ask('a', OpCode.GetData, body.read(at(path), true));
    await recorder.ask('a', OpCode.GetChildren, body.read(at(path), true));
  }
  await recorder.ask('a', OpCode.Delete, body.version('bad'));
  await recorder.ask('a', OpCode.Delete, body.version(node, 6));
  await stat();
  await recorder.ask('a', OpCode.Sync, body.path('bad'));
  await recorder.ask('a', OpCode.GetAllChildrenNumber, body.path(at('/c')));
  await recorder.ask('a', OpCode.GetEphemerals, body.path(at('/c/e')));
  await recorder.ask('b', OpCode.GetEphemerals, body.path('/'));
}

async function acls({ recorder, at }: Part): Promise<void> {
  const row = (perms: number, scheme: string, id: string): AclRow => ({ perms, scheme, id });
  const create = (path: string, rows: readonly AclRow[] | null) =>
    recorder.ask('a', OpCode.Create, body.create(at(path), 'x', 0, rows));
  await create('/acl', OPEN);
  for (const rows of [
    null,
    [],
    [row(31, 'world', 'bob')],
    [row(31, 'auth', '')],
    [row(31, 'digest', 'bob')],
    [row(31, 'magic', 'x')],
    [row(31, 'ip', '1.2.3')],
  ]) {
    await create('/acl/bad', rows);
  }
  await recorder.ask('a', OpCode.SetAcl, body.setAcl(at('/none'), []));
  await create('/acl/ip', [row(31, 'ip', '127.0.0.0/8')]);
  await create('/acl/far', [row(31, 'ip', '10.0.0.0/8')]);
  await recorder.ask('a', OpCode.GetData, body.read(at('/acl/ip')));
  await recorder.ask('a', OpCode.GetData, body.read(at('/acl/far')));
  await recorder.ask('a', OpCode.WhoAmI);
  await recorder.ask('a', OpCode.Auth, body.auth('digest', 'bob:pw'), Xid.Auth);
  await recorder.ask('a', OpCode.Auth, body.auth('digest', 'bob:pw'), Xid.Auth);
  await recorder.ask('a', OpCode.WhoAmI);
  await create('/acl/bob', [row(31, 'auth', 'ignored'), row(31, 'digest', BOB)]);
  await create('/acl/both', [row(1, 'world', 'anyone'), row(31, 'auth', '')]);
  for (const client of ['a', 'b']) {
    for (const path of ['/acl/bob', '/acl/both']) {
      await recorder.ask(client, OpCode.GetAcl, body.path(at(path)));
      await recorder.ask(client, OpCode.GetData, body.read(at(path)));
      await recorder.ask(client, OpCode.GetChildren, body.read(at(path)));
      await recorder.ask(client, OpCode.SetData, body.setData(at(path), 'y', 99));
      await recorder.ask(client, OpCode.Create, body.create(`${at(path)}/${client}`));
      await recorder.ask(client, OpCode.Delete, body.version(`${at(path)}/none`));
      await recorder.ask(client, OpCode.SetAcl, body.setAcl(at(path), OPEN, 99));
    }
  }
  await recorder.connect('bad');
  await recorder.ask('bad', OpCode.Auth, body.auth('magic', 'x'), Xid.Auth);
  await recorder.connect('bad');
  await recorder.ask('bad', OpCode.Auth, body.auth('world', 'anyone'), Xid.Auth);
  await recorder.ask('b', OpCode.Auth, body.auth('ip', 'x'), Xid.Auth);
  await recorder.ask('b', OpCode.Auth, body.auth('digest', 'nocolon'), Xid.Auth);
}

async function transactions({ recorder, at }: Part): Promise<void> {
  const multi = (...operations: readonly MultiOperation[]) =>
    recorder.ask('a', OpCode.Multi, body.multi(...operations));
  await multi();
  await multi(
    [OpCode.Create, body.create(at('/m'))],
    [OpCode.Create2, body.create(at('/m/s-'), 'x', 2)],
    [OpCode.Create, body.create(at('/m/s-'), 'x', 2)],
    [OpCode.CreateContainer, body.create(at('/m/box'), '', 4)],
    [OpCode.CreateTtl, body.createTtl(at('/m/ttl'), 1_000_000)],
    [OpCode.SetData, body.setData(at('/m'), 'y', 0)],
    [OpCode.Check, body.version(at('/m'), 1)],
    [OpCode.Delete, body.version(at('/m/ttl'))],
  );
  await recorder.ask('a', OpCode.GetChildren2, body.read(at('/m')));
  await multi(
    [OpCode.Create, body.create(at('/m/s-'), '', 2)],
    [OpCode.Check, body.version(at('/m'), 5)],
    [OpCode.Delete, body.version(at('/none'))],
  );
  await recorder.ask('a', OpCode.Create, body.create(at('/m/s-'), '', 2));
  await multi(
    [OpCode.Delete, body.version(at('/none'))],
    [OpCode.Create, body.create(at('/m/bad'), '', 0, [])],
  );
  await multi([OpCode.Create, body.create(at('/m/bad'), '', 0, [])]);
  await multi([OpCode.Check, body.version(at('/m'), -1)]);
  await multi([OpCode.Delete, body.version(at('/m'))]);
  await multi([OpCode.SetAcl, body.setAcl(at('/m'), OPEN)]);
  await recorder.ask(
    'a',
    OpCode.MultiRead,
    body.multi(
      [OpCode.GetData, body.read(at('/m'))],
      [OpCode.GetChildren, body.read(at('/m'))],
      [OpCode.GetData, body.read(at('/none'))],
      [OpCode.GetData, body.read(at('/acl/far'))],
    ),
  );
}

async function watches({ recorder, at }: Part): Promise<void> {
  const node = at('/w');
  const watch = async (client: string) => {
    await recorder.ask(client, OpCode.Exists, body.read(node, true));
    await recorder.ask(client, OpCode.GetChildren, body.read(at(''), true));
  };
  await watch('a');
  await watch('b');
  await recorder.ask('a', OpCode.Create, body.create(node, 'x'));
  await recorder.ask('a', OpCode.SetData, body.setData(node, 'unwatched'));
  for (const type of [OpCode.GetData, OpCode.GetData, OpCode.Exists, OpCode.GetChildren2]) {
    await recorder.ask('b', type, body.read(node, true));
  }
  await recorder.ask('a', OpCode.SetAcl, body.setAcl(node, OPEN));
  await recorder.ask('a', OpCode.SetData, body.setData(node, 'y'));
  await recorder.ask('a', OpCode.Create, body.create(`${node}/c`));
  await recorder.ask('b', OpCode.GetChildren, body.read(node, true));
  await recorder.ask('a', OpCode.SetData, body.setData(`${node}/c`, 'z'));
  await recorder.ask('a', OpCode.Delete, body.version(`${node}/c`));
  await recorder.ask('b', OpCode.GetData, body.read(node, true));
  await recorder.ask('b', OpCode.GetChildren, body.read(node, true));
  await recorder.ask('b', OpCode.GetChildren, body.read(at(''), true));
  await recorder.ask('a', OpCode.Delete, body.version(node));
  const addWatch = (path: string, mode: number) =>
    recorder.ask('b', OpCode.AddWatch, (frames) => frames.string(path).int(mode));
  await addWatch(at('/pw'), 0);
  await addWatch(at('/rw'), 1);
  await addWatch(at('/rw'), 9);
  for (const path of ['/pw', '/rw', '/pw/a', '/rw/a', '/rw/a/b']) {
    await recorder.ask('a', OpCode.Create, body.create(at(path)));
    await recorder.ask('a', OpCode.SetData, body.setData(at(path), 'x'));
  }
  for (const path of ['/rw/a/b', '/rw/a', '/rw', '/pw/a', '/pw']) {
    await recorder.ask('a', OpCode.Delete, body.version(at(path)));
  }
  for (const type of [OpCode.CheckWatches, OpCode.RemoveWatches, OpCode.CheckWatches]) {
    for (const path of ['/pw', '/rw', '/none']) {
      await recorder.ask('b', type, body.version(at(path), 3));
    }
  }
  await recorder.ask('b', OpCode.CheckWatches, body.version(at('/pw'), 77));
  await recorder.ask('a', OpCode.Create, body.create(at('/pw')));
}

async function restoredWatches({ recorder, at }: Part): Promise<void> {
  for (const path of ['/r', '/r/same', '/r/changed', '/r/parent', '/r/parent/x']) {
    await recorder.ask('a', OpCode.Create, body.create(at(path)));
  }
  const { reply } = await recorder.client('b').ask(OpCode.Ping, () => {}, Xid.Ping);
  await recorder.ask('a', OpCode.SetData, body.setData(at('/r/changed'), 'x'));
  await recorder.ask('a', OpCode.Create, body.create(at('/r/parent/y')));
  await recorder.ask('a', OpCode.Delete, body.version(at('/r/parent/y')));
  const lists = [
    [at('/r/same'), at('/r/changed'), at('/r/gone')],
    [at('/r/same'), at('/r/unborn')],
    [at('/r/same'), at('/r/parent'), at('/r/gone')],
  ];
  await recorder.ask('b', OpCode.SetWatches, body.setWatches(reply.zxid, ...lists), -8);
  await recorder.ask('a', OpCode.Create, body.create(at('/r/unborn')));
  await recorder.ask('a', OpCode.Delete, body.version(at('/r/same')));
  const more = [[], [], [], [at('/r/same')], [at('/r/parent')]];
  await recorder.ask('b', OpCode.SetWatches2, body.setWatches(0, ...more), -8);
  await recorder.ask('a', OpCode.Create, body.create(at('/r/same')));
  await recorder.ask('a', OpCode.SetData, body.setData(at('/r/parent/x'), 'x'));
}

async function pipelines({ recorder, at }: Part): Promise<void> {
  const node = at('/pipe');
  await recorder.ask('a', OpCode.Create, body.create(node, '0'));
  const requests: (readonly [number, number, ReturnType<typeof body.path>?])[] = [];
  for (let i = 1; i <= 5; i++) {
    requests.push([i * 10, OpCode.SetData, body.setData(node, String(i))]);
    requests.push([i * 10 + 1, OpCode.GetData, body.read(node, true)]);
  }
  requests.push([Xid.Ping, OpCode.Ping]);
  await recorder.pipeline('a', requests, 15);
  await recorder.pipeline(
    'a',
    [
      [100, OpCode.Create, body.create(`${node}/x`)],
      [101, OpCode.Sync, body.path(node)],
      [102, OpCode.Exists, body.read(`${node}/x`)],
      [103, OpCode.Delete, body.version(`${node}/x`)],
      [104, OpCode.Exists, body.read(`${node}/x`)],
    ],
    5,
  );
}

async function refusals({ recorder }: Part): Promise<void> {
  await recorder.ask('a', OpCode.GetData, (frames) => frames.int(50));
  await recorder.ask('a', OpCode.Create, (frames) => frames.string('/cut'));
  await recorder.ask('a', OpCode.Sasl, (frames) => frames.buffer(new Uint8Array(3)));
  for (const type of [0, 10, 23, 99]) {
    await recorder.connect('lost');
    await recorder.ask('lost', type);
  }
}

async function sessionEnd({ recorder, at }: Part): Promise<void> {
  await recorder.ask('a', OpCode.Create, body.create(at('/end')));
  await recorder.connect('c');
  for (const name of ['x', 'y', 'z']) {
    await recorder.ask('c', OpCode.Create, body.create(at(`/end/${name}`), '', 1));
  }
  await recorder.ask('a', OpCode.Exists, body.read(at('/end/y'), true));
  await recorder.ask('a', OpCode.GetChildren2, body.read(at('/end'), true));
  await recorder.ask('c', OpCode.CloseSession);
  await recorder.ask('a', OpCode.Exists, body.read(at('/end')));
}

/** Random requests of two clients that share few paths; the seed decides all. */
export async function runRandom(
  address: string,
  root: string,
  seed: number,
  requests: number,
): Promise<string[]> {
  const recorder = new Recorder(address);
  await recorder.connect('a');
  await recorder.connect('b');
  await recorder.ask('a', OpCode.Create, body.create(root));
  const random = new RandomRequests(seed, root);
  for (let round = 0; round < requests; round++) {
    await recorder.ask(random.below(2) === 0 ? 'a' : 'b', ...random.next());
  }
  await recorder.ask('a', OpCode.GetChildren2, body.read(root));
  await recorder.ask('b', OpCode.CloseSession);
  await recorder.ask('a', OpCode.GetChildren2, body.read(root));
  return recorder.finish();
}
