import { LOCK_PREFIX } from '../invariants/tokens.ts';
import { RedisConnection, RespError, type RespValue } from './redis-connection.ts';
import { isOperating, RedisDoorClient } from './redis-door-client.ts';

const LOCKS = 3;
/** What every lock library sends: deletes the lock if it is still this owner's. */
const RELEASE_SCRIPT =
  "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

interface Hold {
  readonly name: string;
  readonly owner: string;
  readonly token: number;
  readonly ttlMs: number;
  /** With SESSION: ends with the connection. */
  readonly session: boolean;
}

/**
 * Takes locks in every way the door offers, pauses now and then for longer than they live, and
 * writes what they protect under their tokens: too late writes must be refused.
 */
export class RedisLockClient extends RedisDoorClient {
  #hold: Hold | undefined;

  protected use(connection: RedisConnection): void {
    const { stream } = this.context;
    const hold = this.#hold;
    if (hold === undefined) {
      if (stream.chance(0.05)) this.#look(connection);
      else this.#acquire(connection);
      return;
    }
    const draw = stream.below(100);
    if (draw < 20) {
      this.count('paused lock holder');
      this.done(hold.ttlMs * (0.5 + stream.fraction()));
    } else if (draw < 65) this.#guarded(connection, hold);
    else if (draw < 75) this.#extend(connection, hold);
    else if (draw < 95) this.#release(connection, hold);
    else {
      this.#hold = undefined;
      this.leave();
      this.done();
    }
  }

  protected override disconnected(): void {
    // It believes in its lock all the same: only the guard can tell.
    if (this.context.stream.chance(0.5)) this.#hold = undefined;
  }

  #acquire(connection: RedisConnection): void {
    const { stream } = this.context;
    const name = `${LOCK_PREFIX}${stream.below(LOCKS)}`;
    const owner = this.unique();
    const ttlMs = stream.between(200, 2500);
    const sentUs = this.context.world.nowUs;
    const session = stream.chance(0.3);
    const hold = (token: number): void => {
      const { oracle } = this.context;
      oracle.tokens.told(name, owner, token);
      if (!session) oracle.promises.expiries.granted(name, token, ttlMs, sentUs);
      this.#hold = { name, owner, token, ttlMs, session };
      this.count('lock taken at the redis door');
    };
    if (stream.chance(0.3)) {
      const words = ['SET', name, owner, 'NX', 'PX', String(ttlMs), 'FENCE'];
      connection.ask(words, (value) => {
        if (typeof value === 'number') hold(value);
        this.#expect(words, value);
        this.done();
      });
      return;
    }
    const words = ['LOCK', 'ACQUIRE', name, owner, 'PX', String(ttlMs)];
    if (session) words.push('SESSION');
    if (stream.chance(0.2)) words.push('REENTRANT');
    const blocks = stream.chance(0.7);
    if (blocks) words.push('BLOCK', String(stream.between(20, 3000)));
    let waiting = true;
    connection.ask(words, (value) => {
      waiting = false;
      // A blocked client's time to live begins when it is served: not before it asked.
      if (typeof value === 'number') hold(value);
      this.#expect(words, value);
      this.done();
    });
    if (blocks && stream.chance(0.25)) this.#giveUp(connection, name, owner, () => waiting);
  }

  /** Leaves while it waits, or has somebody else take it out of the queue. */
  #giveUp(connection: RedisConnection, name: string, owner: string, waiting: () => boolean): void {
    const { stream } = this.context;
    this.later(stream.exponential(400), () => {
      if (!waiting() || this.connection !== connection) return;
      if (stream.chance(0.5)) {
        this.count('blocked client leaves');
        this.leave();
        this.done();
        return;
      }
      const doors = this.context.doorways.pick(stream, false);
      if (doors === undefined) return;
      this.count('blocked client is cancelled');
      const { world } = this.context;
      const second = new RedisConnection(doors, {
        closed: () => {},
        surplus: () => world.fail('AnsweredOnce', 'LOCK CANCEL is answered twice'),
      });
      second.ask(['LOCK', 'CANCEL', name, owner], () => second.close());
    });
  }

  #guarded(connection: RedisConnection, { name, token }: Hold): void {
    const { stream } = this.context;
    const text = `${token}@${name}#${this.unique()}`;
    const ways: [key: string, words: string[]][] = [
      [`guarded/${name}`, ['GUARD', name, String(token), 'SET', `guarded/${name}`, text]],
      [`high/${name}`, ['GUARD', 'HIGH', name, String(token), 'SET', `high/${name}`, text]],
      [`if/${name}`, ['SET', `if/${name}`, text, 'IFTOKEN', String(token)]],
    ];
    const [key, words] = stream.pick(ways);
    const invoked = this.invoke();
    const inMulti = stream.chance(0.2);
    if (inMulti) connection.ask(['MULTI'], () => {});
    connection.ask(words, (value) => {
      if (inMulti) return;
      this.#used(key, text, invoked, value);
    });
    if (!inMulti) return;
    connection.ask(['EXEC'], (value) => {
      this.#used(key, text, invoked, Array.isArray(value) ? value[0] : value);
    });
  }

  #used(
    key: string,
    text: string,
    invoked: ReturnType<RedisLockClient['invoke']>,
    value: RespValue | undefined,
  ): void {
    if (value instanceof RespError) {
      if (value.text.startsWith('FENCED')) this.#hold = undefined;
      this.count(value.text.startsWith('FENCED') ? 'stale holder is refused' : value.text);
    } else if (value !== undefined && value !== null) {
      this.count('guarded write');
      this.checkWrite(key, text, invoked, value);
    }
    this.done();
  }

  #extend(connection: RedisConnection, { name, owner, token, ttlMs, session }: Hold): void {
    const { world, oracle } = this.context;
    const sentUs = world.nowUs;
    const words = ['LOCK', 'EXTEND', name, owner, 'PX', String(ttlMs), 'TOKEN', String(token)];
    connection.ask(words, (value) => {
      if (value === 1 && !session) oracle.promises.expiries.granted(name, token, ttlMs, sentUs);
      else if (value === 0) this.#hold = undefined;
      this.#expect(words, value);
      this.done();
    });
  }

  #release(connection: RedisConnection, { name, owner, token }: Hold): void {
    this.#hold = undefined;
    const { stream } = this.context;
    const words = stream.chance(0.5)
      ? ['LOCK', 'RELEASE', name, owner, 'TOKEN', String(token)]
      : ['EVAL', RELEASE_SCRIPT, '1', name, owner];
    // From here on nobody may count on it.
    this.context.oracle.promises.expiries.released(name, token);
    connection.ask(words, (value) => {
      this.#expect(words, value);
      this.done();
    });
  }

  #look(connection: RedisConnection): void {
    const { stream } = this.context;
    const name = `${LOCK_PREFIX}${stream.below(LOCKS)}`;
    const words = stream.pick([
      ['LOCK', 'INFO', name],
      ['LOCK', 'QUEUE', name],
      ['LOCK', 'TOKEN', name],
      ['LOCK', 'LIST', '0'],
      ['FENCE', name],
    ]);
    connection.ask(words, (value) => {
      this.#expect(words, value);
      this.done();
    });
  }

  /** The only errors that these commands may meet are those of an absent leader. */
  #expect(words: readonly string[], value: RespValue | undefined): void {
    if (!(value instanceof RespError)) return;
    if (isOperating(value) || value.text.startsWith('QUEUEFULL')) return;
    this.context.world.fail('ExpectedReply', `${words.join(' ')}: ${value.text}`);
  }
}
