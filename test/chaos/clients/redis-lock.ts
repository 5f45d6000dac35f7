import { pass } from '../../support/until.ts';
import { isFenced, RELEASE_SCRIPT, RedisActor } from './redis-session.ts';

const TTL_MS = 1500;

/** How a lock is taken and given back. */
export type Style = 'LOCK family' | 'SET NX';

/**
 * Takes a lock, through the queue of the LOCK family or as lock libraries do, and writes under its
 * token: held now, and by high-water mark. Some holders extend, some pause for longer than the
 * lock and write when they wake up.
 */
export class RedisLock extends RedisActor {
  readonly style: Style;
  readonly #lock: string;

  constructor(style: Style, ...rest: ConstructorParameters<typeof RedisActor>) {
    super(...rest);
    this.style = style;
    this.#lock = style === 'SET NX' ? 'chaos:lock-set' : 'chaos:lock';
  }

  protected async act(): Promise<void> {
    const owner = this.unique();
    const token = await this.#acquire(owner);
    if (token === undefined) {
      await pass(this.random.between(20, 100));
      return;
    }
    for (let writes = this.random.between(1, 4); writes > 0; writes--) {
      await this.#guarded(token, this.random.chance(0.5) ? 'held' : 'mark');
      await this.think();
    }
    if (this.random.chance(0.2)) await this.#extend(owner, token);
    if (this.random.chance(0.2)) {
      await pass(this.random.between(500, 3000));
      await this.#guarded(token, 'held');
      await this.#guarded(token, 'mark');
    }
    await this.#release(owner, token);
    if (this.random.chance(0.1)) await this.#guarded(token, 'held');
  }

  async #acquire(owner: string): Promise<number | undefined> {
    const key = this.#lock;
    const words =
      this.style === 'SET NX'
        ? ['SET', key, owner, 'NX', 'PX', TTL_MS, 'FENCE']
        : ['LOCK', 'ACQUIRE', key, owner, 'PX', TTL_MS, 'BLOCK', 2000];
    const told = await this.ask({ op: 'acquire', key, owner, ttlMs: TTL_MS }, async () => ({
      result: await this.call(...words),
    }));
    return typeof told?.result === 'number' ? told.result : undefined;
  }

  async #extend(owner: string, token: number): Promise<void> {
    const key = this.#lock;
    const words = ['LOCK', 'EXTEND', key, owner, 'PX', TTL_MS, 'TOKEN', token];
    await this.ask({ op: 'extend', key, token, ttlMs: TTL_MS }, async () => ({
      result: (await this.call(...words)) === 1,
    }));
  }

  async #guarded(token: number, guard: 'held' | 'mark'): Promise<void> {
    const value = this.unique();
    const key = `${this.#lock}:${guard}`;
    const condition = guard === 'held' ? [this.#lock, token] : ['HIGH', this.#lock, token];
    const request = { op: 'guarded', key, lock: this.#lock, token, value, guard } as const;
    await this.ask(request, async () => {
      const reply = await this.call('GUARD', ...condition, 'SET', key, value, 'FENCE');
      return isFenced(reply) ? { result: false } : { result: true, revision: reply };
    });
  }

  async #release(owner: string, token: number): Promise<void> {
    const key = this.#lock;
    const words =
      this.style === 'SET NX'
        ? ['EVAL', RELEASE_SCRIPT, 1, key, owner]
        : ['LOCK', 'RELEASE', key, owner, 'TOKEN', token];
    await this.ask({ op: 'release', key, token }, async () => ({
      result: (await this.call(...words)) === 1,
    }));
  }
}
