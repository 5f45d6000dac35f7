import { ETCD, type EtcdValue, valueBytes } from '@lockstep/adapter-etcd';
import { type RedisValue, redisKeyspaces } from '@lockstep/adapter-redis';
import { type TreeValue, ZOOKEEPER_KEYSPACE } from '@lockstep/adapter-zookeeper';
import { type ByteString, type Revision, toByteString } from '@lockstep/model';
import type { AnyKeyspace, ChangeEvent } from '@lockstep/state-machine';
import type { History } from './history.ts';

/** What a key held from one transaction of the canonical history to the next that changed it. */
export interface Version {
  /** Ordinal of the transaction. */
  readonly ordinal: number;
  readonly revision: Revision;
  readonly sub: number;
  readonly createRevision: Revision;
  /** The value as bytes of text; undefined when the key is absent. */
  readonly text: string | undefined;
}

/** Database 0, which the clients of the Redis door use. */
export const REDIS: AnyKeyspace = redisKeyspaces[0]!;
const TEXTS = new Map<AnyKeyspace, (value: unknown) => string>([
  [ETCD, (value) => toByteString(valueBytes(value as EtcdValue))],
  [REDIS, (value) => (value as RedisValue as { text?: string }).text ?? ''],
  [ZOOKEEPER_KEYSPACE, (value) => treeText(value as TreeValue)],
]);

function treeText(value: TreeValue): string {
  if (value.kind === 'node') return `v${value.version}`;
  return value.bytes === null ? '' : toByteString(value.bytes);
}

/** All versions of the keys that clients of the doors see: what their reads are held against. */
export class Registers {
  readonly tree: AnyKeyspace = ZOOKEEPER_KEYSPACE;
  readonly #tables = new Map<AnyKeyspace, Map<ByteString, Version[]>>();
  readonly #history: History;
  /** Highest revision through each transaction. */
  readonly #revisions: Revision[] = [];
  #revision: Revision = 1;

  constructor(history: History) {
    this.#history = history;
    for (const keyspace of TEXTS.keys()) this.#tables.set(keyspace, new Map());
    history.listeners.push({
      transaction: ({ revision, events }) => {
        if (revision > this.#revision) this.#revision = revision;
        this.#revisions.push(this.#revision);
        for (const event of events) if (event.kind === 'change') this.#change(event);
      },
    });
  }

  /** Transactions so far. */
  get count(): number {
    return this.#history.transactionCount;
  }

  /** Highest revision through a transaction; of the fresh store for ordinal -1. */
  revisionThrough(ordinal: number): Revision {
    return this.#revisions[ordinal] ?? 1;
  }

  /** Ordinal of the last transaction of which a reader at that revision knows for certain. */
  ordinalOf(revision: Revision): number {
    let [low, high] = [0, this.#revisions.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#revisions[middle]! < revision) low = middle + 1;
      else high = middle;
    }
    return this.#revisions[low] === revision ? low : low - 1;
  }

  of(keyspace: AnyKeyspace, key: ByteString): readonly Version[] {
    return this.#tables.get(keyspace)?.get(key) ?? [];
  }

  keys(keyspace: AnyKeyspace): ByteString[] {
    return [...(this.#tables.get(keyspace)?.keys() ?? [])].sort();
  }

  /** What a key held at a revision; undefined when it was never there by then. */
  at(keyspace: AnyKeyspace, key: ByteString, revision: Revision): Version | undefined {
    const versions = this.of(keyspace, key);
    let [low, high] = [0, versions.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (versions[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return versions[low - 1];
  }

  #change({ keyspace, key, revision, sub, record }: ChangeEvent): void {
    const table = this.#tables.get(keyspace);
    if (table === undefined) return;
    const text = record === undefined ? undefined : TEXTS.get(keyspace)!(record.value);
    const versions = table.get(key) ?? [];
    table.set(key, versions);
    // A new deadline is no new value.
    if (keyspace === REDIS && versions.at(-1)?.text === text) return;
    const ordinal = this.#revisions.length - 1;
    const createRevision = record?.createRevision ?? 0;
    versions.push({ ordinal, revision, sub, createRevision, text });
  }
}
