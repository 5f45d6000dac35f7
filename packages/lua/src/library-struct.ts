import { argumentError, checkInteger, checkNumber, checkString } from './arguments.ts';
import { bytesToFloat, bytesToInteger, floatToBytes, integerToBytes } from './byte-numbers.ts';
import { makeLibrary } from './library.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import type { ByteString, LuaValue } from './value.ts';

const INTEGER_SIZE_MAX = 32;
const ALIGNMENT_MAX = 8;

// Sizes on x86-64; the format of stored values must not depend on the member's machine.
const SIZES: Readonly<Record<string, number>> = {
  b: 1,
  B: 1,
  h: 2,
  H: 2,
  l: 8,
  L: 8,
  T: 8,
  f: 4,
  d: 8,
  x: 1,
};

interface Item {
  readonly option: string;
  readonly size: number;
  /** Padding before the item. */
  readonly padding: number;
  readonly isLittle: boolean;
}

/** Walks a format such as `>I4s0` and keeps its byte order and alignment. */
class FormatReader {
  private at = 0;
  private isLittle = true;
  private alignment = 1;
  private readonly state: LuaState;
  private readonly format: ByteString;

  constructor(state: LuaState, format: ByteString) {
    this.state = state;
    this.format = format;
  }

  /** The next item when `total` bytes precede it, or null at the end. */
  next(total: number): Item | null {
    for (;;) {
      this.state.charge(1);
      const option = this.format[this.at];
      if (option === undefined) return null;
      this.at++;
      if (!this.isControl(option)) {
        const size = this.sizeOf(option);
        return {
          option,
          size,
          padding: this.paddingFor(option, size, total),
          isLittle: this.isLittle,
        };
      }
    }
  }

  private isControl(option: string): boolean {
    switch (option) {
      case ' ':
        return true;
      case '<':
      case '>':
        this.isLittle = option === '<';
        return true;
      case '!': {
        const alignment = this.number(ALIGNMENT_MAX);
        if (alignment === 0 || (alignment & (alignment - 1)) !== 0) {
          throw this.state.error(`alignment ${alignment} is not a power of 2`);
        }
        this.alignment = alignment;
        return true;
      }
      default:
        return false;
    }
  }

  private sizeOf(option: string): number {
    const fixed = SIZES[option];
    if (fixed !== undefined) return fixed;
    switch (option) {
      case 'i':
      case 'I': {
        const size = this.number(4);
        if (size > INTEGER_SIZE_MAX) {
          throw this.state.error(
            `integral size ${size} is larger than limit of ${INTEGER_SIZE_MAX}`,
          );
        }
        return size;
      }
      case 'c':
        return this.number(1);
      case 's':
        return 0;
      default:
        throw argumentError(this.state, 1, `invalid format option '${option}'`);
    }
  }

  private paddingFor(option: string, size: number, total: number): number {
    if (size === 0 || option === 'c' || option === 'x') return 0;
    const align = Math.min(size, this.alignment);
    return align <= 1 ? 0 : (align - (total & (align - 1))) & (align - 1);
  }

  private number(fallback: number): number {
    const start = this.at;
    while (/\d/.test(this.format[this.at] ?? '')) this.at++;
    if (this.at === start) return fallback;
    const value = Number(this.format.slice(start, this.at));
    if (value > 0x7fff_ffff) throw this.state.error('integral size overflow');
    return value;
  }
}

