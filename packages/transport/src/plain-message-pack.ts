import { BinaryFormatError } from '@lockstep/model';
import { Packr } from 'msgpackr';

/**
 * MessagePack for the rare control messages: arrays of numbers, booleans, strings and bytes, the
 * first element being a version. No records, maps or extensions.
 */
const packr = new Packr({ useRecords: false, int64AsType: 'number' });

export type Plain = number | boolean | string | Uint8Array | readonly Plain[];

/** The caller owns the result. */
export function packPlain(value: readonly Plain[]): Uint8Array {
  return packr.pack(value);
}

/**
 * Twin of the above; bytes are views on the input. Throws BinaryFormatError on anything that
 * `packPlain` does not write: the decoder behind would allocate what a length field claims.
 */
export function unpackPlain(bytes: Uint8Array): readonly Plain[] {
  const end = skipValue(bytes, 0, 0);
  if (end !== bytes.length) throw new BinaryFormatError(`${bytes.length - end} bytes left over`);
  const value: unknown = packr.unpack(bytes);
  if (!Array.isArray(value)) throw new BinaryFormatError('control message is no array');
  return value as Plain[];
}

const DEPTH_MAX = 4;

/** Offset behind the value at `at`. */
function skipValue(bytes: Uint8Array, at: number, depth: number): number {
  const tag = byteAt(bytes, at);
  if (tag <= 0x7f || tag >= 0xe0 || tag === 0xc2 || tag === 0xc3) return at + 1;
  if (tag >= 0xa0 && tag <= 0xbf) return skipBytes(bytes, at + 1, tag & 31);
  if (tag >= 0x90 && tag <= 0x9f) return skipArray(bytes, at + 1, tag & 15, depth);
  switch (tag) {
    case 0xcc:
    case 0xd0:
      return skipBytes(bytes, at + 1, 1);
    case 0xcd:
    case 0xd1:
      return skipBytes(bytes, at + 1, 2);
    case 0xca:
    case 0xce:
    case 0xd2:
      return skipBytes(bytes, at + 1, 4);
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return skipBytes(bytes, at + 1, 8);
    case 0xc4:
    case 0xd9:
      return skipBytes(bytes, at + 2, byteAt(bytes, at + 1));
    case 0xc5:
    case 0xda:
      return skipBytes(bytes, at + 3, lengthAt(bytes, at + 1, 2));
    case 0xc6:
    case 0xdb:
      return skipBytes(bytes, at + 5, lengthAt(bytes, at + 1, 4));
    case 0xdc:
      return skipArray(bytes, at + 3, lengthAt(bytes, at + 1, 2), depth);
    default:
      throw new BinaryFormatError(`tag ${tag} at ${at} is not used in control messages`);
  }
}

function skipArray(bytes: Uint8Array, start: number, count: number, depth: number): number {
  if (depth >= DEPTH_MAX) throw new BinaryFormatError(`arrays nest too deep at ${start}`);
  let at = start;
  for (let i = 0; i < count; i++) at = skipValue(bytes, at, depth + 1);
  return at;
}

function skipBytes(bytes: Uint8Array, at: number, count: number): number {
  if (at + count > bytes.length) throw new BinaryFormatError(`needs ${count} bytes at ${at}`);
  return at + count;
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new BinaryFormatError(`control message ends at ${at}`);
  return byte;
}

function lengthAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + byteAt(bytes, at + i);
  return value;
}
