/**
 * exp, log and the circular functions from IEEE additions, multiplications, divisions and
 * square roots only. ECMAScript leaves Math.exp and its kin to the engine; these give the same
 * bits everywhere, within a few units of the last place.
 */

// ln 2 and pi/2 as a short head (its products with small integers are exact) and a tail.
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
const HALF_PI_HIGH = 1.5707963267341256;
const HALF_PI_MIDDLE = 6.077100506303966e-11;
const HALF_PI_LOW = 2.0222662487959506e-21;
const PI = Math.PI;
const HUGE_STEP = twoTo(1000);

function scaleByPowerOfTwo(value: number, exponent: number): number {
  let result = value;
  let left = exponent;
  for (; left > 1000; left -= 1000) result *= HUGE_STEP;
  for (; left < -1000; left += 1000) result *= 1 / HUGE_STEP;
  return result * twoTo(left);
}

// Multiplying by two is exact, so the loop is; the engine's ** is not relied on.
function twoTo(exponent: number): number {
  let result = 1;
  const factor = exponent < 0 ? 0.5 : 2;
  for (let i = Math.abs(exponent); i > 0; i--) result *= factor;
  return result;
}

/** e^(x + tail); `tail` is a small correction to x. */
export function exponential(x: number, tail = 0): number {
  if (Number.isNaN(x)) return x;
  if (x > 710) return Infinity;
  if (x < -746) return 0;
  const k = Math.round(x / Math.LN2);
  const high = x - k * LN2_HIGH;
  const rest = tail - k * LN2_LOW;
  const r = high + rest;
  // Taylor with |r| below 0.35: eighteen terms are beyond double precision.
  let sum = 1;
  for (let i = 18; i > 1; i--) sum = 1 + (r / i) * sum;
  const lost = high - r + rest;
  return scaleByPowerOfTwo(1 + (r * sum + lost), k);
}

/** ln x of a positive finite x as a rounded value and what the rounding lost. */
export function logarithmParts(x: number): [value: number, rest: number] {
  let mantissa = x;
  let exponent = 0;
  while (mantissa >= 4_294_967_296) {
    mantissa *= 1 / 4_294_967_296;
    exponent += 32;
  }
  while (mantissa < 1 / 4_294_967_296) {
    mantissa *= 4_294_967_296;
    exponent -= 32;
  }
  for (; mantissa > Math.SQRT2; exponent++) mantissa *= 0.5;
  for (; mantissa < Math.SQRT1_2; exponent--) mantissa *= 2;
  // A first guess by the series of artanh, then one Newton step against exponential().
  const s = (mantissa - 1) / (mantissa + 1);
  const square = s * s;
  let sum = 0;
  for (let i = 45; i >= 1; i -= 2) sum = 1 / i + square * sum;
  const guess = 2 * s * sum;
  const low = exponent * LN2_LOW + newtonRest(mantissa, guess);
  const high = exponent * LN2_HIGH + guess;
  const lost = exponent === 0 ? 0 : guess - (high - exponent * LN2_HIGH);
  const value = high + (low + lost);
  return [value, high - value + (low + lost)];
}

// ln m - guess = ln(m e^-guess), small enough for its first term; exp error dominates it.
function newtonRest(mantissa: number, guess: number): number {
  if (mantissa === 1) return 0;
  const s = mantissa - 1;
  // For tiny s the series alone is exact to the last place.
  if (Math.abs(s) < 1e-8) return 0;
  return mantissa * exponential(-guess) - 1;
}

/** ln x. */
export function logarithm(x: number): number {
  if (x === 0) return -Infinity;
  if (!(x > 0) || x === Infinity) return x > 0 ? x : Number.NaN;
  return logarithmParts(x)[0];
}

/** log10 x; powers of ten come out whole. */
export function logarithm10(x: number): number {
  const quotient = logarithm(x) / Math.LN10;
  const whole = Math.round(quotient);
  if (Math.abs(quotient - whole) < 1e-13 && Math.abs(whole) <= 22) {
    let exact = 1;
    for (let i = Math.abs(whole); i > 0; i--) exact *= 10;
    if (whole >= 0 ? exact === x : 1 / exact === x) return whole;
  }
  return quotient;
}

