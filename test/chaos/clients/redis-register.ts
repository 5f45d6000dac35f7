import type { Told } from '../stage.ts';
import { COMPARE_SCRIPT, READ_SCRIPT, RedisActor } from './redis-session.ts';

const KEYS = 4;
const COUNTERS = 2;

/** Reads, writes and compares a few keys that all share, counts, and adds keys of its own. */
export class RedisRegister extends RedisActor {
  readonly #seen = new Map<string, { readonly value: string; readonly mod: number }>();

  protected async act(): Promise<void> {
    const key = `chaos:r${this.random.below(KEYS)}`;
    const kind = this.random.below(100);
    if (kind < 25) await this.#write(key, this.unique());
    else if (kind < 40) {
      const name = this.unique();
      const own = `chaos:u:${name}`;
      if (await this.#write(own, name)) this.stage.acknowledged.push({ door: 'redis', key: own });
    } else if (kind < 55) await this.#readWithToken(key);
    else if (kind < 65) {
      await this.ask({ op: 'read', key }, async () => ({ result: await this.call('GET', key) }));
    } else if (kind < 80) await this.#compareAndSet(key);
    else if (kind < 97) {
      const counter = `chaos:c${this.random.below(COUNTERS)}`;
      const answer = async () => ({ result: await this.call('INCR', counter) });
      await this.ask({ op: 'add', key: counter, value: 1 }, answer);
    } else {
      const victim = 'chaos:r0';
      const answer = async () => ({ result: (await this.call('DEL', victim)) === 1 });
      await this.ask({ op: 'delete', key: victim }, answer);
    }
  }

  async #write(key: string, value: string): Promise<boolean> {
    const told = await this.ask({ op: 'write', key, value }, async () => ({
      revision: await this.call('SET', key, value, 'FENCE'),
    }));
    return told !== undefined;
  }

  async #readWithToken(key: string): Promise<void> {
    await this.ask({ op: 'read', key }, async () => {
      const reply = await this.call('EVAL', READ_SCRIPT, 1, key);
      if (!Array.isArray(reply)) return { result: null };
      return this.#found(key, String(reply[0]), Number(reply[1]));
    });
  }

  async #compareAndSet(key: string): Promise<void> {
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      await this.#readWithToken(key);
      return;
    }
    const value = this.unique();
    const request = { op: 'cas', key, expected: seen.value, expectedMod: seen.mod, value } as const;
    await this.ask(request, async () => {
      const reply = await this.call('EVAL', COMPARE_SCRIPT, 1, key, seen.value, value);
      const [wrote, second, third] = Array.isArray(reply) ? reply : [];
      if (wrote === 1) {
        this.#seen.set(key, { value, mod: Number(second) });
        return { result: true, revision: Number(second) };
      }
      this.#seen.delete(key);
      if (second === undefined) return { result: false, actual: null };
      const { mod } = this.#found(key, String(second), Number(third));
      return { result: false, actual: second, mod };
    });
  }

  #found(key: string, value: string, mod: number): Told {
    this.#seen.set(key, { value, mod });
    return { result: value, mod };
  }
}
