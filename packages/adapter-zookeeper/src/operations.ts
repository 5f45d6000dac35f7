import type { BinaryReader, BinaryWriter, ByteString } from '@lockstep/model';
import { type Acl, readAcl, writeAcl } from './acl.ts';
import { ErrorCode } from './errors.ts';
import type { NodeMode, Stat } from './tree.ts';

/**
 * A change of the tree as it stands in the log. `refusal` is an error that follows from the
 * request alone and that the door found; it waits until the operation's turn, since in a multi the
 * first failure counts.
 */
export type TreeOperation =
  | CreateOperation
  | DeleteOperation
  | SetDataOperation
  | SetAclOperation
  | CheckOperation;

interface Addressed {
  readonly path: ByteString;
  readonly refusal: number;
}

export interface CreateOperation extends Addressed {
  readonly kind: 'create';
  readonly mode: NodeMode;
  readonly sequential: boolean;
  /** Whether the path, with a number behind it if sequential, may name a node. */
  readonly nameable: boolean;
  readonly data: Uint8Array | null;
  readonly acl: Acl;
  /** TTL nodes; 0 otherwise. */
  readonly ttlMs: number;
}

/** `version` -1: whatever the node's is. */
export interface DeleteOperation extends Addressed {
  readonly kind: 'delete';
  readonly version: number;
}

export interface SetDataOperation extends Addressed {
  readonly kind: 'setData';
  readonly version: number;
  readonly data: Uint8Array | null;
}

export interface SetAclOperation extends Addressed {
  readonly kind: 'setAcl';
  readonly version: number;
  readonly acl: Acl;
}

export interface CheckOperation extends Addressed {
  readonly kind: 'check';
  readonly version: number;
}

/** What an operation came to. `path` and `stat` as far as the operation has them. */
export interface OperationResult {
  readonly error: number;
  readonly path?: ByteString;
  readonly stat?: Stat;
}

const KINDS = ['create', 'delete', 'setData', 'setAcl', 'check'] as const;
const SEQUENTIAL = 1;
const NAMEABLE = 2;

export function encodeOperation(writer: BinaryWriter, operation: TreeOperation): void {
  writer.u8(KINDS.indexOf(operation.kind)).u8(-operation.refusal).byteString(operation.path);
  if (operation.kind === 'create') {
    const sequential = operation.sequential ? SEQUENTIAL : 0;
    const nameable = operation.nameable ? NAMEABLE : 0;
    writer.u8(operation.mode).u8(sequential | nameable);
    writer.varint(operation.ttlMs);
    writeAcl(writer, operation.acl);
    encodeData(writer, operation.data);
    return;
  }
  writer.u32(operation.version >>> 0);
  if (operation.kind === 'setData') encodeData(writer, operation.data);
  if (operation.kind === 'setAcl') writeAcl(writer, operation.acl);
}

/** Twin of `encodeOperation`; data is a view on the entry. */
export function decodeOperation(reader: BinaryReader): TreeOperation {
  const kind = KINDS[reader.u8()];
  const refusal = 0 - reader.u8();
  const path = reader.byteString();
  if (kind === 'create') {
    const mode = reader.u8() as NodeMode;
    const flags = reader.u8();
    const ttlMs = reader.varint();
    const acl = readAcl(reader);
    const data = decodeData(reader);
    const sequential = (flags & SEQUENTIAL) !== 0;
    const nameable = (flags & NAMEABLE) !== 0;
    return { kind, refusal, path, mode, sequential, nameable, ttlMs, acl, data };
  }
  const version = reader.u32() | 0;
  if (kind === 'setData') return { kind, refusal, path, version, data: decodeData(reader) };
  if (kind === 'setAcl') return { kind, refusal, path, version, acl: readAcl(reader) };
  return { kind: kind === 'delete' ? 'delete' : 'check', refusal, path, version };
}

function encodeData(writer: BinaryWriter, data: Uint8Array | null): void {
  if (data === null) writer.u8(0);
  else writer.u8(1).bytes(data);
}

function decodeData(reader: BinaryReader): Uint8Array | null {
  return reader.u8() === 0 ? null : reader.bytes();
}

/** The results of a multi of which operation `failed` failed first. */
export function failedResults(count: number, failed: number, error: number): OperationResult[] {
  const results: OperationResult[] = [];
  for (let at = 0; at < count; at++) {
    if (at < failed) results.push({ error: ErrorCode.Ok });
    else results.push({ error: at === failed ? error : ErrorCode.RuntimeInconsistency });
  }
  return results;
}
