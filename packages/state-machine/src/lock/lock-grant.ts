import { type ByteString, invariant, type MemberId } from '@lockstep/model';
import type { AnyKeyspace, LiveRecord, Transaction } from '../contract.ts';
import type { LockClaim } from './lock-waiter.ts';

/** The lock facet of a keyspace; InvariantError when it has none. */
export function lockFacet(keyspace: AnyKeyspace): NonNullable<AnyKeyspace['lock']> {
  invariant(keyspace.lock !== undefined, () => `keyspace ${keyspace.name} holds no locks`);
  return keyspace.lock;
}

/** Creates the record of a free lock and its note. The only place where the lock table grants. */
export function grantLock(
  tx: Transaction,
  keyspace: AnyKeyspace,
  name: ByteString,
  claim: LockClaim,
  origin: MemberId,
): LiveRecord {
  const record = tx.put(keyspace, name, lockFacet(keyspace).valueOf(claim.owner), {
    lease: claim.lease,
    deadline: claim.ttlMs === 0 ? 0 : tx.time + claim.ttlMs,
  });
  tx.setLockNote(keyspace, name, {
    token: record.token,
    acquiredAt: tx.time,
    acquiredWall: tx.wall,
    origin,
    holds: 1,
    meta: claim.meta,
  });
  return record;
}
