import { type BinaryReader, type BinaryWriter, EMPTY_BYTES, LeaseKind } from '@lockstep/model';
import type { Procedure } from '@lockstep/state-machine';
import { type Failure, failure, ProcedureId } from './outcome.ts';

export interface LeaseGrantArguments {
  /** Never 0: the door chooses an id when the client did not. */
  readonly id: bigint;
  readonly ttlSeconds: number;
}

export interface LeaseResult {
  readonly kind: 'lease';
}

export function writeLeaseGrant(writer: BinaryWriter, id: bigint, ttlSeconds: number): void {
  writer.i64(id).varint(ttlSeconds);
}

export const leaseGrantProcedure: Procedure<LeaseGrantArguments, LeaseResult | Failure> = {
  id: ProcedureId.LeaseGrant,
  version: 1,
  name: 'etcd.lease-grant',
  readOnly: false,
  decode: (reader: BinaryReader) => ({ id: reader.i64(), ttlSeconds: reader.varint() }),
  run(tx, { id, ttlSeconds }) {
    if (tx.leaseById(LeaseKind.Etcd, id) !== undefined) return failure('LEASE_EXISTS');
    tx.grantLease(LeaseKind.Etcd, id, ttlSeconds * 1000, EMPTY_BYTES);
    return { kind: 'lease' };
  },
};

export function writeLeaseRevoke(writer: BinaryWriter, id: bigint): void {
  writer.i64(id);
}

export const leaseRevokeProcedure: Procedure<bigint, LeaseResult | Failure> = {
  id: ProcedureId.LeaseRevoke,
  version: 1,
  name: 'etcd.lease-revoke',
  readOnly: false,
  decode: (reader: BinaryReader) => reader.i64(),
  run(tx, id) {
    const lease = tx.leaseById(LeaseKind.Etcd, id);
    if (lease === undefined) return failure('LEASE_NOT_FOUND');
    tx.revokeLease(lease.handle);
    return { kind: 'lease' };
  },
};
