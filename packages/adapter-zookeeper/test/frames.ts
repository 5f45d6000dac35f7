import { FrameWriter, JuteReader } from '../src/jute.ts';
import { OpCode, Xid } from '../src/opcodes.ts';
import type { Stat } from '../src/tree.ts';

/** Client side of the protocol for tests: makes request frames, reads what the server sends. */

export const OPEN = [{ perms: 31, scheme: 'world', id: 'anyone' }];

export interface AclRow {
  readonly perms: number;
  readonly scheme: string;
  readonly id: string;
}

/** A message of the server. */
export type Message =
  | {
      readonly kind: 'reply';
      readonly xid: number;
      readonly zxid: number;
      readonly error: number;
      readonly body: JuteReader;
    }
  | { readonly kind: 'event'; readonly type: number; readonly path: string; readonly zxid: number };

export interface ConnectOptions {
  readonly timeoutMs?: number;
  readonly sessionId?: bigint;
  readonly password?: Uint8Array;
  readonly lastZxidSeen?: number;
  readonly readOnly?: boolean | undefined;
}

export interface ConnectAnswer {
  readonly timeoutMs: number;
  readonly sessionId: bigint;
  readonly password: Buffer;
}

const bytesOf = (frames: FrameWriter): Buffer => Buffer.concat(frames.take());

export function connectFrame(options: ConnectOptions = {}): Buffer {
  const frames = new FrameWriter();
  frames
    .begin()
    .int(0)
    .long(options.lastZxidSeen ?? 0);
  frames.int(options.timeoutMs ?? 10_000).id(options.sessionId ?? 0n);
  frames.buffer(options.password ?? new Uint8Array(16));
  if (!('readOnly' in options) || options.readOnly !== undefined) {
    frames.bool(options.readOnly ?? false);
  }
  frames.end();
  return bytesOf(frames);
}

export function readConnectAnswer(payload: Buffer): ConnectAnswer {
  const reader = new JuteReader(payload);
  reader.int();
  const timeoutMs = reader.int();
  const sessionId = reader.id();
  return { timeoutMs, sessionId, password: Buffer.from(reader.buffer() ?? []) };
}

export function requestFrame(
  xid: number,
  type: number,
  body: (frames: FrameWriter) => void = () => {},
): Buffer {
  const frames = new FrameWriter();
  frames.begin().int(xid).int(type);
  body(frames);
  frames.end();
  return bytesOf(frames);
}

export function readMessage(payload: Buffer): Message {
  const reader = new JuteReader(payload);
  const xid = reader.int();
  const zxid = reader.long();
  const error = reader.int();
  if (xid !== Xid.Notification) return { kind: 'reply', xid, zxid, error, body: reader };
  const type = reader.int();
  reader.int();
  return { kind: 'event', type, path: reader.string() ?? '', zxid };
}

export function readStat(reader: JuteReader): Stat {
  return {
    czxid: reader.long(),
    mzxid: reader.long(),
    ctime: reader.long(),
    mtime: reader.long(),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    ephemeralOwner: reader.id(),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: reader.long(),
  };
}

export type Body = (frames: FrameWriter) => void;
export type MultiOperation = readonly [type: number, body: Body];

const text = (value: string | null): Uint8Array | null =>
  value === null ? null : Buffer.from(value);

const acl = (frames: FrameWriter, rows: readonly AclRow[] | null): void => {
  frames.int(rows === null ? -1 : rows.length);
  for (const { perms, scheme, id } of rows ?? []) frames.int(perms).string(scheme).string(id);
};

/** Request bodies by operation. */
export const body = {
  create:
    (
      path: string,
      data: string | null = '',
      flags = 0,
      rows: readonly AclRow[] | null = OPEN,
    ): Body =>
    (frames) => {
      frames.string(path).buffer(text(data));
      acl(frames, rows);
      frames.int(flags);
    },
  createTtl:
    (path: string, ttlMs: number, flags = 5): Body =>
    (frames) => {
      body.create(path, '', flags)(frames);
      frames.long(ttlMs);
    },
  version:
    (path: string, version = -1): Body =>
    (frames) => {
      frames.string(path).int(version);
    },
  setData:
    (path: string, data: string | null, version = -1): Body =>
    (frames) => {
      frames.string(path).buffer(text(data)).int(version);
    },
  setAcl:
    (path: string, rows: readonly AclRow[] | null, version = -1): Body =>
    (frames) => {
      frames.string(path);
      acl(frames, rows);
      frames.int(version);
    },
  path:
    (path: string): Body =>
    (frames) => {
      frames.string(path);
    },
  read:
    (path: string, watch = false): Body =>
    (frames) => {
      frames.string(path).bool(watch);
    },
  auth:
    (scheme: string, credentials: string): Body =>
    (frames) => {
      frames.int(0).string(scheme).buffer(Buffer.from(credentials));
    },
  multi:
    (...operations: readonly MultiOperation[]): Body =>
    (frames) => {
      for (const [type, write] of operations) {
        frames.int(type).bool(false).int(-1);
        write(frames);
      }
      frames.int(-1).bool(true).int(-1);
    },
  setWatches:
    (since: number, ...lists: readonly (readonly string[])[]): Body =>
    (frames) => {
      frames.long(since);
      for (const list of lists) frames.strings(list);
    },
};

/** Results of a multi: the error of each entry and what it returned. */
export function readMulti(reader: JuteReader): {
  readonly type: number;
  readonly error: number;
  readonly path?: string;
  readonly stat?: Stat;
  readonly data?: string;
  readonly children?: string[];
}[] {
  const results = [];
  for (;;) {
    const type = reader.int();
    const done = reader.bool();
    const error = reader.int();
    if (done) return results;
    if (type === OpCode.Error) results.push({ type, error: reader.int() });
    else if (type === OpCode.Create) results.push({ type, error, path: reader.string() ?? '' });
    else if (type === OpCode.Create2) {
      results.push({ type, error, path: reader.string() ?? '', stat: readStat(reader) });
    } else if (type === OpCode.SetData) results.push({ type, error, stat: readStat(reader) });
    else if (type === OpCode.GetData) {
      const data = Buffer.from(reader.buffer() ?? []).toString();
      results.push({ type, error, data, stat: readStat(reader) });
    } else if (type === OpCode.GetChildren) {
      results.push({ type, error, children: reader.strings() });
    } else results.push({ type, error });
  }
}
