import type { ByteString } from '@lockstep/model';
import type { EtcdErrorName } from './errors.ts';
import type {
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from './gen/rpc.ts';
import { isEmptyRange, type KeyRange, keyRange } from './key-range.ts';
import { IntervalTree } from './watch/interval-tree.ts';

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
  const error = checkShape(request, operationsMax);
  if (error !== undefined) return error;
  // Nested levels multiply: etcd bounds each level only, this bounds what looking at all costs.
  const effort: Effort = { left: FOOTPRINT_EFFORT_MAX };
  return footprint(request.success, effort).error ?? footprint(request.failure, effort).error;
}

/** Keys and ranges that may be gone through, again at each level, to find a key put twice. */
const FOOTPRINT_EFFORT_MAX = 50_000;

interface Effort {
  left: number;
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

/** The keys a branch may write, nested transactions included; incomplete after an error. */
class Footprint {
  readonly puts = new Set<ByteString>();
  readonly deletes = new IntervalTree<KeyRange>();
  error: EtcdErrorName | undefined;
  readonly #effort: Effort;

  constructor(effort: Effort) {
    this.#effort = effort;
  }

  addDelete(range: KeyRange): void {
    if (!this.#mayGoOn() || isEmptyRange(range)) return;
    this.deletes.insert(range.from, range.to, range);
  }

  addPut(key: ByteString): void {
    if (!this.#mayGoOn()) return;
    if (this.puts.has(key) || this.deletes.covers(key)) this.error = 'DUPLICATE_KEY';
    this.puts.add(key);
  }

  /** The two branches exclude each other, so they may put the same key. */
  addNested({ success, failure }: TxnRequest): void {
    const first = footprint(success, this.#effort);
    const second = footprint(failure, this.#effort);
    this.error ??= first.error ?? second.error;
    for (const key of first.puts) this.addPut(key);
    for (const key of second.puts) if (!first.puts.has(key)) this.addPut(key);
    for (const { deletes } of [first, second]) {
      deletes.forEach((range) => void this.addDelete(range));
    }
  }

  #mayGoOn(): boolean {
    this.#effort.left -= 1;
    if (this.#effort.left < 0) this.error ??= 'TOO_MANY_OPERATIONS';
    return this.error === undefined;
  }
}

/** One branch must not put a key twice, nor put a key that it deletes, at whatever level. */
function footprint(operations: readonly RequestOp[], effort: Effort): Footprint {
  const all = new Footprint(effort);
  for (const { requestDeleteRange: request } of operations) {
    if (request === undefined) continue;
    all.addDelete(literalRange(latin1(request.key), latin1(request.rangeEnd)));
  }
  for (const { requestTxn: request } of operations) {
    if (request !== undefined && all.error === undefined) all.addNested(request);
  }
  for (const { requestPut: request } of operations) {
    if (request !== undefined) all.addPut(latin1(request.key));
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

const latin1 = (bytes: Buffer): ByteString => bytes.toString('latin1');

/** True when no branch can write, so that the transaction need not enter the log. */
export function isReadOnly(request: TxnRequest): boolean {
  return everyRange(request, () => true);
}

/** True when every read of a read-only transaction asks for local state. */
export function isSerializable(request: TxnRequest): boolean {
  return everyRange(request, (range) => range.serializable);
}

/** True when all operations, nested ones too, are reads that pass. */
function everyRange(request: TxnRequest, test: (range: RangeRequest) => boolean): boolean {
  const passes = ({ requestRange, requestTxn }: RequestOp): boolean => {
    if (requestTxn !== undefined) return everyRange(requestTxn, test);
    return requestRange !== undefined && test(requestRange);
  };
  return request.success.every(passes) && request.failure.every(passes);
}