function pack(args: LuaValue[], state: LuaState): LuaValue[] {
  const reader = new FormatReader(state, checkString(state, args, 1));
  // The first missing argument reads as nil in C: a mark on the stack stands there.
  args.push(undefined);
  const pieces: string[] = [];
  let total = 0;
  let n = 1;
  const add = (piece: string): void => {
    state.allocate(piece.length);
    pieces.push(piece);
    total += piece.length;
  };
  for (let item = reader.next(total); item !== null; item = reader.next(total)) {
    const { option, size, padding, isLittle } = item;
    if (padding > 0) add('\0'.repeat(padding));
    switch (option) {
      case 'x':
        add('\0');
        break;
      case 'f':
      case 'd':
        add(floatToBytes(checkNumber(state, args, ++n), size as 4 | 8, isLittle));
        break;
      case 's':
        add(`${checkString(state, args, ++n)}\0`);
        break;
      case 'c': {
        const text = checkString(state, args, ++n);
        const wanted = size === 0 ? text.length : size;
        if (text.length < wanted) throw argumentError(state, n + 1, 'string too short');
        add(text.slice(0, wanted));
        break;
      }
      default:
        add(integerToBytes(toUint64(checkNumber(state, args, ++n)), size, isLittle));
    }
  }
  return [pieces.join('')];
}

/** The cast of x86-64 from double to a 64-bit integer, as its bits; wider fields get zeros. */
function toUint64(value: number): bigint {
  const whole = Math.trunc(value);
  return BigInt.asUintN(64, whole >= -(2 ** 63) && whole < 2 ** 63 ? BigInt(whole) : -(2n ** 63n));
}

function unpack(args: LuaValue[], state: LuaState): LuaValue[] {
  const reader = new FormatReader(state, checkString(state, args, 1));
  const data = checkString(state, args, 2);
  let at = args[2] === undefined ? 0 : checkInteger(state, args, 3) - 1;
  if (at < 0) throw argumentError(state, 3, 'offset must be 1 or greater');
  const values: LuaValue[] = [];
  for (let item = reader.next(at); item !== null; item = reader.next(at)) {
    const { option, size, padding, isLittle } = item;
    at += padding;
    if (at + size > data.length) throw argumentError(state, 2, 'data string too short');
    switch (option) {
      case 'x':
        break;
      case 'f':
      case 'd':
        values.push(bytesToFloat(data, at, size as 4 | 8, isLittle));
        break;
      case 's': {
        const end = data.indexOf('\0', at);
        state.charge(data.length >> 4);
        if (end < 0) throw state.error('unfinished string in data');
        state.allocate(end - at);
        values.push(data.slice(at, end));
        at = end + 1;
        break;
      }
      case 'c':
        at = unpackChars(state, values, data, at, size);
        continue;
      default: {
        const bits = bytesToInteger(data, at, size, isLittle);
        const isSigned = option === option.toLowerCase();
        values.push(Number(isSigned ? BigInt.asIntN(size * 8, bits) : BigInt.asUintN(64, bits)));
      }
    }
    at += size;
  }
  values.push(at + 1);
  return values;
}

// `c0` takes its length from the number unpacked before it.
function unpackChars(
  state: LuaState,
  values: LuaValue[],
  data: ByteString,
  at: number,
  size: number,
): number {
  let length = size;
  if (size === 0) {
    const before = values.pop();
    if (typeof before !== 'number') throw state.error("format 'c0' needs a previous size");
    length = before;
    if (!(length >= 0) || at + length > data.length) {
      throw argumentError(state, 2, 'data string too short');
    }
  }
  state.allocate(length);
  values.push(data.slice(at, at + length));
  return at + length;
}

function size(args: LuaValue[], state: LuaState): LuaValue[] {
  const reader = new FormatReader(state, checkString(state, args, 1));
  let total = 0;
  for (let item = reader.next(total); item !== null; item = reader.next(total)) {
    if (item.option === 's') throw argumentError(state, 1, "option 's' has no fixed size");
    if (item.option === 'c' && item.size === 0) {
      throw argumentError(state, 1, "option 'c0' has no fixed size");
    }
    total += item.padding + item.size;
  }
  return [total];
}

/** The struct library as Redis ships it (Roberto Ierusalimschy's 0.2), sizes of x86-64. */
export function makeStructLibrary(): LuaTable {
  return makeLibrary({ pack, unpack, size });
}
