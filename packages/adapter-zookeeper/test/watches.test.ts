import { beforeEach, describe, expect, test } from 'vitest';
import { OPEN_ACL } from '../src/acl.ts';
import type { NodeChanged } from '../src/events.ts';
import { EventType, WatcherType } from '../src/opcodes.ts';
import { type Watcher, Watches } from '../src/watches.ts';

const NAMES = ['', 'created', 'deleted', 'changed', 'children'];
let told: string[];
let watches: Watches;

function watcher(name: string): Watcher {
  return { notify: (type, path) => told.push(`${name} ${NAMES[type]} ${path}`) };
}

function fire(type: NodeChanged['type'], path: string): string[] {
  told = [];
  watches.fire({ kind: 'node', type, path, zxid: 9, acl: OPEN_ACL, parentAcl: OPEN_ACL });
  return told;
}

beforeEach(() => {
  told = [];
  watches = new Watches();
});

describe('watches', () => {
  test('a one-shot watch fires once', () => {
    const a = watcher('a');
    watches.add('data', '/n', a);
    watches.add('data', '/n', a);
    expect(fire(EventType.DataChanged, '/n')).toEqual(['a changed /n']);
    expect(fire(EventType.DataChanged, '/n')).toEqual([]);
    expect(watches.size).toBe(0);
  });

  test('a deletion is told once to who watches data and children, then to the parent', () => {
    const a = watcher('a');
    watches.add('data', '/p/n', a);
    watches.add('child', '/p/n', a);
    watches.add('child', '/p', a);
    expect(fire(EventType.Deleted, '/p/n')).toEqual(['a deleted /p/n', 'a children /p']);
    expect(watches.size).toBe(0);
  });

  test('a change of data does not concern children watches', () => {
    watches.add('child', '/p/n', watcher('a'));
    watches.add('child', '/p', watcher('a'));
    expect(fire(EventType.DataChanged, '/p/n')).toEqual([]);
  });

  test('a persistent watch stays and hears of everything at its path', () => {
    watches.add('persistent', '/p', watcher('a'));
    expect(fire(EventType.Created, '/p')).toEqual(['a created /p']);
    expect(fire(EventType.Created, '/p/n')).toEqual(['a children /p']);
    expect(fire(EventType.Deleted, '/p')).toEqual(['a deleted /p']);
    expect(fire(EventType.DataChanged, '/p')).toEqual(['a changed /p']);
  });

  test('a recursive watch hears of all below, and never of children changes', () => {
    watches.add('recursive', '/', watcher('a'));
    expect(fire(EventType.Created, '/p/q/r')).toEqual(['a created /p/q/r']);
    expect(fire(EventType.Deleted, '/p/q/r')).toEqual(['a deleted /p/q/r']);
  });

  test('a one-shot watch on the path of a persistent one leaves it in place', () => {
    const a = watcher('a');
    watches.add('persistent', '/p', a);
    watches.add('data', '/p', a);
    expect(fire(EventType.DataChanged, '/p')).toEqual(['a changed /p']);
    expect(fire(EventType.DataChanged, '/p')).toEqual(['a changed /p']);
  });

  test('removal takes the kind that was named and says whether there was one', () => {
    const a = watcher('a');
    watches.add('data', '/p', a);
    watches.add('recursive', '/p', a);
    expect(watches.remove(WatcherType.Children, '/p', a)).toBe(false);
    expect(watches.remove(WatcherType.Data, '/p', a)).toBe(true);
    expect(watches.has(WatcherType.Any, '/p', a)).toBe(true);
    expect(watches.has(77, '/p', a)).toBeUndefined();
  });

  test('nothing is left of a connection that is gone', () => {
    const a = watcher('a');
    const b = watcher('b');
    for (const kind of ['data', 'child', 'persistent', 'recursive'] as const) {
      watches.add(kind, '/p', a);
      watches.add(kind, '/p', b);
    }
    watches.dropWatcher(a);
    expect(watches.size).toBe(4);
    expect(fire(EventType.DataChanged, '/p')).toEqual(['b changed /p']);
    watches.dropWatcher(b);
    expect([watches.size, watches.pathCount()]).toEqual([0, 0]);
  });
});
