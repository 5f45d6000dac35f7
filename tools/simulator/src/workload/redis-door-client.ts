import type { Invocation } from '../invariants/real-time.ts';
import { REDIS } from '../invariants/registers.ts';
import { ConnectedDoorClient } from './door-client.ts';
import { RedisConnection, RespError, type RespReply, type RespValue } from './redis-connection.ts';
import { SCRIPTS } from './scripts.ts';

/** A client of the Redis door. */
export abstract class RedisDoorClient extends ConnectedDoorClient<RedisConnection> {
  /** The locks of its connection end with it. */
  override release(): void {
    this.leave();
  }

  protected connected(): RedisConnection | undefined {
    if (this.connection?.isOpen === true) return this.connection;
    const { doorways, stream, world, name } = this.context;
    const doors = doorways.pick(stream, false);
    if (doors === undefined) return undefined;
    const connection = new RedisConnection(doors, {
      closed: () => {
        if (this.connection === connection) this.connection = undefined;
        this.disconnected();
      },
      surplus: () => world.fail('AnsweredOnce', `${name} gets a reply to no request`),
    });
    this.connection = connection;
    this.witness = { name, seen: -1 };
    return connection;
  }

  /** Leaves; the member learns of it, nobody is answered. */
  protected leave(): void {
    this.connection?.close();
    this.connection = undefined;
  }

  protected invoke(): Invocation {
    return this.context.oracle.promises.realTime.invoke();
  }

  /** An acknowledged write must be in the history, a refused one is no concern. */
  protected checkWrite(key: string, text: string, invoked: Invocation, value: RespValue): void {
    if (value === null || value instanceof RespError) return;
    this.context.oracle.promises.realTime.wrote(this.witness, REDIS, key, text, invoked);
  }

  protected checkRead(key: string, invoked: Invocation, value: RespValue): void {
    if (value instanceof RespError) return;
    const text = value === null ? undefined : String(value);
    this.context.oracle.promises.realTime.read(this.witness, REDIS, key, text, invoked);
  }

  /** Runs one of the scripts; `done` once it is answered. */
  protected script(connection: RedisConnection): void {
    const { stream } = this.context;
    const { name, text, branches } = stream.pick(SCRIPTS);
    const key = `x${stream.below(4)}`;
    const words = Array.from({ length: 2 + stream.below(8) }, () => `w${stream.below(30)}`);
    const keys = ['2', key, `y${stream.below(3)}`];
    connection.ask(['EVAL', text, ...keys, this.unique(), ...words], (value) => {
      // Sets come with feature level 2, which a young cluster has not reached yet.
      const isEarly = value instanceof RespError && value.text.startsWith('ERR Unknown Redis');
      if (value instanceof RespError && !isOperating(value) && !isEarly) {
        this.context.world.fail('ScriptRuns', `${name}: ${value.text}`);
      } else if (value !== undefined && !isEarly) {
        this.count(branches ? `script ${name}: branch ${value}` : `script ${name}`);
      }
      this.done();
    });
  }
}

/** What any command may meet while the cluster is in trouble; it has not taken effect. */
export function isOperating({ text }: RespError): boolean {
  return /^(CLUSTERDOWN|TRYAGAIN|LOADING)/.test(text);
}

interface Request {
  readonly words: readonly string[];
  readonly reply: RespReply;
}

/** Strings, counters, expiry, transactions and scripts, pipelined. */
export class RedisDataClient extends RedisDoorClient {
  protected use(connection: RedisConnection): void {
    const { stream, settings } = this.context;
    const draw = stream.below(100);
    if (draw < 60) this.#pipeline(connection, 1 + stream.below(settings.pipeline));
    else if (draw < 70) this.#transaction(connection);
    else if (draw < 80) this.#compareAndSet(connection);
    else if (draw < 97) this.script(connection);
    else {
      this.leave();
      this.done();
    }
  }

