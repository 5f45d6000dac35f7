import type { Revision } from '@lockstep/model';
import { visibleIdentities } from './authentication.ts';
import type { ChangeRequest, MultiRequest, ReadRequest } from './codec.ts';
import { ErrorCode } from './errors.ts';
import type { FrameWriter } from './jute.ts';
import { AddWatchMode, OpCode } from './opcodes.ts';
import type { OperationResult, TreeOperation } from './operations.ts';
import { evaluateRead, writeMultiRead } from './reads.ts';
import { writeClientInfo, writeMultiHeader, writeStat } from './records.ts';
import type { Pending } from './request-queue.ts';
import type { Session } from './session.ts';
import { NodeMode } from './tree.ts';
import { catchUp } from './watch-restoration.ts';

/** What happens to the connection after the reply. */
export type Then = 'go-on' | 'finish' | 'close';

/** Evaluates what is evaluated here and writes the reply. */
export function writeReply(session: Session, pending: Pending): Then {
  const { xid, request } = pending;
  const { frames, door } = session;
  switch (request.kind) {
    case 'change':
      writeChange(frames, xid, pending.zxid, request, pending.result as OperationResult);
      return 'go-on';
    case 'multi':
      writeMulti(frames, xid, pending.zxid, request, pending.result as MultiResult);
      return 'go-on';
    case 'sync':
      head(frames, xid, door.zxid, ErrorCode.Ok).string(request.path).end();
      return 'go-on';
    case 'closeSession':
      head(frames, xid, pending.zxid, ErrorCode.Ok).end();
      return 'finish';
    case 'unknown':
      head(frames, xid, -1, ErrorCode.Unimplemented).end();
      return 'finish';
    case 'ping':
      if (!door.settings.replica.inContact || door.renewals.isInDoubt(session)) return 'close';
      head(frames, xid, door.zxid, ErrorCode.Ok).end();
      return 'go-on';
    case 'read':
      writeRead(session, xid, request);
      return 'go-on';
    case 'multiRead': {
      head(frames, xid, door.zxid, ErrorCode.Ok);
      const complete = writeMultiRead(frames, door.state, request.reads, session);
      frames.end();
      return complete ? 'go-on' : 'close';
    }
    case 'sasl':
      head(frames, xid, 0, ErrorCode.Ok).buffer(null).end();
      return 'go-on';
    default:
      writeConnectionReply(session, pending);
      return 'go-on';
  }
}

const head = (frames: FrameWriter, xid: number, zxid: Revision, error: number): FrameWriter =>
  frames.begin().int(xid).long(zxid).int(error);

function writeChange(
  frames: FrameWriter,
  xid: number,
  zxid: Revision,
  { type, operation }: ChangeRequest,
  { error, path, stat }: OperationResult,
): void {
  head(frames, xid, zxid, error);
  if (error === ErrorCode.Ok) {
    if (operation.kind === 'create') frames.string(path ?? '');
    if (stat !== undefined && type !== OpCode.Create) writeStat(frames, stat);
  }
  frames.end();
}

/** One result for each operation, or one error for the whole. */
type MultiResult = readonly OperationResult[] | OperationResult;

/** The header says 0 even when the multi failed; each entry tells for itself. */
function writeMulti(
  frames: FrameWriter,
  xid: number,
  zxid: Revision,
  { operations }: MultiRequest,
  result: MultiResult,
): void {
  if (!isList(result)) {
    head(frames, xid, zxid, result.error).end();
    return;
  }
  head(frames, xid, zxid, ErrorCode.Ok);
  const failed = result.some((entry) => entry.error !== ErrorCode.Ok);
  for (const [at, entry] of result.entries()) {
    if (failed) {
      writeMultiHeader(frames, OpCode.Error, false, entry.error);
      frames.int(entry.error);
    } else writeMultiEntry(frames, operations[at]!, entry);
  }
  writeMultiHeader(frames, OpCode.Error, true, -1);
  frames.end();
}

const isList = (result: MultiResult): result is readonly OperationResult[] => Array.isArray(result);

/**
 * Containers and TTL nodes report as create2 does, with their stat; create2 itself reports as
 * create does, without. So does ZooKeeper, and clients go by the type they find.
 */
function writeMultiEntry(
  frames: FrameWriter,
  operation: TreeOperation,
  { path, stat }: OperationResult,
): void {
  if (operation.kind === 'create') {
    const { mode } = operation;
    const withStat = mode === NodeMode.Container || mode === NodeMode.Ttl;
    writeMultiHeader(frames, withStat ? OpCode.Create2 : OpCode.Create, false, ErrorCode.Ok);
    frames.string(path ?? '');
    if (withStat && stat !== undefined) writeStat(frames, stat);
    return;
  }
  writeMultiHeader(frames, TYPES[operation.kind], false, ErrorCode.Ok);
  if (stat !== undefined) writeStat(frames, stat);
}

const TYPES = {
  delete: OpCode.Delete,
  setData: OpCode.SetData,
  setAcl: OpCode.SetAcl,
  check: OpCode.Check,
} as const;

function writeRead(session: Session, xid: number, request: ReadRequest): void {
  const { frames, door } = session;
  const { error, watch, writeBody } = evaluateRead(door.state, request, session);
  head(frames, xid, door.zxid, error);
  writeBody?.(frames);
  frames.end();
  if (request.watch && watch !== undefined) door.watches.add(watch, request.path, session);
}

/** Replies about the connection and its watches. */
function writeConnectionReply(session: Session, { xid, request }: Pending): void {
  const { frames, door } = session;
  const { watches } = door;
  const reply = (error: number) => head(frames, xid, door.zxid, error);
  switch (request.kind) {
    case 'refused':
      reply(request.error).end();
      return;
    case 'whoAmI':
      writeClientInfo(reply(ErrorCode.Ok), visibleIdentities(session.identities));
      frames.end();
      return;
    case 'setWatches':
      catchUp(session, request);
      reply(ErrorCode.Ok).end();
      return;
    case 'addWatch': {
      const persistent = request.mode === AddWatchMode.Persistent;
      if (!persistent && request.mode !== AddWatchMode.PersistentRecursive) {
        reply(ErrorCode.Marshalling).end();
        return;
      }
      watches.add(persistent ? 'persistent' : 'recursive', request.path, session);
      reply(ErrorCode.Ok).int(0).end();
      return;
    }
    case 'checkWatches':
    case 'removeWatches': {
      const found = watches.has(request.type, request.path, session);
      if (request.kind === 'removeWatches') watches.remove(request.type, request.path, session);
      const missing = found === undefined ? ErrorCode.Marshalling : ErrorCode.NoWatcher;
      reply(found === true ? ErrorCode.Ok : missing).end();
      return;
    }
    default:
      return;
  }
}
