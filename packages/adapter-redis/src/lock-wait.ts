import {
  type ByteString,
  EMPTY_BYTES,
  type LeaseHandle,
  LeaseKind,
  type MemberId,
  NO_LEASE,
} from '@lockstep/model';
import {
  type ClusterOption,
  type Transaction,
  type Waiter,
  WAITER_CANCELLED,
  type WaiterKind,
} from '@lockstep/state-machine';
import { databaseOf, type RedisKeyspace, type RedisRecord } from './keyspaces.ts';
import {
  decodeLockRequest,
  encodeLockDetails,
  encodeLockRequest,
  type LockRequest,
} from './lock-request.ts';
import { notifyKeyspace } from './notification.ts';
import type { Reply } from './reply.ts';
import { stringValue } from './value.ts';

const LOCK_WAITER = 'redis.lock';

/** How long the locks of a connection outlive a member that died without a word. */
export const sessionLockTtl: ClusterOption<number> = {
  name: 'redis-session-lock-ttl',
  default: 10_000,
  doc: 'Milliseconds after which SESSION locks of a connection end when nobody renews them.',
};

/** The lease of the request's connection, opened when missing; NO_LEASE without SESSION. */
export function leaseFor(tx: Transaction, request: LockRequest): LeaseHandle {
  if (!request.session || request.client === undefined) return NO_LEASE;
  const id = BigInt(request.client.id);
  const kind = LeaseKind.RedisConnection;
  const lease = tx.leaseById(kind, id);
  return (lease ?? tx.grantLease(kind, id, tx.option(sessionLockTtl), EMPTY_BYTES)).handle;
}

/** Makes the request's owner the holder; `holds` counts nested acquisitions. */
export function takeLock(
  tx: Transaction,
  keyspace: RedisKeyspace,
  key: ByteString,
  request: LockRequest,
  origin: MemberId,
  holds: number,
): RedisRecord {
  const lease = leaseFor(tx, request);
  const deadline = request.ttlMs === 0 ? 0 : tx.time + request.ttlMs;
  const record = tx.put(keyspace, key, stringValue(request.owner), { deadline, lease });
  const before = tx.lockNote(keyspace, key);
  tx.setLockNote(keyspace, key, {
    token: record.token,
    acquiredAt: before?.acquiredAt ?? tx.time,
    acquiredWall: before?.acquiredWall ?? tx.wall,
    origin,
    holds,
    meta: encodeLockDetails({ meta: request.meta, client: request.client }),
  });
  notifyKeyspace(tx, databaseOf.get(keyspace) ?? 0, '$', 'set', key);
  return record;
}

/** `:token`, or what WITHINFO shows. */
export function grantReply(
  request: LockRequest,
  record: RedisRecord,
  queued: number,
  holds: number,
): Reply {
  if (!request.withInfo) return record.token;
  const items: Reply[] = ['token', record.token, 'owner', request.owner];
  items.push('ttl', request.ttlMs === 0 ? -1 : request.ttlMs);
  items.push('queue', queued, 'position', 0, 'reentry', holds - 1);
  return { kind: 'map', items };
}

export function enqueueLock(
  tx: Transaction,
  keyspace: RedisKeyspace,
  key: ByteString,
  request: LockRequest,
  blockMs: number,
): Waiter {
  // The lease exists from now on, so that a waiter whose connection ended is recognised.
  leaseFor(tx, request);
  const deadline = blockMs === 0 ? 0 : tx.time + blockMs;
  return tx.enqueueWaiter(LOCK_WAITER, keyspace, [key], deadline, encodeLockRequest(request));
}

/** Served when the lock is free; a waiter whose connection ended is passed over. */
export const lockWaiterKind: WaiterKind = {
  name: LOCK_WAITER,
  strict: true,
  serve(tx: Transaction, waiter: Waiter): unknown {
    const keyspace = waiter.keyspace as RedisKeyspace;
    const key = waiter.keys[0]!;
    if (tx.get(keyspace, key) !== undefined) return undefined;
    const request = decodeLockRequest(waiter.args);
    if (request.session && request.client !== undefined) {
      const lease = tx.leaseById(LeaseKind.RedisConnection, BigInt(request.client.id));
      if (lease === undefined) return WAITER_CANCELLED;
    }
    const record = takeLock(tx, keyspace, key, request, waiter.origin, 1);
    return grantReply(request, record, Math.max(0, tx.waiters(keyspace, key).length - 1), 1);
  },
};
