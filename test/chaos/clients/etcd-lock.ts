import { Etcd } from '../../support/etcd.ts';
import { pass } from '../../support/until.ts';
import { Actor } from '../stage.ts';
import { type OpenLease, openLease, renewLease } from './etcd-lease.ts';
import { putOp } from './etcd-register.ts';

const LOCK = 'chaos/lock';
const RESOURCE = 'chaos/resource';
const NO_END = Buffer.alloc(0);

/**
 * Takes a lock that hangs on its lease and writes under its create revision. Some holders pause for
 * longer than their lease and write when they wake up.
 */
export class EtcdLock extends Actor {
  protected async session(): Promise<void> {
    const etcd = new Etcd(this.member().ports.etcd);
    try {
      await etcd.ready(2000);
      while (!this.stage.stopping) await this.#round(etcd);
    } finally {
      etcd.close();
    }
  }

  async #round(etcd: Etcd): Promise<void> {
    const lease = await openLease(this, etcd);
    if (lease === undefined) return;
    const keeper = new Keeper(this, etcd, lease);
    try {
      const token = await this.#acquire(etcd, lease);
      if (token !== undefined) await this.#hold(etcd, token, keeper);
    } finally {
      await keeper.stop();
    }
    await this.ask({ op: 'revoke', key: lease.name }, async () => {
      await etcd.revoke(lease.id).catch((error: { code?: number }) => {
        // Not found: it has ended by itself.
        if (error.code !== 5) throw error;
      });
      return {};
    });
  }

  async #acquire(etcd: Etcd, lease: OpenLease): Promise<number | undefined> {
    for (let attempt = 0; attempt < 20 && !this.stage.stopping; attempt++) {
      const owner = this.unique();
      const request = { op: 'acquire', key: LOCK, owner, lease: lease.name } as const;
      const told = await this.ask(request, async () => {
        const compare = this.#compare(0);
        const answer = await etcd.txn({ compare, success: [putOp(LOCK, owner, lease.id)] });
        return { result: answer.succeeded ? answer.header?.revision : null };
      });
      if (typeof told?.result === 'number') return told.result;
      await pass(this.random.between(30, 150));
    }
    return undefined;
  }

  async #hold(etcd: Etcd, token: number, keeper: Keeper): Promise<void> {
    for (let writes = this.random.between(1, 5); writes > 0 && !this.stage.stopping; writes--) {
      await this.#guarded(etcd, token);
      await this.think();
    }
    if (this.random.chance(0.15)) {
      await keeper.stop();
      await pass(this.random.between(1000, 6000));
      await this.#guarded(etcd, token);
    }
    await this.ask({ op: 'release', key: LOCK, token }, async () => {
      const key = Buffer.from(LOCK);
      const success = [{ requestDeleteRange: { key, rangeEnd: NO_END, prevKv: false } }];
      const { succeeded } = await etcd.txn({ compare: this.#compare(token), success });
      return { result: succeeded };
    });
    if (this.random.chance(0.1)) await this.#guarded(etcd, token);
  }

  async #guarded(etcd: Etcd, token: number): Promise<void> {
    const value = this.unique();
    const request = {
      op: 'guarded',
      key: RESOURCE,
      lock: LOCK,
      token,
      value,
      guard: 'held',
    } as const;
    await this.ask(request, async () => {
      const compare = this.#compare(token);
      const answer = await etcd.txn({ compare, success: [putOp(RESOURCE, value)] });
      return { result: answer.succeeded, revision: answer.header?.revision };
    });
  }

  #compare(createRevision: number) {
    const key = Buffer.from(LOCK);
    return [{ result: 0, target: 1, key, createRevision, rangeEnd: NO_END } as const];
  }
}

/** Renews a lease beside what its holder does, under a name of its own. */
class Keeper {
  #stopping = false;
  readonly #done: Promise<void>;

  constructor(actor: Actor, etcd: Etcd, lease: OpenLease) {
    const renew = async (): Promise<void> => {
      while (!this.#stopping) {
        for (let waited = 0; waited < 800 && !this.#stopping; waited += 50) await pass(50);
        if (this.#stopping) return;
        if (!(await renewLease(actor, etcd, lease, `${actor.name}/keeper`))) return;
      }
    };
    this.#done = renew().catch(() => undefined);
  }

  stop(): Promise<void> {
    this.#stopping = true;
    return this.#done;
  }
}
