import { floatToBytes, integerToBytes } from './byte-numbers.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import type { ByteString, LuaValue } from './value.ts';

// lua-cmsgpack writes tables nested deeper than this as nil.
const NESTING_MAX = 16;

/** MessagePack bytes of a value as lua-cmsgpack writes it; what it cannot write becomes nil. */
export function encodeMessagePack(state: LuaState, value: LuaValue, level: number): ByteString {
  state.charge(2);
  switch (typeof value) {
    case 'string':
      return withHeader(state, value);
    case 'number':
      return encodeNumber(value);
    case 'boolean':
      return value ? '\xc3' : '\xc2';
    default:
      if (value instanceof LuaTable && level < NESTING_MAX) return encodeTable(state, value, level);
      return '\xc0';
  }
}

function withHeader(state: LuaState, text: ByteString): ByteString {
  const { length } = text;
  state.allocate(length);
  if (length < 32) return String.fromCharCode(0xa0 | length) + text;
  if (length <= 0xff) return `\xd9${integerToBytes(BigInt(length), 1, false)}${text}`;
  if (length <= 0xffff) return `\xda${integerToBytes(BigInt(length), 2, false)}${text}`;
  return `\xdb${integerToBytes(BigInt(length), 4, false)}${text}`;
}

function encodeNumber(value: number): ByteString {
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63)
    return encodeInteger(value);
  // A float keeps four bytes when nothing is lost.
  return Math.fround(value) === value
    ? `\xca${floatToBytes(value, 4, false)}`
    : `\xcb${floatToBytes(value, 8, false)}`;
}

function encodeInteger(value: number): ByteString {
  const big = BigInt(value);
  if (value >= 0) {
    if (value <= 0x7f) return String.fromCharCode(value);
    if (value <= 0xff) return `\xcc${integerToBytes(big, 1, false)}`;
    if (value <= 0xffff) return `\xcd${integerToBytes(big, 2, false)}`;
    if (value <= 0xffff_ffff) return `\xce${integerToBytes(big, 4, false)}`;
    return `\xcf${integerToBytes(big, 8, false)}`;
  }
  if (value >= -32) return String.fromCharCode(value & 0xff);
  if (value >= -128) return `\xd0${integerToBytes(big, 1, false)}`;
  if (value >= -32_768) return `\xd1${integerToBytes(big, 2, false)}`;
  if (value >= -2_147_483_648) return `\xd2${integerToBytes(big, 4, false)}`;
  return `\xd3${integerToBytes(big, 8, false)}`;
}

function encodeTable(state: LuaState, table: LuaTable, level: number): ByteString {
  const entries: [LuaValue, LuaValue][] = [];
  let max = 0;
  let isArray = true;
  for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
    state.charge(1);
    entries.push(entry);
    const key = entry[0];
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) isArray = false;
    else if (key > max) max = key;
  }
  if (isArray && max === entries.length) {
    const pieces = [header(max, 0x90, '\xdc', '\xdd')];
    for (let i = 1; i <= max; i++) {
      pieces.push(encodeMessagePack(state, table.getNumber(i), level + 1));
    }
    return joined(state, pieces);
  }
  const pieces = [header(entries.length, 0x80, '\xde', '\xdf')];
  for (const [key, value] of entries) {
    pieces.push(encodeMessagePack(state, key, level + 1));
    pieces.push(encodeMessagePack(state, value, level + 1));
  }
  return joined(state, pieces);
}

function joined(state: LuaState, pieces: readonly string[]): ByteString {
  const bytes = pieces.join('');
  state.allocate(bytes.length);
  return bytes;
}

function header(count: number, small: number, medium: string, large: string): ByteString {
  if (count <= 15) return String.fromCharCode(small | count);
  if (count <= 0xffff) return medium + integerToBytes(BigInt(count), 2, false);
  return large + integerToBytes(BigInt(count), 4, false);
}
