import type { BinaryReader, BinaryWriter, ByteString } from '@lockstep/model';
import type {
  ClusterOption,
  KeyspaceDefinition,
  LiveRecord,
  Transaction,
} from '@lockstep/state-machine';
import { dropElements } from './collections.ts';
import { DATABASES, FIRST_TABLE, SCRIPTS_TABLE } from './keyspace-numbers.ts';
import { notifyKeyspace } from './notification.ts';
import { ScanIndex } from './scan.ts';
import { type KeptScript, ScriptIndex } from './script-index.ts';
import { type RedisValue, stringValue, valueCodec } from './value.ts';

export type RedisKeyspace = KeyspaceDefinition<RedisValue>;
export type RedisRecord = LiveRecord<RedisValue>;

function redisKeyspace(db: number): RedisKeyspace {
  const keyspace: RedisKeyspace = {
    id: FIRST_TABLE + db,
    name: `redis/${db}`,
    history: false,
    ordered: false,
    codec: valueCodec,
    // The owner of a lock is its value: setting the same one again is not a new grant.
    changesOwner: (before, after) =>
      before.kind === 'string' && after.kind === 'string'
        ? before.text !== after.text
        : before.kind !== after.kind,
    lock: {
      ownerOf: (value) => (value.kind === 'string' ? value.text : undefined),
      valueOf: (owner) => stringValue(owner),
    },
    expired(tx: Transaction, key: ByteString, { value }: RedisRecord): void {
      dropElements(tx, db, value);
      tx.delete(keyspace, key);
      notifyKeyspace(tx, db, 'x', 'expired', key);
    },
    index: () => new ScanIndex(),
  };
  return keyspace;
}

/** `redis/0` … `redis/15`. */
export const redisKeyspaces: readonly RedisKeyspace[] = Array.from({ length: DATABASES }, (_, db) =>
  redisKeyspace(db),
);

/** Script bodies by SHA-1 in lower-case hex: replicated, so that EVALSHA works at any member. */
export const scriptKeyspace: KeyspaceDefinition<KeptScript> = {
  id: SCRIPTS_TABLE,
  name: 'redis/scripts',
  unnumbered: true,
  history: false,
  ordered: false,
  codec: {
    encode: (writer: BinaryWriter, { body, loaded }: KeptScript) => {
      writer.u8(loaded ? 1 : 0).byteString(body);
    },
    decode: (reader: BinaryReader) => {
      const loaded = reader.u8() === 1;
      return { loaded, body: reader.byteString() };
    },
    sizeBytes: ({ body }: KeptScript) => body.length,
  },
  index: () => new ScriptIndex(),
};

/** Caller has checked the range. */
export function keyspaceOf(db: number): RedisKeyspace {
  return redisKeyspaces[db]!;
}

/** Database number by keyspace, for events. */
export const databaseOf: ReadonlyMap<unknown, number> = new Map(
  redisKeyspaces.map((keyspace, db) => [keyspace, db]),
);

/** Scripts kept because EVAL brought them; older ones make room, as in Redis since 7.4. */
export const evaluatedScriptsMax: ClusterOption<number> = {
  name: 'redis-evaluated-scripts-max',
  default: 500,
  doc: 'Scripts kept because EVAL brought them; SCRIPT LOAD is not limited by it.',
  min: 0,
  max: 1_000_000,
};

/** Longest queue of one lock; MAXQUEUE may ask for a shorter one. */
export const lockQueueMax: ClusterOption<number> = {
  name: 'redis-lock-queue-max',
  default: 10_000,
  doc: 'Clients that may wait for one lock with LOCK ACQUIRE … BLOCK; more get QUEUEFULL.',
  min: 0,
  max: 1_000_000,
};
