import type { BinaryReader, BinaryWriter, ByteString } from '@lockstep/model';
import type {
  ClusterOption,
  KeyspaceDefinition,
  LiveRecord,
  Transaction,
} from '@lockstep/state-machine';
import { notifyKeyspace } from './notification.ts';
import { ScanIndex } from './scan.ts';
import { type RedisValue, stringValue, valueCodec } from './value.ts';

export type RedisKeyspace = KeyspaceDefinition<RedisValue>;
export type RedisRecord = LiveRecord<RedisValue>;

/** As many databases as Redis has by default. */
export const DATABASES = 16;

const FIRST_TABLE = 0x0400;
const SCRIPTS_TABLE = FIRST_TABLE + DATABASES;

function redisKeyspace(db: number): RedisKeyspace {
  const keyspace: RedisKeyspace = {
    id: FIRST_TABLE + db,
    name: `redis/${db}`,
    history: false,
    ordered: false,
    codec: valueCodec,
    // The owner of a lock is its value: setting the same one again is not a new grant.
    changesOwner: (before, after) => before.kind !== after.kind || before.text !== after.text,
    lock: {
      ownerOf: (value) => (value.kind === 'string' ? value.text : undefined),
      valueOf: (owner) => stringValue(owner),
    },
    expired(tx: Transaction, key: ByteString): void {
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
export const scriptKeyspace: KeyspaceDefinition<ByteString> = {
  id: SCRIPTS_TABLE,
  name: 'redis/scripts',
  history: false,
  ordered: false,
  codec: {
    encode: (writer: BinaryWriter, body: ByteString) => {
      writer.byteString(body);
    },
    decode: (reader: BinaryReader) => reader.byteString(),
    sizeBytes: (body: ByteString) => body.length,
  },
};

/** Caller has checked the range. */
export function keyspaceOf(db: number): RedisKeyspace {
  return redisKeyspaces[db]!;
}

/** Database number by keyspace, for events. */
export const databaseOf: ReadonlyMap<unknown, number> = new Map(
  redisKeyspaces.map((keyspace, db) => [keyspace, db]),
);

/** Longest queue of one lock; MAXQUEUE may ask for a shorter one. */
export const lockQueueMax: ClusterOption<number> = {
  name: 'redis-lock-queue-max',
  default: 10_000,
  doc: 'Clients that may wait for one lock with LOCK ACQUIRE … BLOCK; more get QUEUEFULL.',
};
