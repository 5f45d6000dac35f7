import { LeaseKind, type Revision, type Token } from '@lockstep/model';
import type { AppliedTransaction, ChangeEvent } from '@lockstep/state-machine';
import { CLOCK_RATE_MAX } from '../clock.ts';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/** Names under which the workload takes locks; nothing else writes such keys. */
export const LOCK_PREFIX = 'lock:';

/**
 * RevisionMonotone, FencingMonotone, OneHolder and LeaseNeverEarly, on the canonical history:
 * tokens are revisions and only grow; a lock changes its owner only by being freed first; a lease
 * ends by expiry no earlier than its holder may count on.
 */
export class Tokens {
  readonly #world: World;
  readonly #tokens = new Map<string, Token>();
  /** Owner of each grant, by lock name and token. */
  readonly #grants = new Map<string, string>();
  readonly #renewals = new Map<string, { sentUs: number; ttlMs: number }>();
  readonly #expiredUs = new Map<string, number>();
  readonly #waitersDone = new Set<number>();
  #revision: Revision = 1;
  grants = 0;
  expiries = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({ transaction: (transaction) => this.#transaction(transaction) });
  }

  /** A client was told that it holds a lock under a token. */
  told(name: string, owner: string, token: Token): void {
    const granted = this.#grants.get(`${name} ${token}`);
    if (granted !== owner) {
      const what = `the history has ${granted ?? 'nobody'}`;
      this.#world.fail('OneHolder', `${owner} was told ${name} under token ${token}; ${what}`);
    }
  }

  /** A client's renewal (or grant), sent at `sentUs`, was acknowledged. */
  renewed(kind: LeaseKind, id: bigint, ttlMs: number, sentUs: number): void {
    const lease = `${kind}:${id}`;
    const known = this.#renewals.get(lease);
    const isLater =
      known === undefined || known.sentUs + known.ttlMs * 1000 < sentUs + ttlMs * 1000;
    if (isLater) this.#renewals.set(lease, { sentUs, ttlMs });
    const expiredUs = this.#expiredUs.get(lease);
    if (expiredUs !== undefined) this.#checkExpiry(lease, expiredUs);
  }

  #checkExpiry(lease: string, atUs: number): void {
    const renewal = this.#renewals.get(lease);
    if (renewal === undefined) return;
    const livedMs = (atUs - renewal.sentUs) / 1000;
    if (livedMs + 2 < renewal.ttlMs / CLOCK_RATE_MAX) {
      const what = `${livedMs.toFixed(1)} ms after a renewal for ${renewal.ttlMs} ms`;
      this.#world.fail('LeaseNeverEarly', `lease ${lease} expires ${what}`);
    }
  }

  #transaction(transaction: AppliedTransaction): void {
    const { revision, events } = transaction;
    if (revision !== 0 && revision <= this.#revision) {
      this.#world.fail('RevisionMonotone', `revision ${revision} follows ${this.#revision}`);
    }
    if (revision !== 0) this.#revision = revision;
    for (const event of events) {
      if (event.kind === 'change') this.#change(event, revision);
      if (event.kind === 'waiter') this.#waiter(event.waiter.id);
      if (event.kind !== 'lease-ended' || event.cause !== 'expired') continue;
      if (event.lease.kind === LeaseKind.Member) continue;
      this.expiries += 1;
      const lease = `${event.lease.kind}:${event.lease.id}`;
      this.#expiredUs.set(lease, this.#world.nowUs);
      this.#checkExpiry(lease, this.#world.nowUs);
    }
  }

  #waiter(id: number): void {
    if (this.#waitersDone.has(id)) this.#world.fail('WaiterOnce', `waiter ${id} ends twice`);
    this.#waitersDone.add(id);
  }

  #change({ keyspace, key, revision, record, previous }: ChangeEvent, last: Revision): void {
    // Scripts: their changes carry the present revision, and fence nothing.
    if (keyspace.unnumbered === true) return;
    if (revision > last) {
      this.#world.fail('RevisionMonotone', `a change of revision ${revision} within ${last}`);
    }
    if (record === undefined) return;
    const { token } = record;
    const name = `${keyspace.id} ${key}`;
    const isGrant = previous === undefined || previous.token !== token;
    const before = this.#tokens.get(name) ?? 0;
    if (isGrant ? token <= before || token !== revision : token !== before) {
      const what = `token ${token} at revision ${revision} behind ${before}`;
      this.#world.fail('FencingMonotone', `${keyspace.name} ${key}: ${what}`);
    }
    this.#tokens.set(name, token);
    if (!key.startsWith(LOCK_PREFIX) || !keyspace.name.startsWith('redis/')) return;
    const owner = ownerOf(record.value);
    if (isGrant) {
      this.grants += 1;
      this.#grants.set(`${key} ${token}`, owner);
      if (previous !== undefined) {
        const what = `${ownerOf(previous.value)} still held it`;
        this.#world.fail('OneHolder', `${key} is granted to ${owner} while ${what}`);
      }
    } else if (previous !== undefined && ownerOf(previous.value) !== owner) {
      this.#world.fail('OneHolder', `${key} changes to ${owner} under the same token`);
    }
  }
}

function ownerOf(value: unknown): string {
  return (value as { text: string }).text;
}
