import { argumentError, checkInteger, checkNumber } from './arguments.ts';
import {
  arcCosine,
  arcSine,
  arcTangent,
  arcTangent2,
  cosine,
  exponential,
  hyperbolicCosine,
  hyperbolicSine,
  hyperbolicTangent,
  logarithm,
  logarithm10,
  sine,
  tangent,
} from './elementary-functions.ts';
import type { LibraryFunctions } from './library.ts';
import { power } from './power.ts';
import type { LuaState } from './state.ts';
import type { LuaValue, NativeBody } from './value.ts';

// Redis divides by this, although lrand48 goes one further.
const RANDOM_RANGE = 0x7fff_ffff;
// The series of the elementary functions run some twenty turns.
const SERIES_STEPS = 16;

function unary(compute: (x: number) => number, steps = 0): NativeBody {
  return (args, state) => {
    state.charge(steps);
    return [compute(checkNumber(state, args, 1))];
  };
}

function extreme(isBetter: (candidate: number, best: number) => boolean): NativeBody {
  return (args, state) => {
    let best = checkNumber(state, args, 1);
    for (let i = 2; i <= args.length; i++) {
      const candidate = checkNumber(state, args, i);
      if (isBetter(candidate, best)) best = candidate;
    }
    state.charge(args.length);
    return [best];
  };
}

function random(args: LuaValue[], state: LuaState): LuaValue[] {
  const fraction = (state.random.next() % RANDOM_RANGE) / RANDOM_RANGE;
  switch (args.length) {
    case 0:
      return [fraction];
    case 1: {
      const high = checkInteger(state, args, 1);
      if (high < 1) throw argumentError(state, 1, 'interval is empty');
      return [Math.floor(fraction * high) + 1];
    }
    case 2: {
      const low = checkInteger(state, args, 1);
      const high = checkInteger(state, args, 2);
      if (low > high) throw argumentError(state, 2, 'interval is empty');
      return [Math.floor(fraction * (high - low + 1)) + low];
    }
    default:
      throw state.error('wrong number of arguments');
  }
}

/** Mantissa in [0.5, 1) and exponent, by exact halvings. */
function fractionAndExponent(x: number): [fraction: number, exponent: number] {
  if (x === 0 || !Number.isFinite(x)) return [x, 0];
  let fraction = x;
  let exponent = 0;
  for (; Math.abs(fraction) >= 1; exponent++) fraction /= 2;
  for (; Math.abs(fraction) < 0.5; exponent--) fraction *= 2;
  return [fraction, exponent];
}

function scale(x: number, exponent: number): number {
  let result = x;
  const turns = Math.min(Math.abs(exponent), 2200);
  for (let i = 0; i < turns; i++) result = exponent > 0 ? result * 2 : result / 2;
  return result;
}

function integerAndFraction(x: number): LuaValue[] {
  if (Number.isNaN(x)) return [x, x];
  const whole = Math.trunc(x);
  return [whole, Number.isFinite(x) ? x - whole : 0];
}

/** Two numbers, the second checked first: the order in which C Lua on x86-64 complains. */
function binary(compute: (a: number, b: number) => number, steps = 0): NativeBody {
  return (args, state) => {
    state.charge(steps);
    const b = checkNumber(state, args, 2);
    return [compute(checkNumber(state, args, 1), b)];
  };
}

/** C's fmod; JavaScript's % is the same operation, and exact. */
const remainder = binary((a, b) => a % b);

/** The math library; transcendental functions are our own, so that members agree to the bit. */
export const mathFunctions: LibraryFunctions = {
  abs: unary(Math.abs),
  acos: unary(arcCosine, SERIES_STEPS),
  asin: unary(arcSine, SERIES_STEPS),
  atan: unary(arcTangent, SERIES_STEPS),
  atan2: binary(arcTangent2, SERIES_STEPS),
  ceil: unary(Math.ceil),
  cos: unary(cosine, SERIES_STEPS),
  cosh: unary(hyperbolicCosine, SERIES_STEPS),
  deg: unary((x) => x / (Math.PI / 180)),
  exp: unary((x) => exponential(x), SERIES_STEPS),
  floor: unary(Math.floor),
  fmod: remainder,
  frexp: (args, state) => {
    state.charge(SERIES_STEPS);
    return fractionAndExponent(checkNumber(state, args, 1));
  },
  ldexp: (args, state) => {
    state.charge(SERIES_STEPS);
    return [scale(checkNumber(state, args, 1), checkInteger(state, args, 2))];
  },
  log: unary(logarithm, SERIES_STEPS),
  log10: unary(logarithm10, SERIES_STEPS),
  max: extreme((candidate, best) => candidate > best),
  min: extreme((candidate, best) => candidate < best),
  mod: remainder,
  modf: (args, state) => integerAndFraction(checkNumber(state, args, 1)),
  pow: binary(power, SERIES_STEPS),
  rad: unary((x) => x * (Math.PI / 180)),
  random,
  randomseed: (args, state) => {
    state.random.seed(checkInteger(state, args, 1) | 0);
    return [];
  },
  sin: unary(sine, SERIES_STEPS),
  sinh: unary(hyperbolicSine, SERIES_STEPS),
  sqrt: unary(Math.sqrt),
  tan: unary(tangent, SERIES_STEPS),
  tanh: unary(hyperbolicTangent, SERIES_STEPS),
};

export const mathConstants: Readonly<Record<string, LuaValue>> = { pi: Math.PI, huge: Infinity };
