import type { ByteString } from '@lockstep/model';
import type { Acl } from './acl.ts';
import type { NodeChanged } from './events.ts';
import { EventType, WatcherType } from './opcodes.ts';
import { parentPath } from './paths.ts';

/** A connection as the watch tables see it. */
export interface Watcher {
  /** Queues an event for the client unless it may not read a node with that ACL. */
  notify(type: EventType, path: ByteString, zxid: number, acl: Acl): void;
}

/** Kinds of watch; each has a table of its own, so that one never replaces another. */
export type WatchKind = 'data' | 'child' | 'persistent' | 'recursive';

/** What a watch costs beside its path, roughly. */
const WATCH_BYTES = 100;

/** Paths to watchers and back. */
class WatchTable {
  readonly #byPath = new Map<ByteString, Set<Watcher>>();
  readonly #byWatcher = new Map<Watcher, Set<ByteString>>();
  readonly #weigh: (watcher: Watcher, bytes: number) => void;
  #size = 0;

  /** `weigh` is told how many bytes of paths a watcher gains or loses. */
  constructor(weigh: (watcher: Watcher, bytes: number) => void) {
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#size;
  }

  add(path: ByteString, watcher: Watcher): void {
    const watchers = this.#byPath.get(path) ?? new Set();
    if (watchers.has(watcher)) return;
    watchers.add(watcher);
    this.#byPath.set(path, watchers);
    const paths = this.#byWatcher.get(watcher) ?? new Set();
    paths.add(path);
    this.#byWatcher.set(watcher, paths);
    this.#size++;
    this.#weigh(watcher, path.length + WATCH_BYTES);
  }

  has(path: ByteString, watcher: Watcher): boolean {
    return this.#byPath.get(path)?.has(watcher) === true;
  }

  at(path: ByteString): ReadonlySet<Watcher> | undefined {
    return this.#byPath.get(path);
  }

  remove(path: ByteString, watcher: Watcher): boolean {
    const watchers = this.#byPath.get(path);
    if (watchers?.delete(watcher) !== true) return false;
    if (watchers.size === 0) this.#byPath.delete(path);
    this.#forget(path, watcher);
    return true;
  }

  #forget(path: ByteString, watcher: Watcher): void {
    const paths = this.#byWatcher.get(watcher);
    paths?.delete(path);
    if (paths?.size === 0) this.#byWatcher.delete(watcher);
    this.#size--;
    this.#weigh(watcher, -path.length - WATCH_BYTES);
  }

  /** Takes all watchers of a path out: one-shot watches vanish when they fire. */
  takeAll(path: ByteString): ReadonlySet<Watcher> | undefined {
    const watchers = this.#byPath.get(path);
    if (watchers === undefined) return undefined;
    this.#byPath.delete(path);
    for (const watcher of watchers) this.#forget(path, watcher);
    return watchers;
  }

  dropWatcher(watcher: Watcher): void {
    for (const path of this.#byWatcher.get(watcher) ?? []) {
      const watchers = this.#byPath.get(path);
      watchers?.delete(watcher);
      if (watchers?.size === 0) this.#byPath.delete(path);
      this.#size--;
    }
    this.#byWatcher.delete(watcher);
  }

  watchers(): Iterable<Watcher> {
    return this.#byWatcher.keys();
  }

  pathsOf(watcher: Watcher): Iterable<ByteString> {
    return this.#byWatcher.get(watcher) ?? [];
  }

  paths(): Iterable<ByteString> {
    return this.#byPath.keys();
  }
}

const KINDS_OF_TYPE: ReadonlyMap<number, readonly WatchKind[]> = new Map([
  [WatcherType.Children, ['child']],
  [WatcherType.Data, ['data']],
  [WatcherType.Any, ['data', 'child', 'persistent', 'recursive']],
  [WatcherType.Persistent, ['persistent']],
  [WatcherType.PersistentRecursive, ['recursive']],
]);

