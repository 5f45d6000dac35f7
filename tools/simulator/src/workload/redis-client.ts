import { encodeEndConnection, encodeTransaction, encodeWords } from '@lockstep/adapter-redis';
import { BinaryWriter } from '@lockstep/model';
import type { MemberReplica } from '@lockstep/replica';
import { LOCK_PREFIX } from '../invariants/tokens.ts';
import { Client } from './client.ts';

const LOCKS = 3;
const KEYS = 6;

/** Deletes a lock only when it is still this owner's: what every lock library sends. */
const RELEASE_SCRIPT =
  "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
const COUNT_SCRIPT =
  "local n=redis.call('incr',KEYS[1]) redis.call('set',KEYS[2],n..':'..ARGV[1]) return n";

interface HeldLock {
  readonly name: string;
  readonly owner: string;
  /** 0 when taken by SET NX, which does not tell it. */
  readonly token: number;
}

/** Locks of both kinds, counters, expiring keys, guards, scripts and MULTI of the Redis door. */
export class RedisClient extends Client {
  readonly #writer = new BinaryWriter(256);
  #held: HeldLock | undefined;
  #connection = 0;

  protected act(replica: MemberReplica): void {
    const { stream } = this.context;
    if (this.#connection === 0) this.#connection = 1 + stream.below(2 ** 30);
    const held = this.#held;
    const draw = stream.below(100);
    if (draw < 40) {
      if (held === undefined) this.#acquire(replica);
      else this.#useLock(replica, held);
    } else if (draw < 55) this.#say(replica, ['INCR', `c${stream.below(KEYS)}`]);
    else if (draw < 65) {
      const ttl = String(stream.between(100, 3000));
      this.#say(replica, ['SET', this.#key(), this.unique(), 'PX', ttl]);
    } else if (draw < 70) this.#say(replica, ['DEL', this.#key()]);
    else if (draw < 75) this.#say(replica, ['PEXPIRE', this.#key(), '500']);
    else if (draw < 83) this.#read(replica);
    else if (draw < 91) {
      const keys = [`c${stream.below(KEYS)}`, this.#key()];
      this.#say(replica, ['EVAL', COUNT_SCRIPT, '2', ...keys, this.unique()]);
    } else if (draw < 97) this.#transaction(replica);
    else this.#endConnection(replica);
  }

  protected override disconnected(): void {
    this.#held = undefined;
    this.#connection = 0;
  }

  #key(): string {
    return `s${this.context.stream.below(KEYS)}`;
  }

  #encode(words: readonly string[]): Uint8Array {
    const client = { id: this.#connection, address: '127.0.0.1:1' };
    return encodeWords(this.#writer, 0, client, words);
  }

  #say(replica: MemberReplica, words: readonly string[], told?: (reply: unknown) => void): void {
    this.submit(replica, this.#encode(words), (outcome) => {
      if (outcome?.kind === 'done') told?.(outcome.result);
      this.done();
    });
  }

  #read(replica: MemberReplica): void {
    const { oracle, node } = this.context;
    const done = (): void => this.done();
    oracle.commands.barrier(node, replica, done, done);
  }

  #transaction(replica: MemberReplica): void {
    const argv = [
      ['INCR', 'c0'],
      ['SET', this.#key(), this.unique(), 'PX', '400'],
      ['GET', 'c0'],
    ];
    const command = encodeTransaction(this.#writer, {
      client: { id: this.#connection, address: '127.0.0.1:1' },
      watched: [],
      commands: argv.map((words) => ({ db: 0, argv: words })),
    });
    this.submit(replica, command, () => this.done());
  }

  #endConnection(replica: MemberReplica): void {
    const command = encodeEndConnection(this.#connection);
    this.#connection = 0;
    this.#held = undefined;
    this.submit(replica, command, () => this.done());
  }

  #acquire(replica: MemberReplica): void {
    const { stream } = this.context;
    const name = `${LOCK_PREFIX}${stream.below(LOCKS)}`;
    const owner = this.unique();
    const ttl = String(stream.between(300, 3000));
    if (stream.chance(0.3)) {
      this.#say(replica, ['SET', name, owner, 'NX', 'PX', ttl], (reply) => {
        if (reply !== null) this.#held = { name, owner, token: 0 };
      });
      return;
    }
    const words = ['LOCK', 'ACQUIRE', name, owner, 'PX', ttl];
    if (stream.chance(0.3)) words.push('SESSION');
    if (stream.chance(0.2)) words.push('REENTRANT');
    if (stream.chance(0.7)) words.push('BLOCK', String(stream.between(50, 3000)));
    this.#lock(replica, words, name, owner);
  }

  #lock(replica: MemberReplica, words: readonly string[], name: string, owner: string): void {
    const { oracle, node, waits } = this.context;
    const { incarnation } = replica;
    const granted = (token: number): void => {
      oracle.tokens.told(name, owner, token);
      this.#held = { name, owner, token };
    };
    const sequence = this.submit(replica, this.#encode(words), (outcome) => {
      const reply = outcome?.kind === 'done' ? (outcome.result as { kind?: string }) : undefined;
      if (typeof reply === 'number') granted(reply);
      if (reply?.kind !== 'queued') {
        this.done();
        return;
      }
      waits.add(`${node.id}/${incarnation}/${sequence}`, node.id, (result) => {
        if (result !== undefined) granted((result as { token: number }).token);
        this.done();
      });
    });
  }

  #useLock(replica: MemberReplica, { name, owner, token }: HeldLock): void {
    const { stream } = this.context;
    const draw = stream.below(10);
    const number = String(token);
    if (draw < 2 && token !== 0) {
      this.#say(replica, ['GUARD', name, number, 'SET', 'guarded', this.unique()]);
    } else if (draw < 4 && token !== 0) {
      this.#say(replica, ['GUARD', 'HIGH', 'resource', number, 'SET', 'high', this.unique()]);
    } else if (draw < 6) {
      this.#say(replica, ['LOCK', 'EXTEND', name, owner, 'PX', '1000']);
    } else if (draw < 9) {
      this.#held = undefined;
      if (token === 0) this.#say(replica, ['EVAL', RELEASE_SCRIPT, '1', name, owner]);
      else this.#say(replica, ['LOCK', 'RELEASE', name, owner]);
    } else {
      // Left to expire.
      this.#held = undefined;
      this.done();
    }
  }
}
