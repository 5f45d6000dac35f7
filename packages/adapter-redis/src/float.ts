import type { ByteString } from '@lockstep/model';

const DECIMAL = /^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?)$/i;

/** A number as Redis accepts it from clients: no spaces, no NaN. Undefined otherwise. */
export function parseFloatStrict(text: ByteString): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const lower = text.toLowerCase();
  if (lower.includes('inf')) {
    return lower.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  return Number(text);
}

/**
 * INCRBYFLOAT's form: never an exponent, no trailing zeros. Redis adds in 80-bit precision and
 * prints 17 decimals; we add in 64 bit and print the shortest digits that read back the same.
 */
export function formatFloat(value: number): ByteString {
  const text = String(value);
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign, lead, fraction = '', exponentText] = match;
  const exponent = Number(exponentText);
  const digits = lead + fraction;
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  return `${sign}${digits.padEnd(exponent + 1, '0')}`;
}
