import type { ByteString } from './value.ts';

const view = new DataView(new ArrayBuffer(8));

/** The bytes of `value` modulo 2^(8·size), lowest first when `isLittle`. */
export function integerToBytes(value: bigint, size: number, isLittle: boolean): ByteString {
  let bytes = '';
  let rest = BigInt.asUintN(size * 8, value);
  for (let i = 0; i < size; i++) {
    const byte = String.fromCharCode(Number(rest & 0xffn));
    bytes = isLittle ? bytes + byte : byte + bytes;
    rest >>= 8n;
  }
  return bytes;
}

/** The unsigned integer in `size` bytes at `at`; the bytes must be there. */
export function bytesToInteger(
  bytes: ByteString,
  at: number,
  size: number,
  isLittle: boolean,
): bigint {
  let value = 0n;
  for (let i = 0; i < size; i++) {
    const from = isLittle ? at + size - 1 - i : at + i;
    value = (value << 8n) | BigInt(bytes.charCodeAt(from));
  }
  return value;
}

/** IEEE bytes of a number, 4 or 8 of them. NaN is always the same quiet NaN. */
export function floatToBytes(value: number, size: 4 | 8, isLittle: boolean): ByteString {
  if (size === 4) view.setFloat32(0, value, isLittle);
  else view.setFloat64(0, value, isLittle);
  if (Number.isNaN(value)) setNaN(size, isLittle);
  let bytes = '';
  for (let i = 0; i < size; i++) bytes += String.fromCharCode(view.getUint8(i));
  return bytes;
}

// Which NaN the engine stores is its own choice, so it is ours instead: x86's default one.
function setNaN(size: 4 | 8, isLittle: boolean): void {
  if (size === 4) view.setUint32(0, 0xffc0_0000, isLittle);
  else view.setBigUint64(0, 0xfff8_0000_0000_0000n, isLittle);
}

export function bytesToFloat(
  bytes: ByteString,
  at: number,
  size: 4 | 8,
  isLittle: boolean,
): number {
  for (let i = 0; i < size; i++) view.setUint8(i, bytes.charCodeAt(at + i));
  return size === 4 ? view.getFloat32(0, isLittle) : view.getFloat64(0, isLittle);
}
