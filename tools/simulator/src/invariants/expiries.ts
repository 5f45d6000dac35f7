import { ZOOKEEPER_KEYSPACE } from '@lockstep/adapter-zookeeper';
import type { Token } from '@lockstep/model';
import { CLOCK_RATE_MAX } from '../clock.ts';
import type { World } from '../world.ts';
import type { History } from './history.ts';
import { REDIS } from './registers.ts';

interface Grant {
  sentUs: number;
  ttlMs: number;
}

/** Tolerance for what is rounded to milliseconds on the way. */
const ROUNDING_MS = 2;

/**
 * LeaseNeverEarly for records with a time to live: a lock that its holder was told of stands, if
 * he does not release it, until his time is over by the slowest clock allowed.
 */
export class Expiries {
  readonly #world: World;
  readonly #grants = new Map<string, Grant>();
  readonly #gone = new Map<string, number>();

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({
      transaction: ({ events }) => {
        for (const event of events) {
          if (event.kind !== 'change') continue;
          if (event.keyspace !== REDIS && event.keyspace !== ZOOKEEPER_KEYSPACE) continue;
          const { key, record, previous } = event;
          if (previous === undefined || record?.token === previous.token) continue;
          this.#ended(`${key} ${previous.token}`);
        }
      },
    });
  }

  /** Acknowledged to the holder: it lives `ttlMs` from some moment after `sentUs`. */
  granted(name: string, token: Token, ttlMs: number, sentUs: number): void {
    const key = `${name} ${token}`;
    const known = this.#grants.get(key);
    if (known === undefined || known.sentUs < sentUs) this.#grants.set(key, { sentUs, ttlMs });
    const goneUs = this.#gone.get(key);
    if (goneUs !== undefined) this.#check(key, goneUs);
  }

  /** The holder gives it up: it may end at any time from now on. */
  released(name: string, token: Token): void {
    this.#grants.delete(`${name} ${token}`);
  }

  #ended(key: string): void {
    this.#gone.set(key, this.#world.nowUs);
    this.#check(key, this.#world.nowUs);
  }

  #check(key: string, atUs: number): void {
    const grant = this.#grants.get(key);
    if (grant === undefined) return;
    const livedMs = (atUs - grant.sentUs) / 1000;
    if (livedMs + ROUNDING_MS >= grant.ttlMs / CLOCK_RATE_MAX) return;
    const what = `${livedMs.toFixed(1)} ms after it was promised for ${grant.ttlMs} ms`;
    this.#world.fail('LeaseNeverEarly', `${key} ends ${what}`);
  }
}
