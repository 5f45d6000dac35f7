import { type FrameWriter, type JuteReader, OpCode } from '@lockstep/adapter-zookeeper';
import type { Body } from './zookeeper-connection.ts';

/** Create flags as clients send them. */
export const Flags = {
  Persistent: 0,
  Ephemeral: 1,
  EphemeralSequential: 3,
  Container: 4,
  Ttl: 5,
} as const;

const ALL = 31;

/** Bodies of the requests that clients send. */
export const bodies = {
  create: (path: string, data: string, flags: number): Body => {
    return (frames) => writeCreate(frames, path, data, flags);
  },
  createTtl: (path: string, data: string, ttlMs: number): Body => {
    return (frames) => {
      writeCreate(frames, path, data, Flags.Ttl);
      frames.long(ttlMs);
    };
  },
  setData: (path: string, data: string, version: number): Body => {
    return (frames) => void frames.string(path).buffer(Buffer.from(data)).int(version);
  },
  /** Also the body of check. */
  delete: (path: string, version: number): Body => {
    return (frames) => void frames.string(path).int(version);
  },
  read: (path: string, watch: boolean): Body => {
    return (frames) => void frames.string(path).bool(watch);
  },
  path: (path: string): Body => {
    return (frames) => void frames.string(path);
  },
  addWatch: (path: string, mode: number): Body => {
    return (frames) => void frames.string(path).int(mode);
  },
  multi: (operations: readonly (readonly [type: number, body: Body])[]): Body => {
    return (frames) => {
      for (const [type, body] of operations) {
        frames.int(type).bool(false).int(-1);
        body(frames);
      }
      frames.int(-1).bool(true).int(-1);
    };
  },
  nothing: (() => {}) as Body,
};

function writeCreate(frames: FrameWriter, path: string, data: string, flags: number): void {
  frames.string(path).buffer(Buffer.from(data));
  frames.int(1).int(ALL).string('world').string('anyone').int(flags);
}

/** The parts of a stat that clients here look at. */
export function readStat(reader: JuteReader): { readonly czxid: number; readonly mzxid: number } {
  return { czxid: reader.long(), mzxid: reader.long() };
}

/** Error of a multi: that of the operation that failed; 0 when it took effect. */
export function multiError(reader: JuteReader): number {
  for (;;) {
    const type = reader.int();
    const done = reader.bool();
    const error = reader.int();
    if (done || type !== OpCode.Error) return 0;
    if (error !== 0 && error !== -2) return error;
    reader.int();
  }
}
