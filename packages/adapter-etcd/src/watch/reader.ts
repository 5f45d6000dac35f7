import type { Revision } from '@lockstep/model';
import type { Door } from '../door.ts';
import type { Event } from '../gen/kv.ts';
import { ETCD } from '../keyspace.ts';
import { readStretch, type Stretch, stretchEvents } from './catch-up.ts';
import { eventBytes } from './fragment.ts';
import type { Watcher } from './watcher.ts';

/** Distinct revisions in one catch-up response, as in etcd. */
const PAGE_REVISIONS_MAX = 1000;
/** A page is sent when its values reach this, so that memory per stream stays bounded. */
const PAGE_BYTES_MAX = 1024 * 1024;
/** Values read from history at once. */
const STRETCH_CHANGES_MAX = 64;

/** Where the pages of watchers that catch up go. */
export interface CatchUpOutput {
  readonly congested: boolean;
  events(watcher: Watcher, revision: Revision, events: Event[]): void;
  /** What the watcher wants next has been compacted; it is over. */
  compacted(watcher: Watcher, compactRevision: Revision): void;
  readonly closed: boolean;
}

/**
 * Catches up the watchers of one stream from history, one at a time and one page at a time, while
 * the client keeps reading. A watcher that has reached the present goes live in the same step, so
 * nothing lies between its last page and its first live event.
 */
export class HistoryReader {
  readonly #door: Door;
  readonly #output: CatchUpOutput;
  readonly #queue = new Set<Watcher>();
  #running = false;
  #pageOwner: Watcher | undefined;
  #page: Event[] = [];
  #pageBytes = 0;
  #pageRevisions = 0;

  constructor(door: Door, output: CatchUpOutput) {
    this.#door = door;
    this.#output = output;
  }

  /** True when no watcher is behind. */
  get idle(): boolean {
    return this.#queue.size === 0;
  }

  add(watcher: Watcher): void {
    this.#queue.add(watcher);
    this.wake();
  }

  remove(watcher: Watcher): void {
    this.#queue.delete(watcher);
  }

  /** Goes on, in a turn of its own, unless it is at work or the client is too slow. */
  wake(): void {
    if (this.#running || this.idle) return;
    this.#running = true;
    this.#door.ports.scheduler.post(() => this.#step());
  }

  #step(): void {
    const watcher = this.#queue.values().next().value;
    if (watcher === undefined || this.#output.congested || this.#output.closed) {
      this.#running = false;
      return;
    }
    if (watcher !== this.#pageOwner) {
      this.#clearPage();
      this.#pageOwner = watcher;
    }
    const { state } = this.#door.replica;
    const compacted = state.compactedRevision(ETCD);
    if (watcher.next < compacted) {
      this.#endCompacted(watcher, compacted);
      return;
    }
    const room = PAGE_REVISIONS_MAX - this.#pageRevisions;
    const stretch = readStretch(state, watcher.stretch(room, STRETCH_CHANGES_MAX));
    if (stretch.missing.length === 0) {
      this.#append(watcher, stretch, []);
      return;
    }
    this.#door.replica.readHistory(stretch.missing, (error, records) => {
      if (error === undefined) this.#append(watcher, stretch, records);
      else if (error.code === 'COMPACTED') this.#again();
      else this.#running = false;
    });
  }

  #again(): void {
    this.#door.ports.scheduler.post(() => this.#step());
  }

  #endCompacted(watcher: Watcher, compacted: Revision): void {
    this.#queue.delete(watcher);
    this.#output.compacted(watcher, compacted);
    this.#again();
  }

  #append(watcher: Watcher, stretch: Stretch, records: Parameters<typeof stretchEvents>[1]): void {
    if (watcher.closed) {
      this.#again();
      return;
    }
    for (const event of stretchEvents(stretch, records)) {
      this.#page.push(event);
      this.#pageBytes += eventBytes(event);
    }
    this.#pageRevisions += stretch.revisions;
    watcher.next = stretch.next;
    const { revision } = this.#door.replica.state;
    const caughtUp = watcher.next > revision;
    const full = this.#pageBytes >= PAGE_BYTES_MAX || this.#pageRevisions >= PAGE_REVISIONS_MAX;
    if (caughtUp || full) {
      const events = this.#page;
      this.#clearPage();
      if (events.length > 0) {
        watcher.active = true;
        this.#output.events(watcher, revision, events);
      }
    }
    if (caughtUp) {
      this.#queue.delete(watcher);
      watcher.live = true;
    }
    this.#again();
  }

  #clearPage(): void {
    this.#page = [];
    this.#pageBytes = 0;
    this.#pageRevisions = 0;
  }
}
