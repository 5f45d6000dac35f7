import { Redis, RedisError, type Reply } from '../../support/redis.ts';
import { Actor, Refused, within } from '../stage.ts';

/** Reads and writes with their witness: the token of the record that the write made. */
export const READ_SCRIPT =
  "local v = redis.call('GET', KEYS[1]) if not v then return false end " +
  "return {v, redis.call('FENCE', KEYS[1])}";
export const COMPARE_SCRIPT =
  "local v = redis.call('GET', KEYS[1]) if v == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) " +
  "return {1, redis.call('FENCE', KEYS[1])} end if not v then return {0} end " +
  "return {0, v, redis.call('FENCE', KEYS[1])}";
/** What lock libraries release with. */
export const RELEASE_SCRIPT =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/** A client with one connection. */
export abstract class RedisActor extends Actor {
  #redis!: Redis;

  protected async session(): Promise<void> {
    const open = Redis.open(this.member().ports.redis);
    this.#redis = await within(open);
    try {
      while (!this.stage.stopping) {
        await this.act();
        await this.think();
      }
    } finally {
      this.#redis.close();
    }
  }

  protected abstract act(): Promise<void>;

  /** The answer; an error reply says that nothing happened, save the one that fencing gives. */
  protected async call(...words: (string | number)[]): Promise<Reply> {
    const reply = await within(this.#redis.call(...words));
    if (reply instanceof RedisError && !reply.message.startsWith('FENCED')) {
      throw new Refused(reply.message);
    }
    return reply;
  }
}

export const isFenced = (reply: Reply): boolean => reply instanceof RedisError;
