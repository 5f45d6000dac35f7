import { ETCD } from '@lockstep/adapter-etcd';
import {
  EventType,
  NodeMode,
  ZOOKEEPER_DOOR,
  ZOOKEEPER_KEYSPACE,
} from '@lockstep/adapter-zookeeper';
import { EntryKind, LeaseKind } from '@lockstep/model';
import type { AnyKeyspace, LiveRecord, StateEvent } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { History } from '../src/invariants/history.ts';
import { Promises } from '../src/invariants/promises.ts';
import { REDIS } from '../src/invariants/registers.ts';
import { TreeView } from '../src/invariants/tree-views.ts';
import { World } from '../src/world.ts';

/** A history made by hand, and what clients say of it. */
class Past {
  readonly world = new World(1);
  readonly history = new History(this.world);
  readonly promises = new Promises(this.world, this.history);
  readonly witness = { name: 'client', seen: -1 };
  revision = 1;
  #index = 0;
  readonly #cursor = { index: 0, transactions: 0, results: 0 };
  readonly #records = new Map<string, LiveRecord>();

  transaction(...events: StateEvent[]): void {
    this.#index += 1;
    const times = { time: this.#index, wall: 0 };
    const entry = { kind: EntryKind.Commands, ...times, renewals: [], runs: [] } as const;
    this.history.begin('test', this.#cursor, this.#index, 1, entry);
    const head = { revision: this.revision, ...times, origin: 1, sequence: 1 };
    this.history.transaction('test', this.#cursor, { ...head, events });
  }

  /** A change at the present revision; an undefined value deletes. */
  change(keyspace: AnyKeyspace, key: string, value: unknown, lease = 0): StateEvent {
    const name = `${keyspace.id} ${key}`;
    const { revision } = this;
    const previous = this.#records.get(name);
    const createRevision = previous?.createRevision ?? revision;
    const head = { createRevision, modRevision: revision, version: 1, deadline: 0 };
    const record = { value, ...head, token: revision, lease };
    if (value === undefined) this.#records.delete(name);
    else this.#records.set(name, record);
    const after = value === undefined ? undefined : record;
    return { kind: 'change', keyspace, key, revision, sub: 0, record: after, previous };
  }

  redis(key: string, text: string | undefined): void {
    this.revision += 1;
    this.transaction(this.change(REDIS, key, text && { kind: 'string', text }));
  }

  etcd(key: string, text: string | undefined): void {
    this.revision += 1;
    this.transaction(this.change(ETCD, key, text && Buffer.from(text)));
  }

  /** A node of the tree, with the event that watches get. */
  node(path: string, text: string | undefined, type: number): void {
    this.revision += 1;
    const acl = [] as never;
    const payload = { kind: 'node', type, path, zxid: this.revision, acl, parentAcl: acl };
    this.transaction(
      this.change(ZOOKEEPER_KEYSPACE, `n${path}`, text && node(0n)),
      this.change(ZOOKEEPER_KEYSPACE, `d${path}`, text && { kind: 'data', bytes: bytes(text) }),
      { kind: 'door', door: ZOOKEEPER_DOOR, payload },
    );
  }

  ends(kind: LeaseKind, id: bigint, handle: number, ...events: StateEvent[]): void {
    const lease = { kind, id, handle } as never;
    this.transaction(...events, { kind: 'lease-ended', lease, cause: 'expired' });
  }
}

const bytes = (text: string) => Buffer.from(text);
const node = (owner: bigint) => ({
  kind: 'node',
  mode: owner === 0n ? NodeMode.Persistent : NodeMode.Ephemeral,
  ...{ czxid: 1, mzxid: 1, pzxid: 1, ctime: 0, mtime: 0, version: 0, aversion: 0, creates: 0 },
  ...{ children: 0, dataBytes: 0, owner, acl: [], ttlMs: 0, modifiedAt: 0 },
});

/** What clients are told and must not be, by the invariant that says so. */
const lies: [invariant: string, name: string, tell: (past: Past) => void][] = [
  [
    'NoAckedLoss',
    'an acknowledged write that is nowhere',
    ({ promises, witness }) => {
      promises.realTime.wrote(witness, REDIS, 'a', '1', promises.realTime.invoke());
    },
  ],
  [
    'LinearizableWrite',
    'a write behind what was shown before it was sent',
    (past) => {
      const { realTime } = past.promises;
      past.redis('a', '1');
      past.redis('b', '2');
      realTime.read(past.witness, REDIS, 'b', '2', realTime.invoke());
      realTime.wrote({ name: 'other', seen: -1 }, REDIS, 'a', '1', realTime.invoke());
    },
  ],
  [
    'LinearizableRead',
    'a value that was replaced before the read was sent',
    (past) => {
      const { realTime } = past.promises;
      past.redis('a', '1');
      past.redis('a', '2');
      realTime.read(past.witness, REDIS, 'a', '2', realTime.invoke());
      realTime.read({ name: 'other', seen: -1 }, REDIS, 'a', '1', realTime.invoke());
    },
  ],
  [
    'LinearizableRead',
    'a revision below one that was shown',
    (past) => {
      const { realTime } = past.promises;
      past.etcd('a', '1');
      past.etcd('a', '2');
      realTime.sawRevision(past.witness, 3, realTime.invoke());
      realTime.sawRevision({ name: 'other', seen: -1 }, 2, realTime.invoke());
    },
  ],
  [
    'SessionOrder',
    'a write of an older connection after its session attached again',
    (past) => {
      past.promises.realTime.notAfter(past.witness, REDIS, 'a', '1');
      past.redis('a', '1');
      past.promises.realTime.settled();
    },
  ],
  [
    'GuardedWrite',
    'a write under a lower token after a higher one',
    (past) => {
      past.redis('high/x', '7@x#1');
      past.redis('high/x', '6@x#2');
    },
  ],
  [
    'GuardedWrite',
    'a write under a token that no longer holds',
    (past) => {
      past.redis('lock:0', 'me');
      past.redis('lock:0', undefined);
      past.redis('guarded/lock:0', '2@lock:0#1');
    },
  ],
  [
    'LeaseNeverEarly',
    'a lock that ends before its holder may think so',
    (past) => {
      past.redis('lock:0', 'me');
      past.promises.expiries.granted('lock:0', 2, 1000, 0);
      past.world.nowUs = 500_000;
      past.redis('lock:0', undefined);
    },
  ],
  [
    'SessionAtomic',
    'a session that ends without one of its nodes',
    (past) => {
      past.transaction(past.change(ZOOKEEPER_KEYSPACE, 'n/e', node(5n), 3));
      past.ends(LeaseKind.ZooKeeper, 5n, 3);
    },
  ],
  [
    'SessionAtomic',
    'a session whose nodes go at two revisions',
    (past) => {
      past.transaction(past.change(ZOOKEEPER_KEYSPACE, 'n/e', node(5n), 3));
      past.transaction(past.change(ZOOKEEPER_KEYSPACE, 'n/f', node(5n), 3));
      past.revision += 1;
      const one = past.change(ZOOKEEPER_KEYSPACE, 'n/e', undefined);
      past.revision += 1;
      const two = past.change(ZOOKEEPER_KEYSPACE, 'n/f', undefined);
      past.ends(LeaseKind.ZooKeeper, 5n, 3, one, two);
    },
  ],
  [
    'SessionAtomic',
    'an ephemeral node of a session that has ended',
    (past) => {
      past.ends(LeaseKind.ZooKeeper, 5n, 3);
      past.transaction(past.change(ZOOKEEPER_KEYSPACE, 'n/e', node(5n), 3));
    },
  ],
];

/** The same for watches: each begins with a watcher, and a change or two. */
const watchLies: typeof lies = [
  ['SessionOrder', 'a zxid that goes back', (past) => viewOf(past, 3).reply(2)],
  [
    'SessionRead',
    'data that were not there at the zxid',
    (past) => {
      past.node('/a', 'x', EventType.Created);
      viewOf(past, 2).read('/a', 'y');
    },
  ],
  [
    'SessionRead',
    'children that were not there at the zxid',
    (past) => {
      past.node('/a', 'x', EventType.Created);
      viewOf(past, 2).children('/', ['a', 'b']);
    },
  ],
  [
    'WatchReliable',
    'a reply that could show a change before its event',
    (past) => {
      const view = viewOf(past, 1);
      view.watch('exist', '/a');
      past.node('/a', 'x', EventType.Created);
      view.reply(2);
    },
  ],
  [
    'WatchUnique',
    'an event of a watch that has fired',
    (past) => {
      const view = viewOf(past, 1);
      view.watch('exist', '/a');
      past.node('/a', 'x', EventType.Created);
      view.event(EventType.Created, '/a', 2);
      view.event(EventType.Created, '/a', 2);
    },
  ],
  [
    'WatchOrdered',
    'an event behind a reply that showed it',
    (past) => {
      past.node('/a', 'x', EventType.Created);
      viewOf(past, 2).event(EventType.Created, '/a', 2);
    },
  ],
  [
    'WatchResumable',
    'a change between two connections that setWatches does not tell',
    (past) => {
      const view = viewOf(past, 1);
      view.watch('child', '/');
      past.node('/a', 'x', EventType.Created);
      view.restoring();
      view.reply(2);
      view.restored();
    },
  ],
  ['WatchUnique', 'an etcd event told twice', (past) => etcdTold(past, ['a', 2], ['a', 2])],
  ['WatchReliable', 'an etcd event left out', (past) => etcdTold(past, ['b', 3])],
  [
    'WatchAtomic',
    'half a revision',
    (past) => {
      const { etcdWatches } = past.promises;
      past.revision += 1;
      const one = past.change(ETCD, 'a', bytes('1'));
      past.transaction(one, { ...past.change(ETCD, 'b', bytes('2')), sub: 1 } as StateEvent);
      const cursor = etcdWatches.cursor('client', { from: 'a', to: 'z' }, false, 1);
      etcdWatches.response(cursor, [told('a', 2, '1')], 0);
    },
  ],
  [
    'WatchBookmarkable',
    'progress ahead of an event',
    (past) => {
      past.etcd('a', '1');
      const { etcdWatches } = past.promises;
      etcdWatches.progress(etcdWatches.cursor('client', { from: 'a', to: 'z' }, false, 1), 2);
    },
  ],
  [
    'WatchPrevKV',
    'a former value that was not there',
    (past) => {
      past.etcd('a', '1');
      past.etcd('a', '2');
      const { etcdWatches } = past.promises;
      const cursor = etcdWatches.cursor('client', { from: 'a', to: 'z' }, true, 3);
      etcdWatches.response(cursor, [{ ...told('a', 3, '2'), previous: '0' }], 0);
    },
  ],
  [
    'WatchResumable',
    'a watcher cancelled as compacted that is not',
    (past) => {
      const { etcdWatches } = past.promises;
      etcdWatches.compacted(etcdWatches.cursor('client', { from: 'a', to: 'z' }, false, 5), 4);
    },
  ],
  ['WatchReliable', 'a message left out', (past) => heard(past, 'one', 'three')],
  ['WatchReliable', 'a message told twice', (past) => heard(past, 'one', 'one')],
  ['WatchReliable', 'a first message too late', (past) => heard(past, 'two')],
];

function viewOf(past: Past, zxid: number): TreeView {
  const view = new TreeView(past.promises.views, 'session');
  view.reply(zxid);
  return view;
}

const told = (key: string, revision: number, text: string) => ({
  ...{ key, revision, text },
  previous: undefined,
});

function etcdTold(past: Past, ...events: [key: string, revision: number][]): void {
  past.etcd('a', '1');
  past.etcd('b', '1');
  const { etcdWatches } = past.promises;
  const cursor = etcdWatches.cursor('client', { from: 'a', to: 'z' }, false, 1);
  for (const [key, revision] of events) etcdWatches.response(cursor, [told(key, revision, '1')], 0);
}

function heard(past: Past, ...texts: string[]): void {
  const { messages } = past.promises;
  const subscription = messages.subscribe('client', 'news');
  messages.confirmed(subscription);
  for (const message of ['one', 'two', 'three']) {
    const payload = { kind: 'message', channel: 'news', message, sharded: false };
    past.transaction({ kind: 'door', door: 'redis', payload });
  }
  for (const text of texts) messages.message(subscription, text);
}

describe('what clients are told', () => {
  for (const [invariant, name, tell] of [...lies, ...watchLies]) {
    it(`must not be ${name}: ${invariant}`, () => {
      const past = new Past();
      tell(past);
      expect(past.world.violation?.invariant).toBe(invariant);
    });
  }

  it('may be all that the history says', () => {
    const past = new Past();
    const { realTime, etcdWatches } = past.promises;
    const invoked = realTime.invoke();
    past.redis('a', '1');
    realTime.wrote(past.witness, REDIS, 'a', '1', invoked);
    realTime.read(past.witness, REDIS, 'a', '1', realTime.invoke());
    past.etcd('k', '1');
    past.etcd('k', '2');
    const cursor = etcdWatches.cursor('client', { from: 'k', to: undefined }, false, 1);
    etcdWatches.response(cursor, [told('k', 3, '1'), told('k', 4, '2')], 0);
    etcdWatches.progress(cursor, 4);
    heard(past, 'one', 'two', 'three');
    const view = viewOf(past, 1);
    view.watch('exist', '/a');
    past.node('/a', 'x', EventType.Created);
    view.event(EventType.Created, '/a', past.revision);
    view.reply(past.revision);
    view.read('/a', 'x');
    view.children('/', ['a']);
    expect(past.world.violation).toBe(undefined);
  });
});
