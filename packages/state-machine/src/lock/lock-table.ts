import {
  type ByteString,
  type ClusterTimeMs,
  EMPTY_BYTES,
  type LeaseHandle,
  type Token,
  type WallTimeMs,
} from '@lockstep/model';
import type { AnyKeyspace, LiveRecord, StateReader, Transaction, Waiter } from '../contract.ts';
import { LOCK_BARGING_OPTION } from '../system/option-table.ts';
import { grantLock, lockFacet } from './lock-grant.ts';
import { decodeClaim, encodeClaim, LOCK_WAITER_KIND, type LockClaim } from './lock-waiter.ts';

/**
 * The lock table: what LOCK procedures do with records of a keyspace that has a `lock` facet
 * (design §9). A lock is an ordinary record whose value is its owner, so a lock taken by a plain
 * SET NX is the same lock. Whatever deletes the record hands it over to the queue at the end of
 * the same transaction. All functions decide first, then write.
 */

export interface AcquireRequest extends LockClaim {
  /** Opens the lease to hang the lock on instead of `lease`. Called only once it is decided that
   * the lock is granted, extended or queued for. */
  readonly openLease?: () => LeaseHandle;
  /** An owner that holds the lock already takes it once more and must release it as often. */
  readonly reentrant?: boolean;
  /** Takes a free name past its queue, where the option lock-barging allows it. */
  readonly unfair?: boolean;
  /** How to queue when it is held; left out: refuse. */
  readonly wait?: {
    /** Cluster time at which waiting ends; 0 never. */
    readonly deadline: ClusterTimeMs;
    /** Longest queue to join; Infinity has no bound of its own. */
    readonly queueMax: number;
  };
}

export type AcquireOutcome =
  | {
      readonly kind: 'granted';
      readonly token: Token;
      readonly record: LiveRecord;
      /** Acquisitions now held by this owner. */
      readonly holds: number;
    }
  | { readonly kind: 'held'; readonly record: LiveRecord | undefined }
  | { readonly kind: 'queued'; readonly waiter: Waiter; readonly position: number }
  | { readonly kind: 'queue-full'; readonly length: number }
  /** The record is of a kind that cannot be a lock. */
  | { readonly kind: 'wrong-type' };

/** Takes a lock: absent → granted; same owner → extended, token kept; held → queued or refused. */
export function acquireLock(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  request: AcquireRequest,
): AcquireOutcome {
  const facet = lockFacet(keyspace);
  const record = tx.get(keyspace, name);
  if (record === undefined) {
    if (mayTake(tx, keyspace, name, request.unfair === true)) {
      const granted = grantLock(tx, keyspace, name, leased(request), tx.origin);
      return { kind: 'granted', token: granted.token, record: granted, holds: 1 };
    }
  } else {
    const owner = facet.ownerOf(record.value);
    if (owner === undefined) return { kind: 'wrong-type' };
    if (owner === request.owner) return reacquire(tx, keyspace, name, record, leased(request));
  }
  if (request.wait === undefined) return { kind: 'held', record };
  const length = tx.waiterCount(keyspace, name);
  if (length >= request.wait.queueMax) return { kind: 'queue-full', length };
  const args = encodeClaim(leased(request));
  const { deadline } = request.wait;
  const waiter = tx.enqueueWaiter(LOCK_WAITER_KIND, keyspace, [name], deadline, args);
  return { kind: 'queued', waiter, position: length };
}

/** The request with its lease open: the first write of an acquisition. */
function leased(request: AcquireRequest): AcquireRequest {
  return request.openLease === undefined ? request : { ...request, lease: request.openLease() };
}

function reacquire(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  record: LiveRecord,
  request: AcquireRequest,
): AcquireOutcome {
  const note = tx.lockNote(keyspace, name);
  const holds = (note?.holds ?? 1) + (request.reentrant === true ? 1 : 0);
  const extended = prolong(tx, keyspace, name, record, request.ttlMs, request.lease);
  if (request.reentrant === true) {
    tx.setLockNote(keyspace, name, {
      token: record.token,
      acquiredAt: note?.acquiredAt ?? tx.time,
      acquiredWall: note?.acquiredWall ?? tx.wall,
      origin: note?.origin ?? tx.origin,
      meta: note?.meta ?? request.meta,
      holds,
    });
  }
  return { kind: 'granted', token: extended.token, record: extended, holds };
}

/** Moves deadline and lease, nothing else: the owner stays, so the token stays. */
function prolong(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  record: LiveRecord,
  ttlMs: number,
  lease: LeaseHandle,
): LiveRecord {
  const deadline = ttlMs === 0 ? 0 : tx.time + ttlMs;
  return tx.put(keyspace, name, record.value, { lease, deadline, token: 'keep', touch: false });
}

