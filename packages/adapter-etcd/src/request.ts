import type { ByteString } from '@lockstep/model';
import type { EtcdErrorName } from './errors.ts';
import type {
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from './gen/rpc.ts';
import { contains, type KeyRange, keyRange } from './key-range.ts';

/**
 * Static checks of requests, done before anything is proposed. Each returns the error's name or
 * undefined. Order matters: clients see the first error etcd would report.
 */

export function checkRange(request: RangeRequest): EtcdErrorName | undefined {
  if (request.key.length === 0) return 'KEY_NOT_PROVIDED';
  const order: number = request.sortOrder;
  const target: number = request.sortTarget;
  if (order < 0 || order > 2 || target < 0 || target > 4) return 'INVALID_SORT_OPTION';
  return undefined;
}

export function checkPut(request: PutRequest): EtcdErrorName | undefined {
  if (request.key.length === 0) return 'KEY_NOT_PROVIDED';
  if (request.ignoreValue && request.value.length !== 0) return 'VALUE_PROVIDED';
  if (request.ignoreLease && request.lease !== 0n) return 'LEASE_PROVIDED';
  return undefined;
}

export function checkDelete(request: DeleteRangeRequest): EtcdErrorName | undefined {
  return request.key.length === 0 ? 'KEY_NOT_PROVIDED' : undefined;
}

/** All static rules of a transaction; `operationsMax` bounds the longest list of each level. */
export function checkTxn(request: TxnRequest, operationsMax: number): EtcdErrorName | undefined {
  return (
    checkShape(request, operationsMax) ??
    footprint(request.success).error ??
    footprint(request.failure).error
  );
}

function checkShape(request: TxnRequest, operationsMax: number): EtcdErrorName | undefined {
  const { compare, success, failure } = request;
  const longest = Math.max(compare.length, success.length, failure.length);
  if (longest > operationsMax) return 'TOO_MANY_OPERATIONS';
  if (compare.some((one) => one.key.length === 0)) return 'KEY_NOT_PROVIDED';
  for (const branch of [success, failure]) {
    for (const operation of branch) {
      // A nested transaction has what its parent left of the limit.
      const error = checkOperation(operation, operationsMax - longest);
      if (error !== undefined) return error;
    }
  }
  return undefined;
}

function checkOperation(operation: RequestOp, operationsMax: number): EtcdErrorName | undefined {
  if (operation.requestRange !== undefined) return checkRange(operation.requestRange);
  if (operation.requestPut !== undefined) return checkPut(operation.requestPut);
  if (operation.requestDeleteRange !== undefined) return checkDelete(operation.requestDeleteRange);
  if (operation.requestTxn !== undefined) return checkShape(operation.requestTxn, operationsMax);
  return 'KEY_NOT_FOUND';
}

/** The keys a branch may write, nested transactions included. */
interface Footprint {
  readonly puts: Set<ByteString>;
  readonly deletes: KeyRange[];
  error: EtcdErrorName | undefined;
}

/**
 * One branch must not put a key twice, nor put a key that it deletes, at whatever level. The two
 * branches of a nested transaction exclude each other, so they may put the same key.
 */
function footprint(operations: readonly RequestOp[]): Footprint {
  const all: Footprint = { puts: new Set(), deletes: [], error: undefined };
  for (const { requestDeleteRange: request } of operations) {
    if (request === undefined) continue;
    all.deletes.push(literalRange(latin1(request.key), latin1(request.rangeEnd)));
  }
  for (const { requestTxn: request } of operations) {
    if (request !== undefined) addNested(all, request);
  }
  for (const { requestPut: request } of operations) {
    if (request !== undefined) addPut(all, latin1(request.key));
  }
  return all;
}

/**
 * As etcd, this check takes an open end by the letter: no key lies before it, so that a delete of
 * all that follows a key conflicts with no put.
 */
function literalRange(key: ByteString, rangeEnd: ByteString): KeyRange {
  const range = keyRange(key, rangeEnd);
  return range.single ? range : { from: key, to: rangeEnd, single: false };
}

function addNested(all: Footprint, request: TxnRequest): void {
  const success = footprint(request.success);
  const failure = footprint(request.failure);
  all.error ??= success.error ?? failure.error;
  for (const key of new Set([...success.puts, ...failure.puts])) addPut(all, key);
  all.deletes.push(...success.deletes, ...failure.deletes);
}

function addPut(all: Footprint, key: ByteString): void {
  if (all.puts.has(key) || all.deletes.some((range) => contains(range, key))) {
    all.error ??= 'DUPLICATE_KEY';
  }
  all.puts.add(key);
}

const latin1 = (bytes: Buffer): ByteString => bytes.toString('latin1');

/** True when no branch can write, so that the transaction need not enter the log. */
export function isReadOnly(request: TxnRequest): boolean {
  return everyOperation(request, (operation) => operation.requestRange !== undefined);
}

/** True when every read of a read-only transaction asks for local state. */
export function isSerializable(request: TxnRequest): boolean {
  return everyOperation(request, (operation) => operation.requestRange?.serializable === true);
}

function everyOperation(request: TxnRequest, test: (operation: RequestOp) => boolean): boolean {
  return request.success.every(test) && request.failure.every(test);
}
