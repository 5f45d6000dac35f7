import {
  BinaryReader,
  BinaryWriter,
  type ByteString,
  EMPTY_BYTES,
  type LeaseHandle,
  LeaseKind,
} from '@lockstep/model';
import type { ClusterOption, Lease, StateReader, Transaction } from '@lockstep/state-machine';
import type { ClientIdentity } from './command.ts';

/** How long the locks of a connection outlive a member that died without a word. */
export const sessionLockTtl: ClusterOption<number> = {
  name: 'redis-session-lock-ttl',
  default: 10_000,
  doc: 'Milliseconds after which SESSION locks of a connection end when nobody renews them.',
  min: 1000,
  max: 3_600_000,
};

/** The lease of a connection's SESSION locks, if it has one. */
export function connectionLease(reader: StateReader, connection: number): Lease | undefined {
  return reader.leaseById(LeaseKind.RedisConnection, BigInt(connection));
}

/** The same, opened when missing. */
export function openConnectionLease(tx: Transaction, connection: number): LeaseHandle {
  const present = connectionLease(tx, connection);
  if (present !== undefined) return present.handle;
  const ttlMs = tx.option(sessionLockTtl);
  const id = BigInt(connection);
  return tx.grantLease(LeaseKind.RedisConnection, id, ttlMs, EMPTY_BYTES).handle;
}

/** Our bytes in a lock's note: META, and who took it. */
export interface LockDetails {
  readonly meta: ByteString;
  readonly client: ClientIdentity | undefined;
}

export function encodeLockDetails({ meta, client }: LockDetails): Uint8Array {
  const writer = new BinaryWriter(32).byteString(meta);
  if (client !== undefined) writer.f64(client.id).byteString(client.address);
  return writer.copy();
}

/** Empty bytes are the details of a lock that a plain SET took. */
export function decodeLockDetails(bytes: Uint8Array): LockDetails {
  if (bytes.length === 0) return { meta: '', client: undefined };
  const reader = new BinaryReader(bytes);
  const meta = reader.byteString();
  if (reader.remaining === 0) return { meta, client: undefined };
  return { meta, client: { id: reader.f64(), address: reader.byteString() } };
}
