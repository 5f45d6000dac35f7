import type { BinaryReader, BinaryWriter, ByteString } from '@lockstep/model';
import type {
  Compare,
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from './gen/rpc.ts';

/**
 * What requests ask for, as it stands in a command: keys as byte strings, only what changes the
 * outcome. `write…` encodes a validated request, `read…` is its twin; values are views.
 */

export const SortOrder = { None: 0, Ascend: 1, Descend: 2 } as const;
export const SortTarget = { Key: 0, Version: 1, Create: 2, Mod: 3, Value: 4 } as const;
export const CompareTarget = { Version: 0, Create: 1, Mod: 2, Value: 3, Lease: 4 } as const;
export const CompareResult = { Equal: 0, Greater: 1, Less: 2, NotEqual: 3 } as const;

export interface RangeOperation {
  readonly kind: 'range';
  readonly key: ByteString;
  readonly rangeEnd: ByteString;
  readonly limit: number;
  readonly revision: number;
  readonly minModRevision: number;
  readonly maxModRevision: number;
  readonly minCreateRevision: number;
  readonly maxCreateRevision: number;
  readonly sortOrder: number;
  readonly sortTarget: number;
  readonly keysOnly: boolean;
  readonly countOnly: boolean;
}

export interface PutOperation {
  readonly kind: 'put';
  readonly key: ByteString;
  readonly value: Uint8Array;
  readonly leaseId: bigint;
  readonly previous: boolean;
  readonly ignoreValue: boolean;
  readonly ignoreLease: boolean;
}

export interface DeleteOperation {
  readonly kind: 'delete';
  readonly key: ByteString;
  readonly rangeEnd: ByteString;
  readonly previous: boolean;
}

export interface Comparison {
  readonly target: number;
  readonly result: number;
  readonly key: ByteString;
  readonly rangeEnd: ByteString;
  /** What the target is compared with: number, lease id or bytes, as the target wants it. */
  readonly operand: number | bigint | Uint8Array;
}

export interface TxnOperation {
  readonly kind: 'txn';
  readonly comparisons: readonly Comparison[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
}

export type Operation = RangeOperation | PutOperation | DeleteOperation | TxnOperation;

// ---- range ----

const byteString = (bytes: Buffer): ByteString => bytes.toString('latin1');

/** A Range request as an operation, for reads that do not enter the log. */
export function rangeOperation(request: RangeRequest): RangeOperation {
  return {
    kind: 'range',
    key: byteString(request.key),
    rangeEnd: byteString(request.rangeEnd),
    limit: Math.max(0, request.limit),
    revision: request.revision,
    minModRevision: request.minModRevision,
    maxModRevision: request.maxModRevision,
    minCreateRevision: request.minCreateRevision,
    maxCreateRevision: request.maxCreateRevision,
    sortOrder: request.sortOrder,
    sortTarget: request.sortTarget,
    keysOnly: request.keysOnly,
    countOnly: request.countOnly,
  };
}

const KEYS_ONLY = 1;
const COUNT_ONLY = 2;

function writeRange(writer: BinaryWriter, request: RangeRequest): void {
  writer.bytes(request.key).bytes(request.rangeEnd);
  writer.u8((request.keysOnly ? KEYS_ONLY : 0) | (request.countOnly ? COUNT_ONLY : 0));
  writer.u8(request.sortOrder).u8(request.sortTarget);
  writeNumbers(writer, [
    Math.max(0, request.limit),
    request.revision,
    request.minModRevision,
    request.maxModRevision,
    request.minCreateRevision,
    request.maxCreateRevision,
  ]);
}

function readRange(reader: BinaryReader): RangeOperation {
  const key = reader.byteString();
  const rangeEnd = reader.byteString();
  const flags = reader.u8();
  const sortOrder = reader.u8();
  const sortTarget = reader.u8();
  const numbers = readNumbers(reader, 6);
  return {
    kind: 'range',
    key,
    rangeEnd,
    limit: numbers[0]!,
    revision: numbers[1]!,
    minModRevision: numbers[2]!,
    maxModRevision: numbers[3]!,
    minCreateRevision: numbers[4]!,
    maxCreateRevision: numbers[5]!,
    sortOrder,
    sortTarget,
    keysOnly: (flags & KEYS_ONLY) !== 0,
    countOnly: (flags & COUNT_ONLY) !== 0,
  };
}

/** Mostly zeros: a mask of those that are not, then those, signed. */
function writeNumbers(writer: BinaryWriter, numbers: readonly number[]): void {
  let mask = 0;
  numbers.forEach((value, at) => {
    if (value !== 0) mask |= 1 << at;
  });
  writer.u8(mask);
  for (const value of numbers) if (value !== 0) writer.f64(value);
}

function readNumbers(reader: BinaryReader, count: number): number[] {
  const mask = reader.u8();
  const numbers: number[] = [];
  for (let at = 0; at < count; at++) numbers.push((mask & (1 << at)) === 0 ? 0 : reader.f64());
  return numbers;
}

// ---- put ----

const PREVIOUS = 1;
const IGNORE_VALUE = 2;
const IGNORE_LEASE = 4;
const WITH_LEASE = 8;

/** Encodes a validated Put; the value is copied once, into the command. */
export function writePut(writer: BinaryWriter, request: PutRequest): void {
  const withLease = request.lease !== 0n;
  writer.u8(
    (request.prevKv ? PREVIOUS : 0) |
      (request.ignoreValue ? IGNORE_VALUE : 0) |
      (request.ignoreLease ? IGNORE_LEASE : 0) |
      (withLease ? WITH_LEASE : 0),
  );
  if (withLease) writer.i64(request.lease);
  writer.bytes(request.key).bytes(request.value);
}

export function readPut(reader: BinaryReader): PutOperation {
  const flags = reader.u8();
  const leaseId = (flags & WITH_LEASE) === 0 ? 0n : reader.i64();
  return {
    kind: 'put',
    leaseId,
    key: reader.byteString(),
    value: reader.bytes(),
    previous: (flags & PREVIOUS) !== 0,
    ignoreValue: (flags & IGNORE_VALUE) !== 0,
    ignoreLease: (flags & IGNORE_LEASE) !== 0,
  };
}

// ---- delete range ----

export function writeDelete(writer: BinaryWriter, request: DeleteRangeRequest): void {
  writer
    .u8(request.prevKv ? PREVIOUS : 0)
    .bytes(request.key)
    .bytes(request.rangeEnd);
}

export function readDelete(reader: BinaryReader): DeleteOperation {
  const flags = reader.u8();
  return {
    kind: 'delete',
    key: reader.byteString(),
    rangeEnd: reader.byteString(),
    previous: (flags & PREVIOUS) !== 0,
  };
}

// ---- transaction ----

const TAG = { range: 1, put: 2, delete: 3, txn: 4 } as const;

export function writeTxn(writer: BinaryWriter, request: TxnRequest): void {
  writer.varint(request.compare.length);
  for (const compare of request.compare) writeComparison(writer, compare);
  writeOperations(writer, request.success);
  writeOperations(writer, request.failure);
}

export function readTxn(reader: BinaryReader): TxnOperation {
  const comparisons: Comparison[] = [];
  for (let left = reader.varint(); left > 0; left--) comparisons.push(readComparison(reader));
  return {
    kind: 'txn',
    comparisons,
    success: readOperations(reader),
    failure: readOperations(reader),
  };
}

function writeOperations(writer: BinaryWriter, operations: readonly RequestOp[]): void {
  writer.varint(operations.length);
  for (const operation of operations) {
    if (operation.requestRange !== undefined) {
      writeRange(writer.u8(TAG.range), operation.requestRange);
    } else if (operation.requestPut !== undefined) {
      writePut(writer.u8(TAG.put), operation.requestPut);
    } else if (operation.requestDeleteRange !== undefined) {
      writeDelete(writer.u8(TAG.delete), operation.requestDeleteRange);
    } else if (operation.requestTxn !== undefined) {
      writeTxn(writer.u8(TAG.txn), operation.requestTxn);
    }
  }
}

function readOperations(reader: BinaryReader): Operation[] {
  const operations: Operation[] = [];
  for (let left = reader.varint(); left > 0; left--) operations.push(readOperation(reader));
  return operations;
}

function readOperation(reader: BinaryReader): Operation {
  switch (reader.u8()) {
    case TAG.range:
      return readRange(reader);
    case TAG.put:
      return readPut(reader);
    case TAG.delete:
      return readDelete(reader);
    default:
      return readTxn(reader);
  }
}

const UNKNOWN = 255;

/** A union member that does not fit the target counts as zero, as in etcd. */
function writeComparison(writer: BinaryWriter, compare: Compare): void {
  const target = compare.target in TARGET_NAMES ? compare.target : UNKNOWN;
  const result = compare.result >= 0 && compare.result <= 3 ? compare.result : UNKNOWN;
  writer.u8(target).u8(result).bytes(compare.key).bytes(compare.rangeEnd);
  if (target === CompareTarget.Value) writer.bytes(compare.value ?? new Uint8Array(0));
  else if (target === CompareTarget.Lease) writer.i64(compare.lease ?? 0n);
  else if (target === CompareTarget.Version) writer.f64(compare.version ?? 0);
  else if (target === CompareTarget.Create) writer.f64(compare.createRevision ?? 0);
  else if (target === CompareTarget.Mod) writer.f64(compare.modRevision ?? 0);
}

const TARGET_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(CompareTarget).map(([name, value]) => [value, name]),
);

function readComparison(reader: BinaryReader): Comparison {
  const target = reader.u8();
  const result = reader.u8();
  const key = reader.byteString();
  const rangeEnd = reader.byteString();
  let operand: Comparison['operand'] = 0;
  if (target === CompareTarget.Value) operand = reader.bytes();
  else if (target === CompareTarget.Lease) operand = reader.i64();
  else if (target !== UNKNOWN) operand = reader.f64();
  return { target, result, key, rangeEnd, operand };
}
