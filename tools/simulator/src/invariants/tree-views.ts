import {
  type DoorPayload,
  EventType,
  ZOOKEEPER_DOOR,
  ZOOKEEPER_KEYSPACE,
} from '@lockstep/adapter-zookeeper';
import type { Revision } from '@lockstep/model';
import type { AppliedTransaction } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { History } from './history.ts';
import { GRACE_US } from './messages.ts';
import type { Registers } from './registers.ts';

export type WatchKind = 'data' | 'exist' | 'child' | 'persistent' | 'recursive';

/** Something that happened to a node, as watches see it. */
interface TreeEvent {
  readonly type: number;
  readonly path: string;
  readonly zxid: Revision;
  readonly atUs: number;
}

/** A watch that a client believes to have. */
interface Watch {
  readonly kind: WatchKind;
  readonly path: string;
  /** Of the events that concern it: how many lie behind it. */
  next: number;
}

/** What happened to each node, and what each connection's watches must therefore have told. */
export class TreeViews {
  readonly world: World;
  readonly registers: Registers;
  /** For each kind and path the events that such a watch gets. */
  readonly #events = new Map<string, TreeEvent[]>();
  events = 0;

  constructor(world: World, history: History, registers: Registers) {
    this.world = world;
    this.registers = registers;
    history.listeners.push({ transaction: (transaction) => this.#transaction(transaction) });
  }

  eventsOf(kind: WatchKind, path: string): readonly TreeEvent[] {
    const table = kind === 'exist' ? 'data' : kind;
    return this.#events.get(`${table} ${path}`) ?? [];
  }

  /** Names of the children of a node at a revision, sorted by bytes. */
  childrenAt(path: string, zxid: Revision): string[] {
    const names = new Set<string>();
    const prefix = path === '/' ? '/' : `${path}/`;
    for (const { path: child } of this.eventsOf('child', path)) {
      if (child === path) continue;
      const there = this.registers.at(ZOOKEEPER_KEYSPACE, `n${child}`, zxid);
      if (there?.text !== undefined) names.add(child.slice(prefix.length));
    }
    return [...names].sort();
  }

  #transaction({ events }: AppliedTransaction): void {
    for (const event of events) {
      if (event.kind !== 'door' || event.door !== ZOOKEEPER_DOOR) continue;
      const payload = event.payload as DoorPayload;
      if (payload.kind !== 'node') continue;
      const { type, path, zxid } = payload;
      const atUs = this.world.nowUs;
      const told = { type, path, zxid, atUs };
      this.#add('data', path, told);
      this.#add('persistent', path, told);
      for (let at = path; ; at = parentOf(at)) {
        this.#add('recursive', at, told);
        if (at === '/') break;
      }
      if (type === EventType.DataChanged) continue;
      const parent = parentOf(path);
      if (type === EventType.Deleted) this.#add('child', path, told);
      this.#add('child', parent, told);
      const changed = { ...told, type: EventType.ChildrenChanged, path: parent };
      this.#add('persistent', parent, changed);
    }
  }

  #add(kind: WatchKind, path: string, event: TreeEvent): void {
    const key = `${kind} ${path}`;
    const list = this.#events.get(key);
    if (list === undefined) this.#events.set(key, [event]);
    else list.push(event);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/**
 * One session as its client sees it, over all its connections: replies in the order asked, zxids
 * that never go back, reads that are the tree at the zxid they name; and its watches: each change
 * is told once, in order, and before any reply that could show it (WatchOrdered, WatchUnique,
 * WatchReliable).
 */
export class TreeView {
  readonly #views: TreeViews;
  readonly #name: string;
  #watches: Watch[] = [];
  /** Catch-up events since setWatches was sent. */
  #restoring = false;
  zxid: Revision = 0;
  #eventZxid: Revision = 0;

  constructor(views: TreeViews, name: string) {
    this.#views = views;
    this.#name = name;
  }

  get watches(): readonly { readonly kind: WatchKind; readonly path: string }[] {
    return this.#watches;
  }

  /** Any reply that names a state. */
  reply(zxid: Revision): void {
    if (zxid < this.zxid) this.#fail('SessionOrder', `sees ${zxid} after ${this.zxid}`);
    this.zxid = Math.max(this.zxid, zxid);
    if (this.#restoring) return;
    for (const watch of this.#watches) {
      const due = this.#next(watch);
      if (due === undefined || due.zxid > zxid) continue;
      const what = `a reply at ${zxid} before event ${due.type} of ${due.path} at ${due.zxid}`;
      this.#fail('WatchReliable', `${watch.kind} watch of ${watch.path}: ${what}`);
    }
  }

  /** A watch was registered by the reply that named the present zxid. */
  watch(kind: WatchKind, path: string): void {
    const table = kind === 'exist' ? 'data' : kind;
    const known = this.#watches.some(
      (watch) => watch.path === path && (watch.kind === 'exist' ? 'data' : watch.kind) === table,
    );
    if (known) return;
    this.#watches.push({ kind, path, next: this.#after(kind, path, this.zxid) });
  }

  /** An event; zxid -1 for one that stands for changes long past. */
  event(type: number, path: string, zxid: Revision): void {
    this.#views.events += 1;
    if (zxid === -1) this.#caughtUp(type, path);
    else this.#live(type, path, zxid);
  }

  #live(type: number, path: string, zxid: Revision): void {
    if (zxid <= this.zxid) {
      this.#fail('WatchOrdered', `gets event ${type} of ${path} at ${zxid} behind ${this.zxid}`);
    }
    if (zxid < this.#eventZxid) {
      const what = `event ${type} of ${path} at ${zxid} behind one at ${this.#eventZxid}`;
      this.#fail('WatchOrdered', `gets ${what}`);
    }
    this.#eventZxid = zxid;
    let used = false;
    this.#watches = this.#watches.filter((watch) => {
      const due = this.#next(watch);
      if (due === undefined || !isAs(watch, due, type, path, zxid)) return true;
      used = true;
      watch.next += 1;
      return watch.kind === 'persistent' || watch.kind === 'recursive';
    });
    if (used) return;
    const list = this.#watches.map((watch) => {
      const due = this.#next(watch);
      return `${watch.kind} ${watch.path} due ${due?.type} ${due?.path} ${due?.zxid}`;
    });
    const what = `event ${type} of ${path} at ${zxid}; it watches: ${list.join(', ')}`;
    this.#fail('WatchUnique', `gets ${what}`);
  }

  /** The client sends setWatches with all its watches. */
  restoring(): void {
    this.#restoring = true;
  }

  #caughtUp(type: number, path: string): void {
    let used = false;
    this.#watches = this.#watches.filter((watch) => {
      const child = type === EventType.ChildrenChanged;
      const concerns = watch.path === path && (watch.kind === 'child' || !child);
      const kinds = child ? ['child'] : type === EventType.Deleted ? ['data', 'child'] : ['data'];
      if (type === EventType.Created) kinds.splice(0, 1, 'exist');
      if (used || !concerns || !kinds.includes(watch.kind)) return true;
      if (this.#next(watch) === undefined) return true;
      used = true;
      return false;
    });
    if (!used) this.#fail('WatchUnique', `is told of ${type} of ${path}, which did not happen`);
  }

  /** setWatches was answered: what did not fire is registered again, as of the present zxid. */
  restored(): void {
    this.#restoring = false;
    for (const watch of this.#watches) {
      const due = this.#next(watch);
      const missed = due !== undefined && due.zxid <= this.zxid;
      const owed = watch.kind === 'data' || watch.kind === 'child';
      const appears = watch.kind === 'exist' && this.#isThere(watch.path);
      if ((missed && owed) || (missed && appears)) {
        const what = `event ${due.type} of ${due.path} at ${due.zxid} by ${this.zxid}`;
        this.#fail('WatchResumable', `${watch.kind} watch was not told of ${what}`);
      }
      watch.next = this.#after(watch.kind, watch.path, this.zxid);
    }
  }

  /** All watches are gone, with the session. */
  lost(): void {
    this.#watches = [];
  }

  /** The cluster is at rest: nothing is due. */
  settled(): void {
    for (const watch of this.#watches) {
      const due = this.#next(watch);
      if (due === undefined || this.#views.world.nowUs - due.atUs < GRACE_US) continue;
      const what = `event ${due.type} of ${due.path} at ${due.zxid}`;
      this.#fail('WatchReliable', `${watch.kind} watch of ${watch.path} misses ${what}`);
    }
  }

  /** A read of a node's data at the present zxid; undefined: there was none. */
  read(path: string, data: string | undefined): void {
    const there = this.#views.registers.at(ZOOKEEPER_KEYSPACE, `d${path}`, this.zxid)?.text;
    if (there === data) return;
    this.#fail('SessionRead', `reads ${data} of ${path} at ${this.zxid}, there was ${there}`);
  }

  children(path: string, names: readonly string[]): void {
    const [have, want] = [names.join(), this.#views.childrenAt(path, this.zxid).join()];
    if (have === want) return;
    this.#fail('SessionRead', `lists ${have} under ${path} at ${this.zxid}, it was ${want}`);
  }

  #isThere(path: string): boolean {
    const { registers } = this.#views;
    return registers.at(ZOOKEEPER_KEYSPACE, `n${path}`, this.zxid)?.text !== undefined;
  }

  #next({ kind, path, next }: Watch): TreeEvent | undefined {
    return this.#views.eventsOf(kind, path)[next];
  }

  /** Number of events of a watch at or before a zxid. */
  #after(kind: WatchKind, path: string, zxid: Revision): number {
    const events = this.#views.eventsOf(kind, path);
    let at = events.length;
    while (at > 0 && events[at - 1]!.zxid > zxid) at -= 1;
    return at;
  }

  #fail(invariant: string, what: string): void {
    this.#views.world.fail(invariant, `${this.#name} ${what}`);
  }
}

/** Whether a watch's due event is the one that came; children are told of without their names. */
function isAs(watch: Watch, due: TreeEvent, type: number, path: string, zxid: Revision): boolean {
  if (due.zxid !== zxid) return false;
  if (watch.kind === 'child' && due.path !== watch.path) {
    return type === EventType.ChildrenChanged && path === watch.path;
  }
  return due.type === type && due.path === path;
}
