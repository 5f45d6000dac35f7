import { type ByteString, EMPTY_BYTES, type Revision } from '@lockstep/model';
import { type AclEntry, type Identity, OPEN_ACL, resolveAcl } from './acl.ts';
import { ErrorCode } from './errors.ts';
import { JuteError, type JuteReader } from './jute.ts';
import { OpCode } from './opcodes.ts';
import type { CreateOperation, TreeOperation } from './operations.ts';
import { isValidPath } from './paths.ts';
import { readAclVector, readMultiHeader, readPath } from './records.ts';
import { isSystemPath, NodeMode } from './tree.ts';

/** A change with the type that says which shape its reply has. */
export interface ChangeRequest {
  readonly kind: 'change';
  readonly type: number;
  readonly operation: Exclude<TreeOperation, { kind: 'check' }>;
}

export interface MultiRequest {
  readonly kind: 'multi';
  readonly operations: readonly TreeOperation[];
}

/** Reads of one path. `watch` where the operation has it. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly type: number;
  readonly path: ByteString;
  readonly watch: boolean;
}

export interface SetWatchesRequest {
  readonly kind: 'setWatches';
  readonly since: Revision;
  readonly data: readonly ByteString[];
  readonly exist: readonly ByteString[];
  readonly child: readonly ByteString[];
  readonly persistent: readonly ByteString[];
  readonly recursive: readonly ByteString[];
}

export interface CloseRequest {
  readonly kind: 'closeSession';
}

export type Request =
  | ChangeRequest
  | MultiRequest
  | ReadRequest
  | SetWatchesRequest
  | { readonly kind: 'multiRead'; readonly reads: readonly ReadRequest[] }
  | { readonly kind: 'sync'; readonly path: ByteString | null }
  | { readonly kind: 'auth'; readonly scheme: ByteString; readonly credentials: Uint8Array }
  | { readonly kind: 'addWatch'; readonly path: ByteString; readonly mode: number }
  | {
      readonly kind: 'checkWatches' | 'removeWatches';
      readonly path: ByteString;
      readonly type: number;
    }
  | CloseRequest
  | { readonly kind: 'ping' | 'whoAmI' | 'sasl' }
  /** Answered with an error at its place in the order. */
  | { readonly kind: 'refused'; readonly error: number }
  /** Not an operation at all: -6 with zxid -1, then the connection is closed. */
  | { readonly kind: 'unknown' };

/**
 * Decodes the body of a request, the head already read. Identities stand in for the scheme `auth`
 * of new ACLs. Data is a view on the frame. Throws JuteError: the answer is -5.
 */
export function readRequest(
  type: number,
  reader: JuteReader,
  identities: readonly Identity[],
): Request {
  switch (type) {
    case OpCode.Ping:
      return { kind: 'ping' };
    case OpCode.Exists:
    case OpCode.GetData:
    case OpCode.GetChildren:
    case OpCode.GetChildren2:
      return { kind: 'read', type, path: readPath(reader), watch: reader.bool() };
    case OpCode.GetAcl:
    case OpCode.GetAllChildrenNumber:
      return { kind: 'read', type, path: readPath(reader), watch: false };
    case OpCode.GetEphemerals:
      return { kind: 'read', type, path: reader.string() ?? '', watch: false };
    case OpCode.Sync:
      return { kind: 'sync', path: reader.string() };
    case OpCode.Multi:
      return readMulti(reader, identities);
    case OpCode.MultiRead:
      return readMultiRead(reader);
    case OpCode.Reconfig:
      return { kind: 'refused', error: ErrorCode.ReconfigDisabled };
    case OpCode.CloseSession:
      return { kind: 'closeSession' };
    case OpCode.Check:
      return { kind: 'unknown' };
    default:
      return readConnectionRequest(type, reader) ?? readChange(type, reader, identities);
  }
}

/** Requests about the connection and its watches. */
function readConnectionRequest(type: number, reader: JuteReader): Request | undefined {
  switch (type) {
    case OpCode.Auth: {
      reader.int();
      const scheme = reader.string() ?? '';
      return { kind: 'auth', scheme, credentials: reader.buffer() ?? EMPTY_BYTES };
    }
    case OpCode.SetWatches:
    case OpCode.SetWatches2: {
      const head = {
        kind: 'setWatches' as const,
        since: reader.long(),
        data: reader.strings(),
        exist: reader.strings(),
        child: reader.strings(),
      };
      if (type === OpCode.SetWatches) return { ...head, persistent: [], recursive: [] };
      return { ...head, persistent: reader.strings(), recursive: reader.strings() };
    }
    case OpCode.CheckWatches:
      return { kind: 'checkWatches', path: readPath(reader), type: reader.int() };
    case OpCode.RemoveWatches:
      return { kind: 'removeWatches', path: readPath(reader), type: reader.int() };
    case OpCode.AddWatch:
      return { kind: 'addWatch', path: readPath(reader), mode: reader.int() };
    case OpCode.WhoAmI:
      return { kind: 'whoAmI' };
    case OpCode.Sasl:
      return { kind: 'sasl' };
    default:
      return undefined;
  }
}

function readChange(
  type: number,
  reader: JuteReader,
  identities: readonly Identity[],
): ChangeRequest | { kind: 'unknown' | 'refused'; error: number } {
  const operation = readOperation(type, reader, identities, false);
  if (operation === undefined || operation.kind === 'check') return { kind: 'unknown', error: 0 };
  if (operation.refusal !== ErrorCode.Ok) return { kind: 'refused', error: operation.refusal };
  return { kind: 'change', type, operation };
}