  #key(): string {
    return `r${this.context.stream.below(8)}`;
  }

  #counter(): string {
    return `n${this.context.stream.below(3)}`;
  }

  #pipeline(connection: RedisConnection, length: number): void {
    let left = length;
    const requests = Array.from({ length }, () => {
      const { words, reply } = this.#request();
      const told: RespReply = (value) => {
        reply(value);
        left -= 1;
        if (left === 0) this.done();
      };
      return { words, reply: told };
    });
    connection.pipeline(requests);
  }

  #request(): Request {
    const { stream } = this.context;
    const draw = stream.below(100);
    const invoked = this.invoke();
    const key = this.#key();
    const text = this.unique();
    if (draw < 35) return this.#write(['SET', key, text], key, text, invoked);
    if (draw < 42) {
      const ttl = String(stream.between(50, 2000));
      return this.#write(['SET', key, text, 'PX', ttl], key, text, invoked);
    }
    if (draw < 62) return this.#read(key, invoked);
    if (draw < 80) return this.#increment(invoked);
    const other = [
      ['DEL', key],
      ['PEXPIRE', key, '300'],
      ['PUBLISH', 'news', text],
      ['PTTL', key],
      ['PERSIST', key],
      ['RANDOMKEY'],
      ['SCAN', '0', 'COUNT', '4'],
      ['TIME'],
    ];
    return { words: other[stream.below(other.length)]!, reply: () => {} };
  }

  #write(words: readonly string[], key: string, text: string, invoked: Invocation): Request {
    const reply: RespReply = (value) => {
      if (value !== undefined) this.checkWrite(key, text, invoked, value);
    };
    return { words, reply };
  }

  #read(key: string, invoked: Invocation): Request {
    const reply: RespReply = (value) => {
      if (value !== undefined) this.checkRead(key, invoked, value);
    };
    return { words: ['GET', key], reply };
  }

  #increment(invoked: Invocation): Request {
    const key = this.#counter();
    const reply: RespReply = (value) => {
      if (typeof value === 'number') this.checkWrite(key, String(value), invoked, value);
    };
    return { words: ['INCR', key], reply };
  }

  #transaction(connection: RedisConnection): void {
    const [counter, key, text] = [this.#counter(), this.#key(), this.unique()];
    const invoked = this.invoke();
    const queued: RespReply = () => {};
    const { realTime } = this.context.oracle.promises;
    connection.pipeline([
      { words: ['MULTI'], reply: queued },
      { words: ['INCR', counter], reply: queued },
      { words: ['SET', key, text], reply: queued },
      { words: ['GET', key], reply: queued },
      {
        words: ['EXEC'],
        reply: (value) => {
          if (Array.isArray(value)) {
            const [number, , read] = value as readonly RespValue[];
            const one = realTime.wrote(this.witness, REDIS, counter, String(number), invoked);
            const two = realTime.wrote(this.witness, REDIS, key, text, invoked);
            if (read !== text || one?.ordinal !== two?.ordinal) this.#torn(`${read} of ${text}`);
          }
          this.done();
        },
      },
    ]);
  }

  #torn(what: string): void {
    this.context.world.fail('TransactionAtomic', `${this.context.name}: EXEC is torn, ${what}`);
  }

  /** WATCH: what EXEC replaces is what was read behind it. */
  #compareAndSet(connection: RedisConnection): void {
    const [key, text] = [this.#key(), this.unique()];
    const invoked = this.invoke();
    let before: RespValue | undefined;
    connection.pipeline([
      { words: ['WATCH', key], reply: () => {} },
      {
        words: ['GET', key],
        reply: (value) => {
          before = value;
          if (value === undefined || value instanceof RespError) {
            this.done();
            return;
          }
          this.checkRead(key, invoked, value);
          this.later(this.context.stream.exponential(20), () => this.#set(key, text, before));
        },
      },
    ]);
    this.count('redis compare-and-set');
  }

  #set(key: string, text: string, before: RespValue | undefined): void {
    const { connection } = this;
    const invoked = this.invoke();
    if (connection?.isOpen !== true) {
      this.done();
      return;
    }
    const exec: RespReply = (value) => {
      if (Array.isArray(value)) this.#checkReplaced(key, text, before, invoked);
      this.done();
    };
    connection.pipeline([
      { words: ['MULTI'], reply: () => {} },
      { words: ['SET', key, text], reply: () => {} },
      { words: ['EXEC'], reply: exec },
    ]);
  }

  #checkReplaced(
    key: string,
    text: string,
    before: RespValue | undefined,
    invoked: Invocation,
  ): void {
    const { realTime, registers } = this.context.oracle.promises;
    const version = realTime.wrote(this.witness, REDIS, key, text, invoked);
    if (version === undefined) return;
    const versions = registers.of(REDIS, key);
    const replaced = versions[versions.indexOf(version) - 1]?.text ?? null;
    if (replaced === before) return;
    const what = `EXEC replaced ${replaced}, WATCH had seen ${before}`;
    this.context.world.fail('CompareAndSet', `${this.context.name}: ${key}: ${what}`);
  }
}

/** Runs nothing but scripts. */
export class RedisScriptClient extends RedisDoorClient {
  protected use(connection: RedisConnection): void {
    this.script(connection);
  }
}
