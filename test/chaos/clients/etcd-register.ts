import {
  PutRequest,
  RangeRequest,
  type RequestOp,
} from '../../../packages/adapter-etcd/src/gen/rpc.ts';
import { Etcd } from '../../support/etcd.ts';
import { Actor, type Told } from '../stage.ts';

const KEYS = 4;
const EMPTY = new Uint8Array(0);

export const putOp = (key: string, value: string, lease = 0n): RequestOp => ({
  requestPut: {
    ...PutRequest.decode(EMPTY),
    key: Buffer.from(key),
    value: Buffer.from(value),
    lease,
  },
});
export const rangeOp = (key: string): RequestOp => ({
  requestRange: { ...RangeRequest.decode(EMPTY), key: Buffer.from(key) },
});
const NO_END = Buffer.alloc(0);

/** Reads, writes, compares and deletes a few keys that all share, and adds keys of its own. */
export class EtcdRegister extends Actor {
  /** What it last saw of each key, for compare-and-set. */
  readonly #seen = new Map<string, { readonly value: string; readonly mod: number }>();

  protected async session(): Promise<void> {
    const etcd = new Etcd(this.member().ports.etcd);
    try {
      await etcd.ready(2000);
      while (!this.stage.stopping) {
        await this.#act(etcd);
        await this.think();
      }
    } finally {
      etcd.close();
    }
  }

  async #act(etcd: Etcd): Promise<void> {
    const key = `chaos/r${this.random.below(KEYS)}`;
    const kind = this.random.below(100);
    if (kind < 25) await this.#write(etcd, key, this.unique());
    else if (kind < 45) {
      const name = this.unique();
      const own = `chaos/u/${name}`;
      if (await this.#write(etcd, own, name))
        this.stage.acknowledged.push({ door: 'etcd', key: own });
    } else if (kind < 70) await this.#read(etcd, key, false);
    else if (kind < 80) await this.#read(etcd, key, true);
    else if (kind < 97) await this.#compareAndSet(etcd, key);
    else {
      const victim = 'chaos/r0';
      await this.ask({ op: 'delete', key: victim }, async () => {
        const answer = await etcd.delete(victim);
        return { result: answer.deleted > 0, revision: answer.header?.revision };
      });
    }
  }

  async #write(etcd: Etcd, key: string, value: string): Promise<boolean> {
    const told = await this.ask({ op: 'write', key, value }, async () => {
      const { header } = await etcd.put(key, value);
      return { revision: header?.revision };
    });
    return told !== undefined;
  }

  async #read(etcd: Etcd, key: string, serializable: boolean): Promise<void> {
    const request = { op: 'read', key, ...(serializable && { weak: true }) } as const;
    await this.ask(request, async () => {
      const { header, kvs } = await etcd.range({ key: Buffer.from(key), serializable });
      return { ...this.#found(key, kvs[0]), revision: header?.revision };
    });
  }

  async #compareAndSet(etcd: Etcd, key: string): Promise<void> {
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      await this.#read(etcd, key, false);
      return;
    }
    const value = this.unique();
    const request = { op: 'cas', key, expected: seen.value, expectedMod: seen.mod, value } as const;
    await this.ask(request, async () => {
      const { header, succeeded, responses } = await etcd.txn({
        compare: [
          { result: 0, target: 2, key: Buffer.from(key), modRevision: seen.mod, rangeEnd: NO_END },
        ],
        success: [putOp(key, value)],
        failure: [rangeOp(key)],
      });
      const revision = header?.revision;
      if (succeeded) {
        this.#seen.set(key, { value, mod: revision ?? 0 });
        return { result: true, revision };
      }
      const { result, mod } = this.#found(key, responses[0]?.responseRange?.kvs[0]);
      return { result: false, actual: result, ...(mod !== undefined && { mod }), revision };
    });
  }

  #found(key: string, kv: { value: Buffer; modRevision: number } | undefined): Told {
    if (kv === undefined) {
      this.#seen.delete(key);
      return { result: null };
    }
    const value = kv.value.toString();
    this.#seen.set(key, { value, mod: kv.modRevision });
    return { result: value, mod: kv.modRevision };
  }
}