/** Watches of all connections of one member. */
export class Watches {
  readonly #bytes = new Map<Watcher, number>();
  readonly #tables: Readonly<Record<WatchKind, WatchTable>> = {
    data: this.#table(),
    child: this.#table(),
    persistent: this.#table(),
    recursive: this.#table(),
  };

  #table(): WatchTable {
    return new WatchTable((watcher, bytes) => {
      this.#bytes.set(watcher, (this.#bytes.get(watcher) ?? 0) + bytes);
    });
  }

  /** Memory that a connection's watches take, roughly. */
  bytesOf(watcher: Watcher): number {
    return this.#bytes.get(watcher) ?? 0;
  }

  add(kind: WatchKind, path: ByteString, watcher: Watcher): void {
    this.#tables[kind].add(path, watcher);
  }

  /** Whether a watch of that client-visible type is there; undefined for an unknown type. */
  has(type: number, path: ByteString, watcher: Watcher): boolean | undefined {
    const kinds = KINDS_OF_TYPE.get(type);
    return kinds?.some((kind) => this.#tables[kind].has(path, watcher));
  }

  /** Removes all watches of that type; false when there were none. */
  remove(type: number, path: ByteString, watcher: Watcher): boolean {
    let removed = false;
    for (const kind of KINDS_OF_TYPE.get(type) ?? []) {
      if (this.#tables[kind].remove(path, watcher)) removed = true;
    }
    return removed;
  }

  dropWatcher(watcher: Watcher): void {
    for (const table of Object.values(this.#tables)) table.dropWatcher(watcher);
    this.#bytes.delete(watcher);
  }

  /**
   * Tells everyone concerned by a change. First those who watch the node or, recursively, one
   * above it; then those who watch its children; then those who watch its parent's children. A
   * connection gets one event from each group, and a deletion only once.
   */
  fire(change: NodeChanged): void {
    const { type, path, zxid, acl, parentAcl } = change;
    const told = this.#dataGroup(path);
    for (const watcher of told ?? []) watcher.notify(type, path, zxid, acl);
    if (type === EventType.DataChanged) return;
    if (type === EventType.Deleted) {
      for (const watcher of this.#childGroup(path) ?? []) {
        if (told?.has(watcher) !== true) watcher.notify(type, path, zxid, acl);
      }
    }
    if (path === '/') return;
    const parent = parentPath(path);
    for (const watcher of this.#childGroup(parent) ?? []) {
      watcher.notify(EventType.ChildrenChanged, parent, zxid, parentAcl);
    }
  }

  #dataGroup(path: ByteString): ReadonlySet<Watcher> | undefined {
    const { data, persistent, recursive } = this.#tables;
    let group = union(data.takeAll(path), persistent.at(path));
    if (recursive.size === 0) return group;
    for (let at = path; ; at = parentPath(at)) {
      group = union(group, recursive.at(at));
      if (at === '/') return group;
    }
  }

  #childGroup(path: ByteString): ReadonlySet<Watcher> | undefined {
    return union(this.#tables.child.takeAll(path), this.#tables.persistent.at(path));
  }

  /** Number of watches of all kinds. */
  get size(): number {
    return Object.values(this.#tables).reduce((sum, table) => sum + table.size, 0);
  }

  /** Connections that watch anything, with what they watch. */
  byWatcher(): Map<Watcher, ByteString[]> {
    const found = new Map<Watcher, ByteString[]>();
    for (const table of Object.values(this.#tables)) {
      for (const watcher of table.watchers()) {
        const paths = new Set([...(found.get(watcher) ?? []), ...table.pathsOf(watcher)]);
        found.set(watcher, [...paths].sort());
      }
    }
    return found;
  }

  /** Number of different paths watched. */
  pathCount(): number {
    const paths = new Set<ByteString>();
    for (const table of Object.values(this.#tables)) {
      for (const path of table.paths()) paths.add(path);
    }
    return paths.size;
  }
}

function union(
  a: ReadonlySet<Watcher> | undefined,
  b: ReadonlySet<Watcher> | undefined,
): ReadonlySet<Watcher> | undefined {
  if (b === undefined) return a;
  if (a === undefined) return b;
  return new Set([...a, ...b]);
}
