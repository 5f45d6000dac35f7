import type { ByteString } from '@lockstep/model';
import type { DoorSession } from './door-session.ts';
import type { Reply } from './reply.ts';

/** What CLIENT TRACKING ON chose for a connection. */
export interface TrackingMode {
  /** Whether reads are remembered by themselves, only when asked for, or unless asked not to. */
  readonly remembers: 'always' | 'optin' | 'optout';
  /**
   * BCAST: told of every change of a key that begins so, whatever it read. In ascending order; none
   * begins with another.
   */
  readonly prefixes: readonly ByteString[] | undefined;
  /** Not told of its own changes. */
  readonly noLoop: boolean;
  /** Connection that is told instead; 0 itself. */
  readonly redirect: number;
}

/** Names of databases do not count: a key of that name may have changed in any of them. */
type Key = ByteString;

/** As many as Redis remembers by default (tracking-table-max-keys). */
export const TRACKED_KEYS_MAX = 1_000_000;

/** Names longer than usual count in bytes: nobody may fill the memory with them. */
const TRACKED_BYTES_MAX = 256 * 2 ** 20;

/** Readers of one key beside twice those there are, before the gone ones are looked for. */
const READERS_SPARE = 16;

/** Channel on which RESP2 connections get what others' tracking is redirected to them. */
const CHANNEL = '__redis__:invalidate';

/**
 * Client-side caching of this member's connections: who has read which key since it last changed,
 * and who wants to hear of every change under a prefix. A key is forgotten with the message that
 * says it changed. What is over the limit is said to have changed, which is always safe.
 */
export class TrackingTable {
  readonly #sessions: ReadonlyMap<number, DoorSession>;
  readonly #keysMax: number;
  readonly #bytesMax: number;
  #bytes = 0;
  /** Connections by number, so that one that is gone is not kept. */
  readonly #readers = new Map<Key, Set<number>>();
  readonly #broadcast = new Map<DoorSession, Key[]>();
  readonly #clients = new Set<DoorSession>();
  #all = false;

  constructor(
    sessions: ReadonlyMap<number, DoorSession>,
    keysMax = TRACKED_KEYS_MAX,
    bytesMax = TRACKED_BYTES_MAX,
  ) {
    this.#sessions = sessions;
    this.#keysMax = keysMax;
    this.#bytesMax = bytesMax;
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0 && this.#broadcast.size === 0;
  }

  /** Connections that track, for INFO. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Readers of keys, each as often as it has keys. */
  get readers(): number {
    let count = 0;
    for (const readers of this.#readers.values()) count += readers.size;
    return count;
  }

  /** The mode of a connection was set, changed or taken away. */
  changedMode(session: DoorSession): void {
    if (session.tracking !== undefined) this.#clients.add(session);
    else if (this.#clients.delete(session) && this.#clients.size === 0) this.#forgetAll();
    if (session.tracking?.prefixes === undefined) this.#broadcast.delete(session);
    else if (!this.#broadcast.has(session)) this.#broadcast.set(session, []);
  }

  remember(session: DoorSession, keys: readonly Key[]): void {
    for (const key of keys) {
      const readers = this.#readers.get(key);
      if (readers === undefined) {
        this.#readers.set(key, new Set([session.id]));
        this.#bytes += key.length;
      } else {
        readers.add(session.id);
        if (readers.size > 2 * this.#clients.size + READERS_SPARE) this.#forgetGone(readers);
      }
    }
    for (const key of this.#readers.keys()) {
      if (this.#readers.size <= this.#keysMax && this.#bytes <= this.#bytesMax) return;
      this.changed(key);
    }
  }

  changed(key: Key): void {
    const readers = this.#readers.get(key);
    if (readers !== undefined) {
      this.#readers.delete(key);
      this.#bytes -= key.length;
      for (const id of readers) this.#tellReader(id, key);
    }
    for (const [session, pending] of this.#broadcast) {
      const { prefixes, noLoop } = session.tracking!;
      if (noLoop && session.isAuthor) continue;
      if (prefixOf(prefixes!, key) !== undefined) pending.push(key);
    }
  }

  /** Everything may have changed: a database was emptied, or events were skipped. */
  changedAll(): void {
    this.#forgetAll();
    this.#all = true;
  }

  #forgetAll(): void {
    this.#readers.clear();
    this.#bytes = 0;
  }

  /** A key that never changes is read by many connections that end. */
  #forgetGone(readers: Set<number>): void {
    for (const id of readers) {
      if (this.#sessions.get(id)?.tracking === undefined) readers.delete(id);
    }
  }

  /** End of a transaction: broadcasts go out, one message for each prefix, as Redis does. */
  flush(): void {
    if (this.#all) {
      this.#all = false;
      for (const session of this.#clients) tell(this.#sessions, session, null);
    }
    for (const [session, pending] of this.#broadcast) {
      if (pending.length === 0) continue;
      for (const keys of byPrefix(session.tracking!.prefixes!, pending.splice(0))) {
        tell(this.#sessions, session, keys);
        // It may have been closed by that: it does not read.
        if (session.tracking === undefined) break;
      }
    }
  }

  #tellReader(id: number, key: Key): void {
    const session = this.#sessions.get(id);
    const mode = session?.tracking;
    if (session === undefined || mode === undefined || mode.prefixes !== undefined) return;
    if (mode.noLoop && session.isAuthor) return;
    tell(this.#sessions, session, [key]);
  }
}

/** The prefix that `key` has: as none begins with another, the last that is not behind it. */
function prefixOf(prefixes: readonly ByteString[], key: Key): ByteString | undefined {
  let low = 0;
  let high = prefixes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (prefixes[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  const prefix = prefixes[low - 1];
  return prefix !== undefined && key.startsWith(prefix) ? prefix : undefined;
}

/** Keys in groups of one prefix, in the order of the prefixes. */
function byPrefix(prefixes: readonly ByteString[], keys: readonly Key[]): Key[][] {
  const groups = new Map<ByteString, Key[]>();
  for (const key of keys) {
    const prefix = prefixOf(prefixes, key)!;
    const group = groups.get(prefix);
    if (group === undefined) groups.set(prefix, [key]);
    else group.push(key);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** Null stands for all keys. RESP2 knows no push: there only a redirection tells. */
function tell(
  sessions: ReadonlyMap<number, DoorSession>,
  session: DoorSession,
  keys: readonly Key[] | null,
): void {
  const { redirect } = session.tracking!;
  const target = redirect === 0 ? session : sessions.get(redirect);
  const payload: Reply = keys;
  if (target === undefined) {
    if (session.protocol === 3) {
      session.deliver({ kind: 'push', items: ['tracking-redir-broken', redirect] });
    }
  } else if (target.protocol === 3) {
    target.deliver({ kind: 'push', items: ['invalidate', payload] });
  } else if (redirect !== 0 && target.subscribed) {
    target.deliver({ kind: 'push', items: ['message', CHANNEL, payload] });
  }
}
