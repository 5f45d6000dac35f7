import type { ByteString } from './value.ts';

// Precision 100 is the most that toExponential offers; a double that ties within it is a tie.
const DIGITS_MAX = 100;

/** `%.14g` of a double, as Lua 5.1 writes numbers (glibc's texts for inf and nan). */
export function numberToString(value: number): ByteString {
  if (Number.isInteger(value) && value < 1e14 && value > -1e14) {
    return value === 0 && 1 / value < 0 ? '-0' : String(value);
  }
  return formatGeneral(value, 14, false);
}

/** glibc text of a non-finite double. x86 produces the negative quiet NaN from 0/0. */
export function nonFiniteText(value: number): ByteString {
  if (value === Infinity) return 'inf';
  return value === -Infinity ? '-inf' : '-nan';
}

// JavaScript rounds a tie away from zero, C to the even digit; both round the exact value.
function exponentialDigits(value: number, fraction: number): [digits: string, exponent: number] {
  const text = value.toExponential(Math.min(fraction, DIGITS_MAX));
  const at = text.indexOf('e');
  let digits = text.slice(0, at).replace('.', '');
  let exponent = Number(text.slice(at + 1));
  if (fraction < DIGITS_MAX && value !== 0 && mayTie(value.toExponential(tieDigits(fraction)))) {
    const exact = value.toExponential(DIGITS_MAX);
    const exactDigits = exact.slice(0, exact.indexOf('e')).replace('.', '');
    const kept = exactDigits.slice(0, fraction + 1);
    const isTie = /^50*$/.test(exactDigits.slice(fraction + 1));
    if (isTie && Number(kept.at(-1)) % 2 === 0) {
      digits = kept;
      exponent = Number(exact.slice(exact.indexOf('e') + 1));
    }
  }
  return [digits.padEnd(fraction + 1, '0'), exponent];
}

// A tie shows as 5000 in the next digits; only then are all the digits worth asking for.
function tieDigits(fraction: number): number {
  return Math.min(fraction + 4, DIGITS_MAX);
}

function mayTie(text: string): boolean {
  return /50*(?:e|$)/.test(text);
}

function exponentText(exponent: number): string {
  const size = Math.abs(exponent);
  return `e${exponent < 0 ? '-' : '+'}${size < 10 ? '0' : ''}${size}`;
}

/** C's `%.{precision}e`, with a sign only when negative. `alternate` keeps the point. */
export function formatExponential(value: number, precision: number, alternate: boolean): string {
  if (!Number.isFinite(value)) return nonFiniteText(value);
  const [digits, exponent] = exponentialDigits(Math.abs(value), precision);
  const point = precision > 0 || alternate ? '.' : '';
  return `${signText(value)}${digits[0]}${point}${digits.slice(1)}${exponentText(exponent)}`;
}

/** C's `%.{precision}f`. */
export function formatFixed(value: number, precision: number, alternate: boolean): string {
  if (!Number.isFinite(value)) return nonFiniteText(value);
  const size = Math.abs(value);
  let text: string;
  if (size >= 1e21) {
    text = BigInt(size).toString() + (precision > 0 ? `.${'0'.repeat(precision)}` : '');
  } else text = fixedHalfEven(size, precision);
  if (alternate && precision === 0) text += '.';
  return signText(value) + text;
}

function fixedHalfEven(size: number, precision: number): string {
  const rounded = size.toFixed(precision);
  if (precision >= DIGITS_MAX || !mayTie(size.toFixed(tieDigits(precision)))) return rounded;
  const exact = size.toFixed(DIGITS_MAX);
  const point = exact.indexOf('.');
  if (!/^50*$/.test(exact.slice(point + 1 + precision))) return rounded;
  const kept = precision === 0 ? exact.slice(0, point) : exact.slice(0, point + 1 + precision);
  return Number(kept.at(-1)) % 2 === 0 ? kept : rounded;
}

/** C's `%.{precision}g`: the shorter of the two notations, trailing zeros cut. */
export function formatGeneral(value: number, precision: number, alternate: boolean): string {
  if (!Number.isFinite(value)) return nonFiniteText(value);
  const significant = precision === 0 ? 1 : precision;
  const [digits, exponent] = exponentialDigits(Math.abs(value), significant - 1);
  let text: string;
  let suffix = '';
  if (exponent < -4 || exponent >= significant) {
    text = `${digits[0]}.${digits.slice(1)}`;
    suffix = exponentText(exponent);
  } else if (exponent < 0) text = `0.${'0'.repeat(-exponent - 1)}${digits}`;
  else text = `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
  if (!alternate) text = text.replace(/\.?0*$/, '');
  return signText(value) + text + suffix;
}

function signText(value: number): string {
  return value < 0 || (value === 0 && 1 / value < 0) ? '-' : '';
}

// No two neighbouring parts match the same characters: a long text must not backtrack.
const DECIMAL = /^[ \t-\r]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[ \t-\r]*$/;
const HEXADECIMAL =
  /^[ \t-\r]*([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?[ \t-\r]*$/;
const SPECIAL = /^[ \t-\r]*([+-]?)(?:(inf(?:inity)?)|(nan))[ \t-\r]*$/i;

/** The number a string denotes by glibc's strtod, or undefined. */
export function stringToNumber(text: ByteString): number | undefined {
  if (DECIMAL.test(text)) return Number(text.trim());
  const hexadecimal = HEXADECIMAL.exec(text);
  if (hexadecimal !== null) return parseHexadecimal(hexadecimal);
  // strtod reads these words too, and scripts meet them in sorted-set scores.
  const special = SPECIAL.exec(text);
  if (special === null) return undefined;
  if (special[3] !== undefined) return Number.NaN;
  return special[1] === '-' ? -Infinity : Infinity;
}

function parseHexadecimal(match: RegExpExecArray): number | undefined {
  const fraction = match[3] ?? '';
  const digits = `${match[2]}${fraction}`;
  if (digits === '') return undefined;
  let value = Number(`0x${digits}`);
  let exponent = Number(match[4] ?? 0) - 4 * fraction.length;
  for (; exponent > 0 && value !== 0 && Number.isFinite(value); exponent--) value *= 2;
  for (; exponent < 0 && value !== 0; exponent++) value /= 2;
  return match[1] === '-' ? -value : value;
}

/** An integer in `base` 2–36 with strtoul's habits (spaces, sign, wrap at 2^64), or undefined. */
export function stringToInteger(text: ByteString, base: number): number | undefined {
  const match = /^[ \t-\r]*([+-]?)(0[xX](?=[0-9a-fA-F]))?([0-9a-zA-Z]+)[ \t-\r]*$/.exec(text);
  if (match === null) return undefined;
  if (match[2] !== undefined && base !== 16) return undefined;
  let value = 0n;
  const limit = 0xffff_ffff_ffff_ffffn;
  for (const digit of match[3] as string) {
    const n = Number.parseInt(digit, 36);
    if (n >= base) return undefined;
    if (value <= limit) value = value * BigInt(base) + BigInt(n);
  }
  if (value > limit) return Number(limit);
  return Number(match[1] === '-' ? BigInt.asUintN(64, -value) : value);
}
