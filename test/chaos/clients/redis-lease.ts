import { pass } from '../../support/until.ts';
import { RedisActor } from './redis-session.ts';

const TTL_MS = 1200;

/** Keys that end by themselves: written, given more time for a while, then watched as they go. */
export class RedisLease extends RedisActor {
  protected async act(): Promise<void> {
    const key = `chaos:leased:${this.unique()}`;
    const opened = await this.ask({ op: 'grant', key, ttlMs: TTL_MS }, async () => ({
      result: (await this.call('SET', key, 'x', 'PX', TTL_MS)) === 'OK',
    }));
    if (opened === undefined) return;
    for (let renewals = this.random.below(4); renewals > 0; renewals--) {
      await pass(this.random.between(100, 800));
      const told = await this.ask({ op: 'renew', key, ttlMs: TTL_MS }, async () => ({
        result: (await this.call('PEXPIRE', key, TTL_MS)) === 1,
      }));
      if (told !== undefined && told.result !== true) return;
    }
    for (let gone = false; !gone && !this.stage.stopping; ) {
      await pass(50);
      gone = (await this.call('GET', key)) === null;
      if (gone) this.note({ op: 'gone', key }, {});
    }
  }
}
