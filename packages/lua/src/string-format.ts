import { argumentError, checkNumber, checkString } from './arguments.ts';
import { formatExponential, formatFixed, formatGeneral } from './number-text.ts';
import type { LuaState } from './state.ts';
import type { ByteString, LuaValue } from './value.ts';

const REAL_STEPS = 100;
const INT64_RANGE = 2 ** 63;

interface Directive {
  readonly flags: string;
  readonly width: number;
  /** Undefined when absent; a lone point means 0. */
  readonly precision: number | undefined;
  readonly conversion: string;
}

/** `string.format`: C's printf for %c %d %i %o %u %x %X %e %E %f %g %G %s, and Lua's %q. */
export function formatString(state: LuaState, args: readonly LuaValue[]): ByteString {
  const format = checkString(state, args, 1);
  state.charge(format.length >> 2);
  let result = '';
  let next = 1;
  let at = 0;
  for (;;) {
    const percent = format.indexOf('%', at);
    if (percent < 0) break;
    result += format.slice(at, percent);
    if (format[percent + 1] === '%') {
      result += '%';
      at = percent + 2;
      continue;
    }
    const [directive, end] = parseDirective(state, format, percent + 1);
    next++;
    const piece = convert(state, args, next, directive);
    state.allocate(piece.length);
    state.charge(8);
    result += piece;
    at = end;
  }
  state.allocate(format.length - at);
  return result + format.slice(at);
}

function parseDirective(
  state: LuaState,
  format: ByteString,
  from: number,
): [directive: Directive, end: number] {
  let at = from;
  while ('-+ #0'.includes(format[at] ?? '!')) at++;
  const flags = format.slice(from, at);
  if (flags.length > 5) throw state.error('invalid format (repeated flags)');
  const digits = (): string => {
    const start = at;
    while (at - start < 2 && isDigit(format.charCodeAt(at))) at++;
    return format.slice(start, at);
  };
  const width = Number(digits());
  let precision: number | undefined;
  if (format[at] === '.') {
    at++;
    precision = Number(digits());
  }
  if (isDigit(format.charCodeAt(at))) {
    throw state.error('invalid format (width or precision too long)');
  }
  return [{ flags, width, precision, conversion: format[at] ?? '' }, at + 1];
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function convert(
  state: LuaState,
  args: readonly LuaValue[],
  n: number,
  directive: Directive,
): ByteString {
  if (args.length < n) throw argumentError(state, n, 'no value');
  switch (directive.conversion) {
    case 'c': {
      const code = Math.trunc(checkNumber(state, args, n)) & 255;
      return pad(String.fromCharCode(code), { ...directive, flags: plainFlags(directive) });
    }
    case 'd':
    case 'i':
      return formatInteger(toInt64(checkNumber(state, args, n)), directive);
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return formatUnsigned(toInt64(checkNumber(state, args, n)), directive);
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G':
      // Exact decimal digits of a double take big-number work.
      state.charge(REAL_STEPS);
      return formatReal(checkNumber(state, args, n), directive);
    case 'q':
      return quote(state, checkString(state, args, n));
    case 's': {
      const text = checkString(state, args, n);
      // C Lua hands long strings through unformatted unless a precision cuts them.
      if (directive.precision === undefined && text.length >= 100) return text;
      const cut = directive.precision === undefined ? text : text.slice(0, directive.precision);
      return pad(cut, { ...directive, flags: plainFlags(directive) });
    }
    default:
      throw state.error(`invalid option '%${directive.conversion}' to 'format'`);
  }
}

function plainFlags(directive: Directive): string {
  return directive.flags.includes('-') ? '-' : '';
}

/** The cast of x86-64: what does not fit becomes the smallest integer. */
function toInt64(value: number): bigint {
  const whole = Math.trunc(value);
  if (!(whole >= -INT64_RANGE && whole < INT64_RANGE)) return -(2n ** 63n);
  return BigInt(whole);
}

function pad(text: string, { flags, width }: Directive): string {
  if (text.length >= width) return text;
  if (flags.includes('-')) return text.padEnd(width);
  if (!flags.includes('0')) return text.padStart(width);
  const body = /^([+\- ]?(?:0[xX])?)([\s\S]*)$/.exec(text) as RegExpExecArray;
  return (
    (body[1] as string) + (body[2] as string).padStart(width - (body[1] as string).length, '0')
  );
}

function withSign(isNegative: boolean, digits: string, flags: string): string {
  if (isNegative) return `-${digits}`;
  if (flags.includes('+')) return `+${digits}`;
  return flags.includes(' ') ? ` ${digits}` : digits;
}

// A precision on an integer is its least number of digits and turns the flag 0 off.
function integerDigits(digits: string, directive: Directive): [digits: string, rest: Directive] {
  const { precision } = directive;
  if (precision === undefined) return [digits, directive];
  const padded = precision === 0 && digits === '0' ? '' : digits.padStart(precision, '0');
  return [padded, { ...directive, flags: directive.flags.replaceAll('0', '') }];
}

function formatInteger(value: bigint, directive: Directive): string {
  const size = (value < 0n ? -value : value).toString();
  const [digits, rest] = integerDigits(size, directive);
  return pad(withSign(value < 0n, digits, rest.flags), rest);
}

function formatUnsigned(value: bigint, directive: Directive): string {
  const { conversion, flags } = directive;
  const base = conversion === 'o' ? 8 : conversion === 'u' ? 10 : 16;
  const [digits, rest] = integerDigits(BigInt.asUintN(64, value).toString(base), directive);
  let text = digits;
  if (flags.includes('#')) {
    if (base === 8 && !digits.startsWith('0')) text = `0${digits}`;
    if (base === 16 && value !== 0n) text = `0x${digits}`;
  }
  return pad(conversion === 'X' ? text.toUpperCase() : text, rest);
}

function formatReal(value: number, directive: Directive): string {
  const { conversion, flags } = directive;
  const precision = directive.precision ?? 6;
  const alternate = flags.includes('#');
  const kind = conversion.toLowerCase();
  let text: string;
  if (kind === 'e') text = formatExponential(value, precision, alternate);
  else if (kind === 'f') text = formatFixed(value, precision, alternate);
  else text = formatGeneral(value, precision, alternate);
  const isNegative = text.startsWith('-');
  text = withSign(isNegative, isNegative ? text.slice(1) : text, flags);
  if (conversion !== kind) text = text.toUpperCase();
  return pad(
    text,
    Number.isFinite(value) ? directive : { ...directive, flags: plainFlags(directive) },
  );
}

function quote(state: LuaState, text: ByteString): ByteString {
  state.charge(text.length >> 1);
  return `"${text.replace(/["\\\n\r\0]/g, (char) => {
    if (char === '\r') return '\\r';
    return char === '\0' ? '\\000' : `\\${char}`;
  })}"`;
}
