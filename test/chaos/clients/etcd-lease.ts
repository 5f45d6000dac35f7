import { Etcd } from '../../support/etcd.ts';
import { pass } from '../../support/until.ts';
import { Actor } from '../stage.ts';

const TTL_SECONDS = 3;

/** Opens leases with a key each, renews them for a while, and looks when the key goes away. */
export class EtcdLease extends Actor {
  protected async session(): Promise<void> {
    const etcd = new Etcd(this.member().ports.etcd);
    try {
      await etcd.ready(2000);
      while (!this.stage.stopping) await this.#live(etcd);
    } finally {
      etcd.close();
    }
  }

  async #live(etcd: Etcd): Promise<void> {
    const lease = await openLease(this, etcd);
    if (lease === undefined) return;
    const key = `chaos/leased/${lease.name}`;
    const value = this.unique();
    await this.ask({ op: 'write', key, value, lease: lease.name }, async () => {
      const { header } = await etcd.put(key, value, 10_000, lease.id);
      return { revision: header?.revision };
    });
    for (let renewals = this.random.below(4); renewals > 0 && !this.stage.stopping; renewals--) {
      await pass(this.random.between(200, 1500));
      if (!(await renewLease(this, etcd, lease))) return;
    }
    if (this.random.chance(0.2)) {
      await this.ask({ op: 'revoke', key: lease.name }, async () => {
        await etcd.revoke(lease.id);
        return {};
      });
    }
    for (let gone = false; !gone && !this.stage.stopping; ) {
      await pass(100);
      const { kvs } = await etcd.range({ key: Buffer.from(key) }, 4000);
      gone = kvs.length === 0;
      if (gone) this.note({ op: 'gone', key: lease.name }, {});
    }
  }
}

export interface OpenLease {
  readonly id: bigint;
  readonly name: string;
}

/** A lease of three seconds; undefined when it was refused. */
export async function openLease(actor: Actor, etcd: Etcd): Promise<OpenLease | undefined> {
  let opened: OpenLease | undefined;
  const name = actor.unique();
  await actor.ask({ op: 'grant', key: name, ttlMs: TTL_SECONDS * 1000 }, async () => {
    opened = { id: await etcd.grant(TTL_SECONDS, 4000), name };
    return {};
  });
  return opened;
}

/** Whether it lives. */
export async function renewLease(
  actor: Actor,
  etcd: Etcd,
  { id, name }: OpenLease,
  client = actor.name,
): Promise<boolean> {
  const request = { op: 'renew', key: name, ttlMs: TTL_SECONDS * 1000 } as const;
  const told = await actor.ask(
    request,
    async () => ({ result: (await etcd.keepAlive(id, 4000)).TTL > 0 }),
    client,
  );
  return told?.result === true;
}
