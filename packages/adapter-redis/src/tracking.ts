import type { ByteString } from '@lockstep/model';
import type { DoorSession } from './door-session.ts';
import type { Reply } from './reply.ts';

/** What CLIENT TRACKING ON chose for a connection. */
export interface TrackingMode {
  /** Whether reads are remembered by themselves, only when asked for, or unless asked not to. */
  readonly remembers: 'always' | 'optin' | 'optout';
  /** BCAST: told of every change of a key that begins so, whatever it read. */
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
  /** Connections by number, so that one that is gone is not kept. */
  readonly #readers = new Map<Key, Set<number>>();
  readonly #broadcast = new Map<DoorSession, Key[]>();
  #all = false;

  constructor(sessions: ReadonlyMap<number, DoorSession>, keysMax = TRACKED_KEYS_MAX) {
    this.#sessions = sessions;
    this.#keysMax = keysMax;
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0 && this.#broadcast.size === 0;
  }

  /** Connections that track, for INFO. */
  get clients(): number {
    let count = 0;
    for (const session of this.#sessions.values()) if (session.tracking !== undefined) count++;
    return count;
  }

  /** The mode of a connection was set, changed or taken away. */
  changedMode(session: DoorSession): void {
    if (session.tracking?.prefixes === undefined) this.#broadcast.delete(session);
    else if (!this.#broadcast.has(session)) this.#broadcast.set(session, []);
  }

  remember(session: DoorSession, keys: readonly Key[]): void {
    for (const key of keys) {
      const readers = this.#readers.get(key);
      if (readers === undefined) this.#readers.set(key, new Set([session.id]));
      else readers.add(session.id);
    }
    for (const key of this.#readers.keys()) {
      if (this.#readers.size <= this.#keysMax) return;
      this.changed(key);
    }
  }

  changed(key: Key): void {
    const readers = this.#readers.get(key);
    if (readers !== undefined) {
      this.#readers.delete(key);
      for (const id of readers) this.#tellReader(id, key);
    }
    for (const [session, pending] of this.#broadcast) {
      const { prefixes, noLoop } = session.tracking!;
      if (noLoop && session.isAuthor) continue;
      if (prefixes!.some((prefix) => key.startsWith(prefix))) pending.push(key);
    }
  }

  /** Everything may have changed: a database was emptied, or events were skipped. */
  changedAll(): void {
    this.#readers.clear();
    this.#all = true;
  }

  /** End of a transaction: broadcasts go out, one message for each prefix, as Redis does. */
  flush(): void {
    if (this.#all) {
      this.#all = false;
      for (const session of this.#sessions.values()) {
        if (session.tracking !== undefined) tell(this.#sessions, session, null);
      }
    }
    for (const [session, pending] of this.#broadcast) {
      if (pending.length === 0) continue;
      const changed = pending.splice(0);
      for (const prefix of session.tracking!.prefixes!) {
        const keys = changed.filter((key) => key.startsWith(prefix));
        if (keys.length > 0) tell(this.#sessions, session, keys);
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
