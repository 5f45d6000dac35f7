import { LIMITS, type Revision, type Timer } from '@lockstep/model';
import type { Door } from '../door.ts';
import { ETCD_ERRORS, WATCH_REASONS } from '../errors.ts';
import type { Event } from '../gen/kv.ts';
import type { WatchCreateRequest, WatchRequest, WatchResponse } from '../gen/rpc.ts';
import type { StreamCall } from '../session.ts';
import { fragments } from '../watch/fragment.ts';
import { HistoryReader } from '../watch/reader.ts';
import { Watcher, watcherOptions } from '../watch/watcher.ts';

/** Names a response that belongs to no watcher, or to all of a stream. */
const NO_WATCH = -1n;

/** The Watch service: each stream is a `WatchStream`. */
export class WatchService {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  watch(call: StreamCall<WatchRequest, WatchResponse>): void {
    new WatchStream(this.#door, call);
  }
}

/**
 * One stream with its watchers. It lives until the client cancels or the connection ends: a
 * client that sends no more may still listen. Everything that is sent goes through one FIFO, so a
 * progress answer can never overtake an event.
 */
class WatchStream {
  readonly #door: Door;
  readonly #call: StreamCall<WatchRequest, WatchResponse>;
  readonly #watchers = new Map<bigint, Watcher>();
  readonly #reader: HistoryReader;
  closed = false;
  #unsentBytes = 0;
  #nextId = 0n;
  #progressTimer: Timer | undefined;

  constructor(door: Door, call: StreamCall<WatchRequest, WatchResponse>) {
    this.#door = door;
    this.#call = call;
    this.#reader = new HistoryReader(door, this);
    call.onRequest((request) => this.#request(request));
    call.onCancelled(() => this.#close());
  }

  // ---- output ----

  get congested(): boolean {
    return this.#unsentBytes > LIMITS.connectionBytesUnsentMax;
  }

  #send(response: WatchResponse): void {
    if (this.closed) return;
    let sentBytes = 0;
    sentBytes = this.#call.send(response, () => {
      this.#unsentBytes -= sentBytes;
      if (this.#unsentBytes <= LIMITS.connectionBytesUnsentMax / 2) this.#reader.wake();
    });
    this.#unsentBytes += sentBytes;
  }

  #response(watchId: bigint, fields: Partial<WatchResponse>): WatchResponse {
    return {
      header: this.#door.header(),
      watchId,
      created: false,
      canceled: false,
      compactRevision: 0,
      cancelReason: '',
      fragment: false,
      events: [],
      ...fields,
    };
  }

  events(watcher: Watcher, revision: Revision, events: Event[]): void {
    const header = this.#door.header(revision);
    if (!watcher.options.fragment) {
      this.#send(this.#response(watcher.id, { header, events }));
      return;
    }
    // The limit that cuts is that of a request's frame: the request limit and 512 KiB.
    const parts = fragments(events, this.#door.settings.requestBytesMax + 512 * 1024);
    parts.forEach((part, at) => {
      const fragment = at < parts.length - 1;
      this.#send(this.#response(watcher.id, { header, events: part, fragment }));
    });
  }

  behind(watcher: Watcher): void {
    this.#reader.add(watcher);
  }

  compacted(watcher: Watcher, compactRevision: Revision): void {
    this.#remove(watcher);
    const header = this.#door.header(0);
    this.#send(this.#response(watcher.id, { header, canceled: true, compactRevision }));
  }

  // ---- requests ----

  #request(request: WatchRequest): void {
    if (this.closed) return;
    if (request.createRequest !== undefined) this.#create(request.createRequest);
    else if (request.cancelRequest !== undefined) this.#cancel(request.cancelRequest.watchId);
    else if (request.progressRequest !== undefined) this.#answerProgress();
  }

  #create(request: WatchCreateRequest): void {
    const options = watcherOptions(request);
    if (options === undefined) {
      this.#refuse(WATCH_REASONS.emptyRange);
      return;
    }
    if (request.startRevision < 0) {
      this.#refuse(ETCD_ERRORS.COMPACTED.message);
      return;
    }
    if (this.#watchers.has(request.watchId)) {
      if (request.watchId !== 0n) {
        this.#refuse(WATCH_REASONS.duplicateId);
        return;
      }
    }
    const id = request.watchId === 0n ? this.#freeId() : request.watchId;
    const present = this.#door.replica.state.revision;
    const watcher = new Watcher(id, options, present, this);
    this.#watchers.set(id, watcher);
    this.#door.hub.add(watcher);
    this.#send(this.#response(id, { created: true }));
    if (!watcher.live) this.#reader.add(watcher);
    if (options.progressNotify) this.#startProgressTimer();
  }

  #freeId(): bigint {
    while (this.#watchers.has(this.#nextId)) this.#nextId += 1n;
    return this.#nextId++;
  }

  #refuse(cancelReason: string): void {
    this.#send(this.#response(NO_WATCH, { created: true, canceled: true, cancelReason }));
  }

  /** An unknown id gets no answer, as in etcd. */
  #cancel(id: bigint): void {
    const watcher = this.#watchers.get(id);
    if (watcher === undefined) return;
    this.#remove(watcher);
    this.#send(this.#response(id, { canceled: true }));
  }

  // ---- progress ----

  /**
   * "All watchers of this stream have what there is up to this revision." Said only when that is
   * so; otherwise nothing, and the client asks again.
   */
  #answerProgress(): void {
    if (this.#watchers.size === 0 || !this.#reader.idle) return;
    const { revision } = this.#door.replica.state;
    for (const watcher of this.#watchers.values()) {
      if (watcher.options.startRevision > revision) return;
    }
    this.#send(this.#response(NO_WATCH, {}));
  }

  #startProgressTimer(): void {
    if (this.#progressTimer !== undefined) return;
    const { clock, random } = this.#door.ports;
    const interval = Math.max(100, this.#door.settings.watchProgressIntervalMs);
    // Up to a tenth more, so that the streams of many clients do not tick together.
    const delay = interval * (1 + (random.u32() / 2 ** 32) * 0.1);
    this.#progressTimer = clock.setTimer(delay, () => {
      this.#progressTimer = undefined;
      if (this.closed) return;
      this.#tickProgress();
      this.#startProgressTimer();
    });
  }

  #tickProgress(): void {
    const { revision } = this.#door.replica.state;
    for (const watcher of this.#watchers.values()) {
      const { progressNotify, startRevision } = watcher.options;
      const due = progressNotify && watcher.live && !watcher.active && startRevision <= revision;
      if (due && !this.congested) this.#send(this.#response(watcher.id, {}));
      watcher.active = false;
    }
  }

  // ---- end ----

  #remove(watcher: Watcher): void {
    watcher.closed = true;
    this.#watchers.delete(watcher.id);
    this.#door.hub.remove(watcher);
    this.#reader.remove(watcher);
  }

  #close(): void {
    this.closed = true;
    for (const watcher of [...this.#watchers.values()]) this.#remove(watcher);
    this.#progressTimer?.cancel();
  }
}