/**
 * Whether somebody outside of the queue may take a free name (option lock-barging). The hand-over
 * happens in the transaction that frees a lock, so a free name with a queue is seen only inside
 * that transaction (MULTI, a script).
 */
export function mayTake(
  reader: StateReader,
  keyspace: AnyKeyspace,
  name: ByteString,
  unfair = true,
): boolean {
  if (reader.waiterCount(keyspace, name) === 0) return true;
  return unfair && reader.option(LOCK_BARGING_OPTION) === 'yes';
}

export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly token: Token }
  /** Re-entrant and still held by this owner. */
  | { readonly kind: 'still-held'; readonly holds: number }
  /** Free, held by another owner, under another token, or not a lock. */
  | { readonly kind: 'not-held' };

/** Frees a lock of `owner` (and under `token`, if given). The next in the queue gets it in this
 * transaction. */
export function releaseLock(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  owner: ByteString,
  token?: Token,
): ReleaseOutcome {
  const record = heldBy(tx, keyspace, name, owner, token);
  if (record === undefined) return { kind: 'not-held' };
  const note = tx.lockNote(keyspace, name);
  if (note !== undefined && note.holds > 1) {
    // A lock record changed, so a revision is taken even though only the note is rewritten.
    tx.takeRevision();
    tx.setLockNote(keyspace, name, { ...note, holds: note.holds - 1 });
    return { kind: 'still-held', holds: note.holds - 1 };
  }
  tx.delete(keyspace, name);
  return { kind: 'released', token: record.token };
}

/** Sets a held lock's lifetime to `ttlMs` from now. False when it is not held so. */
export function extendLock(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  owner: ByteString,
  ttlMs: number,
  token?: Token,
): boolean {
  const record = heldBy(tx, keyspace, name, owner, token);
  if (record === undefined) return false;
  prolong(tx, keyspace, name, record, ttlMs, record.lease);
  return true;
}

/** Frees a lock whoever holds it. Returns the token it was held under; 0 when it was free. */
export function forceLock(tx: Transaction, keyspace: AnyKeyspace, name: ByteString): Token {
  const record = tx.get(keyspace, name);
  if (record === undefined || lockFacet(keyspace).ownerOf(record.value) === undefined) return 0;
  tx.delete(keyspace, name);
  return record.token;
}

/** Takes an owner's waiters out of a lock's queue. False when there were none. */
export function cancelLockWaiters(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  owner: ByteString,
): boolean {
  const mine = lockQueue(tx, keyspace, name).filter((entry) => entry.owner === owner);
  for (const { waiter } of mine) tx.removeWaiter(waiter.id);
  return mine.length > 0;
}

function heldBy(
  reader: StateReader,
  keyspace: AnyKeyspace,
  name: ByteString,
  owner: ByteString,
  token: Token | undefined,
): LiveRecord | undefined {
  const record = reader.get(keyspace, name);
  if (record === undefined) return undefined;
  if (lockFacet(keyspace).ownerOf(record.value) !== owner) return undefined;
  return token === undefined || token === record.token ? record : undefined;
}

export interface LockInfo {
  readonly owner: ByteString;
  readonly token: Token;
  /** 0 when the lock was not taken through the lock table (a plain SET NX). */
  readonly acquiredAt: ClusterTimeMs;
  readonly acquiredWall: WallTimeMs;
  /** Cluster time at which it expires; 0 never. */
  readonly deadline: ClusterTimeMs;
  readonly lease: LeaseHandle;
  readonly holds: number;
  readonly meta: Uint8Array;
  readonly queueLength: number;
}

/** Undefined when free or not a lock. */
export function lockInfo(
  reader: StateReader,
  keyspace: AnyKeyspace,
  name: ByteString,
): LockInfo | undefined {
  const record = reader.get(keyspace, name);
  if (record === undefined) return undefined;
  const owner = lockFacet(keyspace).ownerOf(record.value);
  if (owner === undefined) return undefined;
  const note = reader.lockNote(keyspace, name);
  return {
    owner,
    token: record.token,
    acquiredAt: note?.acquiredAt ?? 0,
    acquiredWall: note?.acquiredWall ?? 0,
    deadline: record.deadline,
    lease: record.lease,
    holds: note?.holds ?? 1,
    meta: note?.meta ?? EMPTY_BYTES,
    queueLength: reader.waiterCount(keyspace, name),
  };
}

/** Lock waiters of a name, oldest first. */
export function lockQueue(
  reader: StateReader,
  keyspace: AnyKeyspace,
  name: ByteString,
): readonly {
  readonly owner: ByteString;
  readonly meta: Uint8Array;
  readonly waiter: Waiter;
}[] {
  const waiters = reader.waiters(keyspace, name).filter(({ kind }) => kind === LOCK_WAITER_KIND);
  return waiters.map((waiter) => {
    const { owner, meta } = decodeClaim(waiter.args);
    return { owner, meta, waiter };
  });
}
