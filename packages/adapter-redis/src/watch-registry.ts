import type { ByteString } from '@lockstep/model';
import type { WatchingSession, WatchRegistry } from './door-session.ts';

/**
 * Who watches which key at this member. A change after WATCH makes EXEC answer null even when the
 * key looks as before (absent, set, deleted again); the entry's own preconditions do the rest.
 */
export class WatchTable implements WatchRegistry {
  readonly #watchers = new Map<string, Set<WatchingSession>>();

  add(session: WatchingSession, db: number, key: ByteString): void {
    const name = nameOf(db, key);
    const present = this.#watchers.get(name);
    if (present === undefined) this.#watchers.set(name, new Set([session]));
    else present.add(session);
  }

  clear(session: WatchingSession): void {
    for (const { db, key } of session.watched) {
      const name = nameOf(db, key);
      const present = this.#watchers.get(name);
      present?.delete(session);
      if (present?.size === 0) this.#watchers.delete(name);
    }
    session.watched = [];
    session.dirty = false;
  }

  get isEmpty(): boolean {
    return this.#watchers.size === 0;
  }

  changed(db: number, key: ByteString): void {
    for (const session of this.#watchers.get(nameOf(db, key)) ?? []) session.dirty = true;
  }

  /** Nobody can tell what changed: events were skipped. */
  changedAll(): void {
    for (const sessions of this.#watchers.values()) {
      for (const session of sessions) session.dirty = true;
    }
  }
}

function nameOf(db: number, key: ByteString): string {
  return `${db}/${key}`;
}
