import { type ByteString, EMPTY_BYTES, type Revision } from '@lockstep/model';
import type { Acl, AclEntry, Identity } from './acl.ts';
import { type FrameWriter, JuteError, type JuteReader } from './jute.ts';
import { STATE_CONNECTED, Xid } from './opcodes.ts';
import type { Stat } from './tree.ts';

/** First frame of a connection. Byte fields are views. */
export interface ConnectRequest {
  readonly lastZxidSeen: Revision;
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Uint8Array;
  /** Undefined from clients that predate the field; the answer then leaves it out too. */
  readonly readOnly: boolean | undefined;
}

export function readConnectRequest(reader: JuteReader): ConnectRequest {
  reader.int();
  const lastZxidSeen = reader.long();
  const timeoutMs = reader.int();
  const sessionId = reader.id();
  const password = reader.buffer() ?? EMPTY_BYTES;
  const readOnly = reader.remaining > 0 ? reader.bool() : undefined;
  return { lastZxidSeen, timeoutMs, sessionId, password, readOnly };
}

/** A timeout of 0 tells the client that its session has expired. */
export function writeConnectResponse(
  frames: FrameWriter,
  timeoutMs: number,
  sessionId: bigint,
  password: Uint8Array,
  readOnly: boolean | undefined,
): void {
  frames.begin().int(0).int(timeoutMs).id(sessionId).buffer(password);
  if (readOnly !== undefined) frames.bool(false);
  frames.end();
}

export function readAclVector(reader: JuteReader): AclEntry[] | null {
  const count = reader.count();
  if (count === -1) return null;
  const acl: AclEntry[] = [];
  for (let left = count; left > 0; left--) {
    const perms = reader.int();
    acl.push({ perms, scheme: reader.string() ?? '', id: reader.string() ?? '' });
  }
  return acl;
}

export function writeAclVector(frames: FrameWriter, acl: Acl): void {
  frames.int(acl.length);
  for (const { perms, scheme, id } of acl) frames.int(perms).string(scheme).string(id);
}

export function writeStat(frames: FrameWriter, stat: Stat): void {
  frames.long(stat.czxid).long(stat.mzxid).long(stat.ctime).long(stat.mtime);
  frames.int(stat.version).int(stat.cversion).int(stat.aversion).id(stat.ephemeralOwner);
  frames.int(stat.dataLength).int(stat.numChildren).long(stat.pzxid);
}

export function writeClientInfo(frames: FrameWriter, identities: readonly Identity[]): void {
  frames.int(identities.length);
  for (const { scheme, id } of identities) frames.string(scheme).string(id);
}

/** A complete notification frame; zxid -1 when the event stands for changes long past. */
export function writeWatchEvent(
  frames: FrameWriter,
  type: number,
  path: ByteString,
  zxid: Revision,
): void {
  frames.begin().int(Xid.Notification).long(zxid).int(0);
  frames.int(type).int(STATE_CONNECTED).string(path).end();
}

/** Head of each entry of a multi in both directions. */
export interface MultiHeader {
  readonly type: number;
  readonly done: boolean;
}

export function readMultiHeader(reader: JuteReader): MultiHeader {
  const type = reader.int();
  const done = reader.bool();
  reader.int();
  return { type, done };
}

export function writeMultiHeader(
  frames: FrameWriter,
  type: number,
  done: boolean,
  error: number,
): void {
  frames.int(type).bool(done).int(error);
}

/** A path that must be there. */
export function readPath(reader: JuteReader): ByteString {
  const path = reader.string();
  if (path === null) throw new JuteError('path is null');
  return path;
}
