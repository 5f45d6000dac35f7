import { exponential, logarithmParts } from './elementary-functions.ts';

// Beyond this an integer power is infinite or zero for every base but ±1 and their neighbours.
const INTEGER_EXPONENT_MAX = 4096;

/**
 * `base ^ exponent` from additions and multiplications only. Math.pow may differ in the last
 * bit between engine versions, and every member must compute the same bits. Small integer
 * powers are exact; the others are within a few units of the seventeenth digit.
 */
export function power(base: number, exponent: number): number {
  if (exponent === 0 || base === 1) return 1;
  if (Number.isNaN(base) || Number.isNaN(exponent)) return Number.NaN;
  if (exponent === 0.5 && base >= 0) return Math.sqrt(base);
  if (Number.isInteger(exponent) && Math.abs(exponent) <= INTEGER_EXPONENT_MAX) {
    if (exponent > 0) return integerPower(base, exponent);
    const inverse = integerPower(base, -exponent);
    // A subnormal result is lost if the inverse overflows on the way.
    return Number.isFinite(inverse) || !Number.isFinite(base)
      ? 1 / inverse
      : integerPower(1 / base, -exponent);
  }
  return realPower(base, exponent);
}

function integerPower(base: number, exponent: number): number {
  let result = 1;
  let factor = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= factor;
    factor *= factor;
  }
  return result;
}

function realPower(base: number, exponent: number): number {
  const size = Math.abs(base);
  if (!Number.isFinite(exponent)) {
    if (size === 1) return 1;
    return size > 1 === exponent > 0 ? Infinity : 0;
  }
  const isOdd = Number.isInteger(exponent) && Math.abs(exponent) % 2 === 1;
  const sign = base < 0 || (base === 0 && 1 / base < 0) ? (isOdd ? -1 : 1) : 1;
  if (size === 0) return exponent > 0 ? sign * 0 : sign * Infinity;
  if (size === Infinity) return exponent > 0 ? sign * Infinity : sign * 0;
  if (base < 0 && !Number.isInteger(exponent)) return Number.NaN;
  const [high, low] = logarithmParts(size);
  return sign * exponential(exponent * high, exponent * low + productError(exponent, high));
}

/** What rounding took from a * b (Dekker's product); 0 where the split would overflow. */
function productError(a: number, b: number): number {
  const product = a * b;
  if (Math.abs(a) > 1e150 || Math.abs(b) > 1e150) return 0;
  const [aHigh, aLow] = split(a);
  const [bHigh, bLow] = split(b);
  return aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
}

function split(x: number): [high: number, low: number] {
  const scaled = x * 134_217_729;
  const high = scaled - (scaled - x);
  return [high, x - high];
}
