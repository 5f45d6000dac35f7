import { ETCD, type EtcdValue, valueBytes } from '@lockstep/adapter-etcd';
import type { RedisValue } from '@lockstep/adapter-redis';
import { type TreeValue, ZOOKEEPER_KEYSPACE } from '@lockstep/adapter-zookeeper';
import { type Token, toByteString } from '@lockstep/model';
import type { AnyKeyspace, ChangeEvent } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { History } from './history.ts';
import { REDIS } from './registers.ts';

/**
 * How the workload names what locks protect: keys that must be written only while the lock stands
 * under the writer's token, and keys that only remember the highest token.
 */
const HELD = /^(d\/guarded|guarded\/)/;
const HIGH = /^(high\/|if\/)/;

/**
 * GuardedWrite, on the canonical history: a write under a token is never applied after one with a
 * higher token; and one that is bound to the lock itself is applied only while exactly that token
 * holds it. Values of guarded keys are `token@lock key#…`.
 */
export class Guards {
  readonly #world: World;
  /** Tokens of all keys that could be locks, while they stand. */
  readonly #holders = new Map<string, Token>();
  readonly #highest = new Map<string, Token>();
  writes = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({
      transaction: ({ events }) => {
        for (const event of events) if (event.kind === 'change') this.#change(event);
      },
    });
  }

  #change({ keyspace, key, record }: ChangeEvent): void {
    const isHeld = HELD.test(key);
    if (isHeld || HIGH.test(key)) {
      if (record !== undefined)
        this.#guarded(keyspace, key, textOf(keyspace, record.value), isHeld);
      return;
    }
    const name = `${keyspace.id} ${key}`;
    if (record === undefined) this.#holders.delete(name);
    else this.#holders.set(name, keyspace === REDIS ? record.token : record.createRevision);
  }

  #guarded(keyspace: AnyKeyspace, key: string, text: string, isHeld: boolean): void {
    const at = text.indexOf('@');
    // The resource as it was made, before anybody wrote it under a lock.
    if (at < 0) return;
    this.writes += 1;
    const token = Number(text.slice(0, at));
    const lock = text.slice(at + 1, text.indexOf('#'));
    const highest = this.#highest.get(key) ?? 0;
    if (token < highest) this.#fail(`${key} is written under ${token} after ${highest}`);
    this.#highest.set(key, Math.max(highest, token));
    if (!isHeld) return;
    const holder = this.#holders.get(`${keyspace.id} ${lockKey(keyspace, lock)}`);
    if (holder === token) return;
    this.#fail(`${key} is written under ${token} of ${lock}, which stands at ${holder ?? 'none'}`);
  }

  #fail(what: string): void {
    this.#world.fail('GuardedWrite', what);
  }
}

const lockKey = (keyspace: AnyKeyspace, lock: string): string =>
  keyspace === ZOOKEEPER_KEYSPACE ? `n${lock}` : lock;

function textOf(keyspace: AnyKeyspace, value: unknown): string {
  if (keyspace === ETCD) return toByteString(valueBytes(value as EtcdValue));
  if (keyspace !== ZOOKEEPER_KEYSPACE) return (value as RedisValue as { text: string }).text;
  const tree = value as TreeValue;
  return tree.kind === 'data' && tree.bytes !== null ? toByteString(tree.bytes) : '';
}
