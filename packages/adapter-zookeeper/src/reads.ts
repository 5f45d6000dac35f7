import type { ByteString, LeaseHandle } from '@lockstep/model';
import type { StateView } from '@lockstep/state-machine';
import { type Identity, maskDigests, permits } from './acl.ts';
import type { ReadRequest } from './codec.ts';
import { ErrorCode } from './errors.ts';
import type { FrameWriter } from './jute.ts';
import { OpCode, Permission } from './opcodes.ts';
import { writeAclVector, writeMultiHeader, writeStat } from './records.ts';
import {
  childNames,
  childrenIndex,
  findNode,
  type NodeValue,
  pathOfNodeKey,
  readData,
  statOf,
} from './tree.ts';
import type { WatchKind } from './watches.ts';

/** Who reads. */
export interface Reader {
  readonly identities: readonly Identity[];
  readonly lease: LeaseHandle;
}

/** What a read came to; `writeBody` appends the reply's body when there is no error. */
export interface ReadResult {
  readonly error: number;
  /** The watch to register if the client asked for one. */
  readonly watch?: WatchKind;
  readonly writeBody?: (frames: FrameWriter) => void;
}

/** Evaluates a read on the applied state. */
export function evaluateRead(state: StateView, request: ReadRequest, reader: Reader): ReadResult {
  const path = request.path === '' ? '/' : request.path;
  if (request.type === OpCode.GetEphemerals) return readEphemerals(state, request.path, reader);
  const node = findNode(state, path);
  const allowed = (permission: number, target: NodeValue) =>
    permits(target.acl, permission, () => reader.identities);
  if (request.type === OpCode.Exists && path.includes('\0')) {
    return { error: ErrorCode.BadArguments };
  }
  if (node === undefined) {
    const watch = request.type === OpCode.Exists ? ({ watch: 'data' } as const) : {};
    return { error: ErrorCode.NoNode, ...watch };
  }
  if (request.type === OpCode.GetAcl) return readAcl(node, allowed);
  if (!allowed(Permission.Read, node)) return { error: ErrorCode.NoAuth };
  return readNode(state, request.type, path, node);
}

function readNode(state: StateView, type: number, path: ByteString, node: NodeValue): ReadResult {
  const error = ErrorCode.Ok;
  switch (type) {
    case OpCode.Exists:
      return { error, watch: 'data', writeBody: (frames) => writeStat(frames, statOf(node)) };
    case OpCode.GetData: {
      const writeBody = (frames: FrameWriter) => {
        frames.buffer(readData(state, path));
        writeStat(frames, statOf(node));
      };
      return { error, watch: 'data', writeBody };
    }
    case OpCode.GetChildren:
    case OpCode.GetChildren2: {
      const writeBody = (frames: FrameWriter) => {
        frames.strings(childNames(state, path));
        if (type === OpCode.GetChildren2) writeStat(frames, statOf(node));
      };
      return { error, watch: 'child', writeBody };
    }
    default:
      return { error, writeBody: (frames) => frames.int(childrenIndex(state).descendants(path)) };
  }
}

function readAcl(
  node: NodeValue,
  allowed: (permission: number, target: NodeValue) => boolean,
): ReadResult {
  if (!allowed(Permission.Read | Permission.Admin, node)) return { error: ErrorCode.NoAuth };
  const acl = allowed(Permission.Admin, node) ? node.acl : maskDigests(node.acl);
  const writeBody = (frames: FrameWriter) => {
    writeAclVector(frames, acl);
    writeStat(frames, statOf(node));
  };
  return { error: ErrorCode.Ok, writeBody };
}

/** Ephemeral nodes of the caller's session, by plain prefix of their path. */
function readEphemerals(state: StateView, prefix: ByteString, { lease }: Reader): ReadResult {
  const paths: ByteString[] = [];
  for (const { key } of state.leaseKeys(lease)) {
    const path = pathOfNodeKey(key);
    if (path?.startsWith(prefix.trim()) === true) paths.push(path);
  }
  return { error: ErrorCode.Ok, writeBody: (frames) => frames.strings(paths) };
}

/** No client takes a frame of this size: the default limit of clients is one MiB. */
const MULTI_READ_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Appends the body of a multiRead reply: each entry succeeds or fails by itself. False when it
 * was left unfinished, since a small request may ask for the same large node again and again.
 */
export function writeMultiRead(
  frames: FrameWriter,
  state: StateView,
  reads: readonly ReadRequest[],
  reader: Reader,
): boolean {
  const before = frames.length;
  for (const read of reads) {
    if (frames.length - before > MULTI_READ_BYTES_MAX) return false;
    const { error, writeBody } = evaluateRead(state, read, reader);
    if (writeBody === undefined) {
      writeMultiHeader(frames, OpCode.Error, false, error);
      frames.int(error);
    } else {
      writeMultiHeader(frames, read.type, false, error);
      writeBody(frames);
    }
  }
  writeMultiHeader(frames, OpCode.Error, true, -1);
  return true;
}
