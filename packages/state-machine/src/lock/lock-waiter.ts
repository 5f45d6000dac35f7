import {
  BinaryReader,
  BinaryWriter,
  type ByteString,
  copyBytes,
  type LeaseHandle,
  type Token,
} from '@lockstep/model';
import { type Transaction, WAITER_CANCELLED, type Waiter, type WaiterKind } from '../contract.ts';
import { grantLock } from './lock-grant.ts';

/** What a contender asks for; kept with its waiter until it is served. */
export interface LockClaim {
  readonly owner: ByteString;
  /** Lifetime from the grant on; 0 never expires. */
  readonly ttlMs: number;
  /** Lease the lock hangs on, of a SESSION lock; 0 none. */
  readonly lease: LeaseHandle;
  readonly meta: Uint8Array;
}

/** Result of a served lock waiter. */
export interface LockGrant {
  readonly token: Token;
}

export function encodeClaim(claim: LockClaim): Uint8Array {
  const writer = new BinaryWriter(64);
  writer.byteString(claim.owner).f64(claim.ttlMs).varint(claim.lease).bytes(claim.meta);
  return writer.take();
}

export function decodeClaim(args: Uint8Array): LockClaim {
  const reader = new BinaryReader(args);
  return {
    owner: reader.byteString(),
    ttlMs: reader.f64(),
    lease: reader.varint(),
    meta: copyBytes(reader.bytes()),
  };
}

/** Name of the waiters that the lock table queues. */
export const LOCK_WAITER_KIND = 'lock';

/** Hands a lock over to the head of its queue, in the transaction that freed it. */
export const LOCK_WAITER: WaiterKind = {
  name: LOCK_WAITER_KIND,
  strict: true,
  serve(tx: Transaction, waiter: Waiter): LockGrant | typeof WAITER_CANCELLED | undefined {
    const { keyspace } = waiter;
    const name = waiter.keys[0]!;
    const claim = decodeClaim(waiter.args);
    if (claim.lease !== 0 && tx.lease(claim.lease) === undefined) return WAITER_CANCELLED;
    if (tx.get(keyspace, name) !== undefined) return undefined;
    return { token: grantLock(tx, keyspace, name, claim, waiter.origin).token };
  },
};
