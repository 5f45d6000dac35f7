import type { ByteString } from '@lockstep/model';
import type { Procedure, Transaction } from '@lockstep/state-machine';
import { isEmptyRange, keyRange } from '../key-range.ts';
import { ETCD, type EtcdRecord } from '../keyspace.ts';
import { type DeleteOperation, readDelete } from '../operation.ts';
import { ProcedureId } from './outcome.ts';

/** Result of a range delete: how many went, and what they were when asked for, in key order. */
export interface DeleteResult {
  readonly kind: 'delete';
  readonly deleted: number;
  readonly previous: readonly { readonly key: ByteString; readonly record: EtcdRecord }[];
}

export function applyDelete(tx: Transaction, operation: DeleteOperation): DeleteResult {
  const previous: { key: ByteString; record: EtcdRecord }[] = [];
  const range = keyRange(operation.key, operation.rangeEnd);
  if (isEmptyRange(range)) return { kind: 'delete', deleted: 0, previous };
  const wanted = operation.previous && tx.wanted;
  if (range.single) {
    const record = tx.delete(ETCD, range.from);
    if (wanted && record !== undefined) previous.push({ key: range.from, record });
    return { kind: 'delete', deleted: record === undefined ? 0 : 1, previous };
  }
  const note = (key: ByteString, record: unknown): void => {
    previous.push({ key, record: record as EtcdRecord });
  };
  const deleted = wanted
    ? tx.deleteRange(ETCD, range.from, range.to, note)
    : tx.deleteRange(ETCD, range.from, range.to);
  return { kind: 'delete', deleted, previous };
}

export const deleteRangeProcedure: Procedure<DeleteOperation, DeleteResult> = {
  id: ProcedureId.DeleteRange,
  version: 1,
  name: 'etcd.delete-range',
  readOnly: false,
  decode: readDelete,
  run: applyDelete,
};
