import { type ByteString, fromByteString } from '@lockstep/model';
import type { Door } from './door.ts';
import { etcdErrorOf } from './errors.ts';
import { type Event, Event_EventType, type KeyValue } from './gen/kv.ts';
import type {
  DeleteRangeResponse,
  PutResponse,
  RangeResponse,
  ResponseHeader,
  ResponseOp,
  TxnResponse,
} from './gen/rpc.ts';
import { type EtcdRecord, valueBytes, valueLeaseId } from './keyspace.ts';
import type { DeleteResult } from './procedures/delete-range.ts';
import type { PutResult } from './procedures/put.ts';
import type { OperationResult, TxnResult } from './procedures/txn.ts';
import { complete, type Selection } from './selection.ts';
import type { Done } from './session.ts';
import { rpcError } from './session.ts';

/** Results of procedures and reads as messages. Values are views on live records. */

const NO_BYTES = Buffer.alloc(0);

export const keyBytes = (key: ByteString): Buffer => fromByteString(key) as Buffer;

export function keyValue(key: ByteString, record: EtcdRecord, keysOnly = false): KeyValue {
  return {
    key: keyBytes(key),
    createRevision: record.createRevision,
    modRevision: record.modRevision,
    version: record.version,
    value: keysOnly ? NO_BYTES : (valueBytes(record.value) as Buffer),
    lease: valueLeaseId(record.value),
  };
}

/** A change as watchers see it; a delete names only the key and its revision. */
export function watchEvent(
  key: ByteString,
  revision: number,
  record: EtcdRecord | undefined,
  previous: EtcdRecord | undefined,
): Event {
  const prevKv = previous === undefined ? undefined : keyValue(key, previous);
  if (record !== undefined) {
    return { type: Event_EventType.PUT, kv: keyValue(key, record), prevKv };
  }
  const kv: KeyValue = {
    key: keyBytes(key),
    createRevision: 0,
    modRevision: revision,
    version: 0,
    value: NO_BYTES,
    lease: 0n,
  };
  return { type: Event_EventType.DELETE, kv, prevKv };
}

export function rangeResponse(header: ResponseHeader, selection: Selection): RangeResponse {
  const { operation, rows, more, count } = selection;
  const kvs = rows.map((row) => keyValue(row.key, row.record!, operation.keysOnly));
  return { header, kvs, more, count };
}

export function putResponse(header: ResponseHeader, key: ByteString, put: PutResult): PutResponse {
  const { previous } = put;
  return { header, prevKv: previous === undefined ? undefined : keyValue(key, previous) };
}

export function deleteResponse(header: ResponseHeader, result: DeleteResult): DeleteRangeResponse {
  const prevKvs = result.previous.map(({ key, record }) => keyValue(key, record));
  return { header, deleted: result.deleted, prevKvs };
}

/** Headers inside a transaction's answer carry only a revision; a nested one's is empty. */
const inner = (revision: number): ResponseHeader => ({
  clusterId: 0n,
  memberId: 0n,
  revision,
  raftTerm: 0,
});

export function txnResponse(header: ResponseHeader, result: TxnResult): TxnResponse {
  return { header, succeeded: result.succeeded, responses: result.results.map(responseOp) };
}

function responseOp(result: OperationResult): ResponseOp {
  switch (result.kind) {
    case 'range': {
      const { selection } = result;
      return { responseRange: rangeResponse(inner(selection.revision), selection) };
    }
    case 'put': {
      const { put, key } = result;
      return { responsePut: putResponse(inner(result.revision), key, put) };
    }
    case 'delete': {
      const header = inner(result.revision);
      return { responseDeleteRange: deleteResponse(header, result.delete) };
    }
    default:
      return { responseTxn: txnResponse(inner(0), result) };
  }
}

/** The selections inside a transaction's results that still lack old values. */
function incomplete(result: TxnResult, found: Selection[] = []): Selection[] {
  for (const one of result.results) {
    if (one.kind === 'txn') incomplete(one, found);
    else if (one.kind === 'range' && one.selection.missing.length > 0) found.push(one.selection);
  }
  return found;
}

/** Reads what the selections lack from history, then goes on (at once when they lack nothing). */
export function withHistory<S>(
  door: Door,
  selections: readonly Selection[],
  done: Done<S>,
  next: () => void,
): void {
  const lacking = selections.filter((selection) => selection.missing.length > 0);
  if (lacking.length === 0) {
    next();
    return;
  }
  const references = lacking.flatMap((selection) => selection.missing);
  door.replica.readHistory(references, (error, records) => {
    if (error !== undefined) return done(rpcError(etcdErrorOf(error)));
    let at = 0;
    for (const selection of lacking) {
      const count = selection.missing.length;
      complete(selection, records.slice(at, at + count));
      at += count;
    }
    return next();
  });
}

/** A transaction's answer once its reads of old revisions are filled in. */
export function answerTxn(door: Door, result: TxnResult, done: Done<TxnResponse>): void {
  const header = door.header();
  withHistory(door, incomplete(result), done, () => done(undefined, txnResponse(header, result)));
}