/** sin and cos of x. Beyond 2^30 the reduction by pi/2 loses digits, alike everywhere. */
function sineCosine(x: number): [sine: number, cosine: number] {
  if (!Number.isFinite(x)) return [Number.NaN, Number.NaN];
  const k = Math.round(x / (PI / 2));
  const r = x - k * HALF_PI_HIGH - k * HALF_PI_MIDDLE - k * HALF_PI_LOW;
  const square = r * r;
  let sine = 1;
  let cosine = 1;
  for (let i = 22; i >= 2; i -= 2) {
    sine = 1 - (square / (i * (i + 1))) * sine;
    cosine = 1 - (square / (i * (i - 1))) * cosine;
  }
  sine *= r;
  switch (((k % 4) + 4) % 4) {
    case 0:
      return [sine, cosine];
    case 1:
      return [cosine, -sine];
    case 2:
      return [-sine, -cosine];
    default:
      return [-cosine, sine];
  }
}

export function sine(x: number): number {
  return x === 0 ? x : sineCosine(x)[0];
}

export function cosine(x: number): number {
  return sineCosine(x)[1];
}

export function tangent(x: number): number {
  const [s, c] = sineCosine(x);
  return x === 0 ? x : s / c;
}

/** The angle whose tangent is x. */
export function arcTangent(x: number): number {
  if (Number.isNaN(x) || x === 0) return x;
  const size = Math.abs(x);
  if (size === Infinity) return x > 0 ? PI / 2 : -PI / 2;
  if (size > 1) {
    const rest = arcTangentSmall(1 / size);
    return x > 0 ? PI / 2 - rest : rest - PI / 2;
  }
  return x > 0 ? arcTangentSmall(size) : -arcTangentSmall(size);
}

// Halving the angle twice brings x below 0.2, where the series is short.
function arcTangentSmall(x: number): number {
  const once = x / (1 + Math.sqrt(1 + x * x));
  const twice = once / (1 + Math.sqrt(1 + once * once));
  const square = twice * twice;
  let sum = 0;
  for (let i = 31; i >= 1; i -= 2) sum = 1 / i - square * sum;
  return 4 * twice * sum;
}

export function arcTangent2(y: number, x: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
  const isNegativeY = y < 0 || (y === 0 && 1 / y < 0);
  const isNegativeX = x < 0 || (x === 0 && 1 / x < 0);
  const ySize = Math.abs(y);
  const xSize = Math.abs(x);
  let angle: number;
  if (ySize === 0) angle = 0;
  else if (xSize === 0) angle = PI / 2;
  else if (ySize === Infinity) angle = xSize === Infinity ? PI / 4 : PI / 2;
  else angle = xSize === Infinity ? 0 : arcTangent(ySize / xSize);
  if (isNegativeX) angle = PI - angle;
  return isNegativeY ? -angle : angle;
}

export function arcSine(x: number): number {
  if (!(Math.abs(x) <= 1)) return Number.NaN;
  return x === 0 ? x : arcTangent2(x, Math.sqrt((1 - x) * (1 + x)));
}

export function arcCosine(x: number): number {
  if (!(Math.abs(x) <= 1)) return Number.NaN;
  return arcTangent2(Math.sqrt((1 - x) * (1 + x)), x);
}

export function hyperbolicSine(x: number): number {
  if (Math.abs(x) < 0.3) {
    const square = x * x;
    let sum = 1;
    for (let i = 16; i >= 2; i -= 2) sum = 1 + (square / (i * (i + 1))) * sum;
    return x * sum;
  }
  const half = exponential(Math.abs(x) / 2);
  const size = (half / 2) * half - 0.5 / half / half;
  return x < 0 ? -size : size;
}

export function hyperbolicCosine(x: number): number {
  const half = exponential(Math.abs(x) / 2);
  return (half / 2) * half + 0.5 / half / half;
}

export function hyperbolicTangent(x: number): number {
  if (x === 0 || Number.isNaN(x)) return x;
  if (Math.abs(x) > 22) return x > 0 ? 1 : -1;
  return hyperbolicSine(x) / hyperbolicCosine(x);
}
