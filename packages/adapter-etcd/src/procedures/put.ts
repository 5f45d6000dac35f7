import { copyBytes, LeaseKind, NO_LEASE } from '@lockstep/model';
import type { Procedure, StateReader, Transaction } from '@lockstep/state-machine';
import type { EtcdErrorName } from '../errors.ts';
import { ETCD, type EtcdRecord, etcdValue, valueBytes, valueLeaseId } from '../keyspace.ts';
import { type PutOperation, readPut } from '../operation.ts';
import { type Failure, failure, ProcedureId } from './outcome.ts';

/** Result of a put: the record before it, when asked for and there was one. */
export interface PutResult {
  readonly kind: 'put';
  readonly previous: EtcdRecord | undefined;
  /** Revision of the write. */
  readonly revision: number;
}

/** Keeping value or lease needs a key. Decided before the transaction's first write. */
export function checkKept(reader: StateReader, put: PutOperation): EtcdErrorName | undefined {
  const keeps = put.ignoreValue || put.ignoreLease;
  return keeps && reader.get(ETCD, put.key) === undefined ? 'KEY_NOT_FOUND' : undefined;
}

export function checkLease(reader: StateReader, put: PutOperation): EtcdErrorName | undefined {
  if (put.leaseId === 0n) return undefined;
  const lease = reader.leaseById(LeaseKind.Etcd, put.leaseId);
  return lease === undefined ? 'LEASE_NOT_FOUND' : undefined;
}

/** Writes; both checks have passed. Copies the value, which is a view of the log entry. */
export function applyPut(tx: Transaction, put: PutOperation): PutResult {
  const needed = put.ignoreValue || put.ignoreLease || put.previous;
  const before = needed ? tx.get(ETCD, put.key) : undefined;
  const leaseId = put.ignoreLease ? valueLeaseId(before!.value) : put.leaseId;
  const bytes = put.ignoreValue ? valueBytes(before!.value) : copyBytes(put.value);
  const lease = put.ignoreLease ? before!.lease : handleOf(tx, put.leaseId);
  const record = tx.put(ETCD, put.key, etcdValue(bytes, leaseId), { lease });
  const previous = put.previous && tx.wanted ? before : undefined;
  return { kind: 'put', previous, revision: record.modRevision };
}

function handleOf(tx: Transaction, leaseId: bigint): number {
  if (leaseId === 0n) return NO_LEASE;
  return tx.leaseById(LeaseKind.Etcd, leaseId)!.handle;
}

export const putProcedure: Procedure<PutOperation, PutResult | Failure> = {
  id: ProcedureId.Put,
  version: 1,
  name: 'etcd.put',
  readOnly: false,
  decode: readPut,
  run(tx, put) {
    // etcd looks for the lease first here, and last inside a transaction.
    const error = checkLease(tx, put) ?? checkKept(tx, put);
    return error === undefined ? applyPut(tx, put) : failure(error);
  },
};
