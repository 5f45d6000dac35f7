import type { Revision } from '@lockstep/model';
import type { ChangeEvent } from '@lockstep/state-machine';
import type { Event } from '../gen/kv.ts';
import { type WatchCreateRequest, WatchCreateRequest_FilterType } from '../gen/rpc.ts';
import { isEmptyRange, type KeyRange, keyRange } from '../key-range.ts';
import type { EtcdRecord } from '../keyspace.ts';
import { watchEvent } from '../replies.ts';
import type { StretchRequest } from './catch-up.ts';
import type { Subscriber } from './hub.ts';

/** Where a watcher's responses go. */
export interface WatcherOutput {
  /** True while the client reads too slowly for more events to be queued. */
  readonly congested: boolean;
  /** Events of one or more whole revisions, in order. */
  events(watcher: Watcher, revision: Revision, events: Event[]): void;
  /** The watcher fell behind and wants to be caught up from history. */
  behind(watcher: Watcher): void;
}

/** Asked for by a create request, as far as it does not name the watcher. */
export interface WatcherOptions {
  readonly range: KeyRange;
  /** As requested: 0 means from now on. */
  readonly startRevision: Revision;
  readonly wantsPuts: boolean;
  readonly wantsDeletes: boolean;
  readonly wantsPrevious: boolean;
  readonly progressNotify: boolean;
  readonly fragment: boolean;
}

/** A create request's options; undefined when its range can hold no key. */
export function watcherOptions(request: WatchCreateRequest): WatcherOptions | undefined {
  const key = request.key.length === 0 ? '\0' : request.key.toString('latin1');
  const range = keyRange(key, request.rangeEnd.toString('latin1'));
  if (isEmptyRange(range)) return undefined;
  return {
    range,
    startRevision: request.startRevision,
    wantsPuts: !request.filters.includes(WatchCreateRequest_FilterType.NOPUT),
    wantsDeletes: !request.filters.includes(WatchCreateRequest_FilterType.NODELETE),
    wantsPrevious: request.prevKv,
    progressNotify: request.progressNotify,
    fragment: request.fragment,
  };
}

/**
 * One watcher of one stream. Live, it gets each transaction's events as they apply. When the
 * stream is congested it drops them, remembers where it stood and is caught up from history: what
 * waits for a slow client is a revision number, not a queue.
 */
export class Watcher implements Subscriber {
  readonly id: bigint;
  readonly options: WatcherOptions;
  /** While behind: first revision not sent. While live: no event below it is sent. */
  next: Revision;
  live: boolean;
  closed = false;
  /** Events were sent since the last progress tick. */
  active = false;
  readonly #output: WatcherOutput;
  #pending: ChangeEvent[] = [];

  /** `present` is the store's revision when it is created. */
  constructor(id: bigint, options: WatcherOptions, present: Revision, output: WatcherOutput) {
    this.id = id;
    this.options = options;
    this.next = options.startRevision === 0 ? present + 1 : options.startRevision;
    this.live = this.next > present;
    this.#output = output;
  }

  get range(): KeyRange {
    return this.options.range;
  }

  offer(event: ChangeEvent): boolean {
    if (!this.live || event.revision < this.next) return false;
    const { wantsPuts, wantsDeletes } = this.options;
    if (event.record === undefined ? !wantsDeletes : !wantsPuts) return false;
    this.#pending.push(event);
    return this.#pending.length === 1;
  }

  flush(revision: Revision): void {
    const changes = this.#pending;
    this.#pending = [];
    if (this.closed) return;
    if (this.#output.congested) {
      this.next = changes[0]!.revision;
      this.live = false;
      this.#output.behind(this);
      return;
    }
    this.active = true;
    const { wantsPrevious } = this.options;
    const events = changes.map((change) => {
      const previous = wantsPrevious ? previousOf(change, changes) : undefined;
      return watchEvent(change.key, change.revision, change.record as Stored, previous);
    });
    this.#output.events(this, revision, events);
  }

  skipped(seen: Revision): void {
    if (!this.live) return;
    this.next = Math.max(this.next, seen + 1);
    this.live = false;
    this.#output.behind(this);
  }

  /** What of history it wants next. */
  stretch(revisionsMax: number, changesMax: number): StretchRequest {
    const { range, wantsPuts, wantsDeletes, wantsPrevious } = this.options;
    const first = this.next;
    return { range, first, wantsPuts, wantsDeletes, wantsPrevious, revisionsMax, changesMax };
  }
}

type Stored = EtcdRecord | undefined;

/** The record before the change's revision: a key may change twice in one transaction. */
function previousOf(change: ChangeEvent, changes: readonly ChangeEvent[]): Stored {
  if (change.previous?.modRevision !== change.revision) return change.previous as Stored;
  const first = changes.find(
    (other) => other.key === change.key && other.revision === change.revision,
  );
  const { previous } = first!;
  return previous?.modRevision === change.revision ? undefined : (previous as Stored);
}
