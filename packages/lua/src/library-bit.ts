import { checkNumber } from './arguments.ts';
import { makeLibrary } from './library.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import type { LuaValue, NativeBody } from './value.ts';

// Adding 2^52 + 2^51 leaves the integer in the low bits: rounds to even, as BitOp does.
const ROUND = 6_755_399_441_055_744;

/** BitOp's reading of a number: rounded, and its low 32 bits as a signed integer. */
function checkBits(state: LuaState, args: readonly LuaValue[], n: number): number {
  const number = checkNumber(state, args, n);
  return Math.abs(number) < 2 ** 51 ? (number + ROUND - ROUND) | 0 : number | 0;
}

function fold(combine: (a: number, b: number) => number): NativeBody {
  return (args, state) => {
    let bits = checkBits(state, args, 1);
    for (let i = 2; i <= args.length; i++) bits = combine(bits, checkBits(state, args, i));
    state.charge(args.length);
    return [bits];
  };
}

function shift(move: (bits: number, count: number) => number): NativeBody {
  return (args, state) => [move(checkBits(state, args, 1), checkBits(state, args, 2) & 31) | 0];
}

function toHex(args: LuaValue[], state: LuaState): LuaValue[] {
  const bits = checkBits(state, args, 1) >>> 0;
  const wanted = args[1] === undefined ? 8 : checkBits(state, args, 2);
  const count = Math.min(8, Math.abs(wanted));
  const digits = bits
    .toString(16)
    .padStart(8, '0')
    .slice(8 - count);
  return [wanted < 0 ? digits.toUpperCase() : digits];
}

/** The bit library as Redis ships it (LuaBitOp 1.0.2): 32-bit signed results. */
export function makeBitLibrary(): LuaTable {
  return makeLibrary({
    tobit: (args, state) => [checkBits(state, args, 1)],
    tohex: toHex,
    bnot: (args, state) => [~checkBits(state, args, 1)],
    band: fold((a, b) => a & b),
    bor: fold((a, b) => a | b),
    bxor: fold((a, b) => a ^ b),
    lshift: shift((bits, count) => bits << count),
    rshift: shift((bits, count) => bits >>> count),
    arshift: shift((bits, count) => bits >> count),
    rol: shift((bits, count) => (bits << count) | (bits >>> (32 - count))),
    ror: shift((bits, count) => (bits >>> count) | (bits << (32 - count))),
    bswap: (args, state) => {
      const bits = checkBits(state, args, 1);
      return [(bits << 24) | ((bits & 0xff00) << 8) | ((bits >>> 8) & 0xff00) | (bits >>> 24)];
    },
  });
}
