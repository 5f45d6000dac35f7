import { ETCD } from '@lockstep/adapter-etcd';
import type { Revision } from '@lockstep/model';
import type { World } from '../world.ts';
import type { History } from './history.ts';
import { GRACE_US } from './messages.ts';
import type { Registers, Version } from './registers.ts';

/** A change as watchers must be told of it. */
interface KeyEvent {
  readonly key: string;
  readonly revision: Revision;
  /** Undefined for a deletion. */
  readonly text: string | undefined;
  readonly atUs: number;
}

/** What a watcher asked for, and how far its client has come, over all its streams. */
export interface WatchCursor {
  readonly who: string;
  readonly from: string;
  /** Undefined: the one key. */
  readonly to: string | undefined;
  readonly wantsPrevious: boolean;
  /** Place among all events of the first one that the client has not got. */
  at: number;
  /** Where the client would go on: everything below it has been told. */
  next: Revision;
}

/** An event as it came over the wire. */
export interface ToldEvent {
  readonly key: string;
  readonly revision: Revision;
  readonly text: string | undefined;
  /** Absent when nothing was before, or it is compacted. */
  readonly previous: string | undefined;
}

/**
 * The etcd door's watches: exactly the events of the range from the start on, in order and once,
 * a revision never split, over any number of streams; a progress mark never runs ahead; the former
 * value is the one that was there (WatchOrdered, WatchUnique, WatchReliable, WatchAtomic,
 * WatchResumable, WatchBookmarkable, WatchPrevKV).
 */
export class EtcdWatches {
  readonly #world: World;
  readonly #registers: Registers;
  readonly #events: KeyEvent[] = [];
  told = 0;

  constructor(world: World, history: History, registers: Registers) {
    this.#world = world;
    this.#registers = registers;
    history.listeners.push({
      transaction: ({ events }) => {
        for (const event of events) {
          if (event.kind !== 'change' || event.keyspace !== ETCD) continue;
          const { key, revision, sub, record } = event;
          const versions = registers.of(ETCD, key);
          const isIt = (one: Version) => one.revision === revision && one.sub === sub;
          const text = record === undefined ? undefined : versions.findLast(isIt)?.text;
          this.#events.push({ key, revision, text, atUs: world.nowUs });
        }
      },
    });
  }

  /** A watcher that gets everything from `start` on. */
  cursor(
    who: string,
    range: { readonly from: string; readonly to: string | undefined },
    wantsPrevious: boolean,
    start: Revision,
  ): WatchCursor {
    return { who, ...range, wantsPrevious, at: this.#placeOf(start), next: start };
  }

  /** Told that what it wants is compacted: the client goes on from there. */
  compacted(cursor: WatchCursor, revision: Revision): void {
    if (revision <= cursor.next) {
      this.#fail('WatchResumable', cursor, `is cancelled as compacted at ${revision}`);
    }
    cursor.at = this.#placeOf(revision);
    cursor.next = revision;
  }

  /** One response with events. `compacted`: oldest revision that its member can still read. */
  response(cursor: WatchCursor, told: readonly ToldEvent[], compacted: Revision): void {
    for (const event of told) {
      this.told += 1;
      const due = this.#due(cursor);
      if (due === undefined || due.key !== event.key || due.revision !== event.revision) {
        const late = event.revision < cursor.next ? 'WatchUnique' : 'WatchReliable';
        const what = `is told of ${event.key} at ${event.revision}`;
        this.#fail(late, cursor, `${what}, due was ${due?.key} at ${due?.revision}`);
        return;
      }
      if (due.text !== event.text) {
        const what = `of ${event.key} at ${event.revision}: ${event.text}, it was ${due.text}`;
        this.#fail('WatchReliable', cursor, `is told ${what}`);
      }
      if (cursor.wantsPrevious) this.#checkPrevious(cursor, event, compacted);
      cursor.at += 1;
    }
    const last = told.at(-1);
    if (last === undefined) return;
    const rest = this.#due(cursor);
    if (rest?.revision === last.revision) {
      this.#fail('WatchAtomic', cursor, `gets revision ${last.revision} in parts`);
    }
    cursor.next = last.revision + 1;
  }

  /** Told that it has everything up to a revision. */
  progress(cursor: WatchCursor, revision: Revision): void {
    const due = this.#due(cursor);
    if (due !== undefined && due.revision <= revision) {
      const what = `progress at ${revision} before ${due.key} at ${due.revision}`;
      this.#fail('WatchBookmarkable', cursor, `is told of ${what}`);
    }
    cursor.next = Math.max(cursor.next, revision + 1);
  }

  /** The cluster is at rest: whoever still watches has everything. */
  settled(cursor: WatchCursor): void {
    const due = this.#due(cursor);
    if (due === undefined || this.#world.nowUs - due.atUs < GRACE_US) return;
    this.#fail('WatchReliable', cursor, `misses ${due.key} at ${due.revision}`);
  }

  #checkPrevious(cursor: WatchCursor, event: ToldEvent, compacted: Revision): void {
    const { key, revision, previous } = event;
    const before = this.#registers.at(ETCD, key, revision - 1)?.text;
    if (previous === before) return;
    if (previous === undefined && revision - 1 <= compacted) return;
    const what = `${previous} before ${key} at ${revision}, it was ${before}`;
    this.#fail('WatchPrevKV', cursor, `is told of ${what}`);
  }

  /** The next event that concerns a watcher; its place is moved there. */
  #due(cursor: WatchCursor): KeyEvent | undefined {
    const { from, to } = cursor;
    for (; cursor.at < this.#events.length; cursor.at++) {
      const event = this.#events[cursor.at]!;
      if (to === undefined ? event.key === from : event.key >= from && event.key < to) return event;
    }
    return undefined;
  }

  #placeOf(revision: Revision): number {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#events[middle]!.revision < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #fail(invariant: string, { who, from, to }: WatchCursor, what: string): void {
    this.#world.fail(invariant, `${who}, watching ${from}${to ? ` to ${to}` : ''}, ${what}`);
  }
}
