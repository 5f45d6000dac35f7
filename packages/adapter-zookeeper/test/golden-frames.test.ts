import { describe, expect, test } from 'vitest';
import { OPEN_ACL } from '../src/acl.ts';
import { readRequest } from '../src/codec.ts';
import { FrameWriter, JuteReader } from '../src/jute.ts';
import { EventType } from '../src/opcodes.ts';
import {
  readConnectRequest,
  writeAclVector,
  writeConnectResponse,
  writeWatchEvent,
} from '../src/records.ts';

// Frames as captured between real clients and a real server; payloads without their length.
const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const reader = (hex: string) => new JuteReader(bytes(hex));
const payload = (frames: FrameWriter): string =>
  Buffer.concat(frames.take()).subarray(4).toString('hex');

const PASSWORD = '3c994b069f1c6f9dc887a1aff416a8de';
const NO_PASSWORD = '00'.repeat(16);

describe('frames of real clients', () => {
  const connect = `00000000 0000000000000000 00002710 0000000000000000 00000010 ${NO_PASSWORD}`;

  test('a connect request of 3.4 and later ends with readOnly', () => {
    expect(readConnectRequest(reader(`${connect}00`))).toEqual({
      lastZxidSeen: 0,
      timeoutMs: 10_000,
      sessionId: 0n,
      password: Buffer.alloc(16),
      readOnly: false,
    });
  });

  test('a connect request of older clients lacks readOnly', () => {
    expect(readConnectRequest(reader(connect)).readOnly).toBeUndefined();
  });

  test('a connect response echoes the presence of readOnly', () => {
    const frames = new FrameWriter();
    writeConnectResponse(frames, 10_000, 0x0100000ba3030039n, bytes(PASSWORD), false);
    const wanted = `00000000000027100100000ba303003900000010${PASSWORD}`;
    expect(payload(frames)).toBe(`${wanted}00`);
    writeConnectResponse(frames, 10_000, 0x0100000ba3030039n, bytes(PASSWORD), undefined);
    expect(payload(frames)).toBe(wanted);
  });

  test('the answer to an expired session has a timeout of zero', () => {
    const frames = new FrameWriter();
    writeConnectResponse(frames, 0, 0n, new Uint8Array(16), false);
    expect(payload(frames)).toBe(`0000000000000000000000000000000000000010${NO_PASSWORD}00`);
  });

  test('a request for exists with a watch is decoded', () => {
    const body = reader('00000007 00000003 00000005 2f6b7a2f74 01');
    expect([body.int(), body.int()]).toEqual([7, 3]);
    expect(readRequest(3, body, [])).toEqual({
      kind: 'read',
      type: 3,
      path: '/kz/t',
      watch: true,
    });
  });

  test('a data change of /kz/t is told as captured, but for the newer zxid', () => {
    const frames = new FrameWriter();
    writeWatchEvent(frames, EventType.DataChanged, '/kz/t', -1);
    expect(payload(frames)).toBe(
      'ffffffffffffffffffffffff000000000000000300000003000000052f6b7a2f74',
    );
  });

  test('the open ACL is one entry for world:anyone', () => {
    const frames = new FrameWriter();
    writeAclVector(frames.begin(), OPEN_ACL);
    frames.end();
    expect(payload(frames)).toBe('000000010000001f00000005776f726c6400000006616e796f6e65');
  });

  test('an empty multi is a terminator alone', () => {
    expect(readRequest(14, reader('ffffffff 01 ffffffff'), [])).toEqual({
      kind: 'multi',
      operations: [],
    });
  });
});
