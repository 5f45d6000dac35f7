import type { ByteString } from '@lockstep/model';
import { CommandError, NOT_AN_INTEGER } from './errors.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const DIGITS_SAFE = 15;

/** An integer of Redis: 64 bit, a number while that is exact, a bigint beyond. */
export type Integer = number | bigint;

/** Strict as string2ll: no sign but `-`, no leading zeros or spaces, 64-bit range. */
export function parseInteger(text: ByteString): Integer | undefined {
  const negative = text.charCodeAt(0) === 0x2d;
  const start = negative ? 1 : 0;
  const digits = text.length - start;
  if (digits < 1 || digits > 19) return undefined;
  const lead = text.charCodeAt(start);
  if (lead === 0x30) return text === '0' ? 0 : undefined;
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char < 0x30 || char > 0x39) return undefined;
  }
  if (digits <= DIGITS_SAFE) return Number(text);
  return narrow(BigInt(text));
}

/** Undefined outside of 64 bits. */
export function narrow(value: bigint): Integer | undefined {
  if (value > INT64_MAX || value < INT64_MIN) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Throws the `not an integer` error. */
export function requireInteger(text: ByteString): Integer {
  const value = parseInteger(text);
  if (value === undefined) throw new CommandError(NOT_AN_INTEGER);
  return value;
}

/** A 64-bit sum; undefined when it overflows. */
export function addIntegers(a: Integer, b: Integer): Integer | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return narrow(BigInt(a) + BigInt(b));
}

/** For counts, cursors and indexes: what is beyond 2^53 counts as 2^53. */
export function clampInteger(value: Integer): number {
  if (typeof value === 'number') return value;
  return value < 0n ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
}