/** An operation on the tree; undefined when the type names none. */
function readOperation(
  type: number,
  reader: JuteReader,
  identities: readonly Identity[],
  inMulti: boolean,
): TreeOperation | undefined {
  switch (type) {
    case OpCode.Create:
    case OpCode.Create2:
    case OpCode.CreateContainer:
    case OpCode.CreateTtl:
      return readCreate(type, reader, identities, inMulti);
    case OpCode.Delete: {
      const path = readPath(reader);
      const version = reader.int();
      const bad = !path.includes('/') || path.includes('\0') || isSystemPath(path);
      return { kind: 'delete', path, version, refusal: bad ? ErrorCode.BadArguments : 0 };
    }
    case OpCode.SetData: {
      const path = readPath(reader);
      const data = reader.buffer();
      return { kind: 'setData', path, data, version: reader.int(), refusal: refusalOf(path) };
    }
    case OpCode.SetAcl: {
      const path = readPath(reader);
      const acl = resolveAcl(readAclVector(reader), identities);
      const refusal = acl === undefined ? ErrorCode.InvalidAcl : refusalOf(path);
      return { kind: 'setAcl', path, acl: acl ?? OPEN_ACL, version: reader.int(), refusal };
    }
    case OpCode.Check: {
      const path = readPath(reader);
      return { kind: 'check', path, version: reader.int(), refusal: refusalOf(path) };
    }
    default:
      return undefined;
  }
}

const refusalOf = (path: ByteString): number => (isValidPath(path) ? 0 : ErrorCode.BadArguments);

/** Create flags as clients send them. */
const FLAG_CONTAINER = 4;
const FLAG_TTL = 5;
const FLAG_SEQUENTIAL_TTL = 6;
const TTL_MS_MAX = 2 ** 40 - 1;

function readCreate(
  type: number,
  reader: JuteReader,
  identities: readonly Identity[],
  inMulti: boolean,
): CreateOperation {
  const path = readPath(reader);
  const data = reader.buffer();
  const entries = readAclVector(reader);
  const flags = reader.int();
  const ttlMs = type === OpCode.CreateTtl ? reader.long() : 0;
  const refusedTtl = ttlMs < 1 || ttlMs > TTL_MS_MAX;
  const known = flags >= 0 && flags <= FLAG_SEQUENTIAL_TTL;
  if (!known && inMulti) throw new JuteError(`create flags ${flags}`);
  const sequential = flags === 2 || flags === 3 || flags === FLAG_SEQUENTIAL_TTL;
  const acl = resolveAcl(entries, identities);
  return {
    kind: 'create',
    path,
    data,
    mode: inMulti ? modeInMulti(type, flags) : modeOf(type, flags),
    sequential,
    nameable: isValidPath(sequential ? `${path}0` : path),
    acl: acl ?? OPEN_ACL,
    ttlMs: refusedTtl ? 0 : ttlMs,
    refusal: known ? createRefusal(type, path, flags, refusedTtl, acl) : ErrorCode.BadArguments,
  };
}

/** The operation, not the flag, makes containers and TTL nodes. */
function modeOf(type: number, flags: number): NodeMode {
  if (type === OpCode.CreateContainer) return NodeMode.Container;
  if (type === OpCode.CreateTtl) return NodeMode.Ttl;
  return flags === 1 || flags === 3 ? NodeMode.Ephemeral : NodeMode.Persistent;
}

/** Inside a multi a container is made by the flag, as ZooKeeper has it. */
function modeInMulti(type: number, flags: number): NodeMode {
  if (type === OpCode.CreateTtl) return NodeMode.Ttl;
  return flags === FLAG_CONTAINER ? NodeMode.Container : modeOf(OpCode.Create, flags);
}

function createRefusal(
  type: number,
  path: ByteString,
  flags: number,
  refusedTtl: boolean,
  acl: readonly AclEntry[] | undefined,
): number {
  const ttlFlag = flags === FLAG_TTL || flags === FLAG_SEQUENTIAL_TTL;
  if (ttlFlag !== (type === OpCode.CreateTtl)) return ErrorCode.BadArguments;
  if (ttlFlag && refusedTtl) return ErrorCode.BadArguments;
  if (!path.includes('/') || path.includes('\0')) return ErrorCode.BadArguments;
  return acl === undefined ? ErrorCode.InvalidAcl : ErrorCode.Ok;
}

function readMulti(reader: JuteReader, identities: readonly Identity[]): MultiRequest {
  const operations: TreeOperation[] = [];
  for (let head = readMultiHeader(reader); !head.done; head = readMultiHeader(reader)) {
    const allowed = head.type !== OpCode.SetAcl;
    const operation = allowed ? readOperation(head.type, reader, identities, true) : undefined;
    if (operation === undefined) throw new JuteError(`type ${head.type} inside a multi`);
    operations.push(operation);
  }
  return { kind: 'multi', operations };
}

function readMultiRead(reader: JuteReader): Request {
  const reads: ReadRequest[] = [];
  for (let head = readMultiHeader(reader); !head.done; head = readMultiHeader(reader)) {
    const { type } = head;
    const allowed = type === OpCode.GetData || type === OpCode.GetChildren;
    if (!allowed) throw new JuteError(`type ${type} inside a multiRead`);
    const path = readPath(reader);
    reader.bool();
    // No watch is set from inside a multiRead, whatever the flag says.
    reads.push({ kind: 'read', type, path, watch: false });
  }
  return { kind: 'multiRead', reads };
}
