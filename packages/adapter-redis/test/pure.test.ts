import { createHash } from 'node:crypto';
import { BinaryReader, BinaryWriter } from '@lockstep/model';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatFloat } from '../src/float.ts';
import { globMatches } from '../src/glob.ts';
import { addIntegers, parseInteger } from '../src/integer.ts';
import { sha1 } from '../src/sha1.ts';
import { type RedisValue, valueCodec } from '../src/value.ts';

const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString('latin1'));

describe('SHA-1', () => {
  it('is that of the platform', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (array) => {
        const text = Buffer.from(array).toString('latin1');
        expect(sha1(text)).toBe(createHash('sha1').update(array).digest('hex'));
      }),
    );
  });
});

describe('integers', () => {
  it('add as 64-bit integers do', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        const [x, y] = [parseInteger(String(a))!, parseInteger(String(b))!];
        expect([String(x), String(y)]).toEqual([String(a), String(b)]);
        const sum = a + b;
        const fits = BigInt.asIntN(64, sum) === sum;
        expect(addIntegers(x, y)?.toString()).toBe(fits ? String(sum) : undefined);
      }),
    );
  });

  it.each(['', ' 1', '+1', '01', '-0', '1.5', '1e3', '-', '9223372036854775808'])(
    'refuse %j',
    (text) => {
      expect(parseInteger(text)).toBeUndefined();
    },
  );
});

describe('floats', () => {
  it.each([
    [1e21, '1000000000000000000000'],
    [1.5e-7, '0.00000015'],
    [-2.5e22, '-25000000000000000000000'],
    [3, '3'],
  ])('%d prints as %s', (value, text) => {
    expect(formatFloat(value)).toBe(text);
  });
});

describe('glob patterns', () => {
  it.each([
    ['h?llo', 'hello', true],
    ['h*llo', 'heeeello', true],
    ['h[ae]llo', 'hillo', false],
    ['h[^e]llo', 'hallo', true],
    ['h[a-c]llo', 'hbllo', true],
    ['h[c-a]llo', 'hbllo', true],
    ['a\\*c', 'a*c', true],
    ['a\\*c', 'abc', false],
    ['*a*b', 'xxaxxbxxb', true],
    ['[abc', 'a', true],
    ['', '', true],
    ['**', '', true],
  ])('%s against %s: %s', (pattern, text, matches) => {
    expect(globMatches(pattern, text)).toBe(matches);
  });

  it('do not take exponential time', () => {
    expect(globMatches(`${'*a'.repeat(50)}b`, 'a'.repeat(2000))).toBe(false);
  });
});

describe('stored values', () => {
  it('survive the image', () => {
    fc.assert(
      fc.property(bytes, fc.option(fc.nat(), { nil: undefined }), (text, deadline) => {
        const absolute = deadline === undefined ? {} : { absolute: { wallMs: 1.8e12, deadline } };
        const value: RedisValue = { kind: 'string', text, ...absolute };
        const writer = new BinaryWriter();
        valueCodec.encode(writer, value);
        expect(valueCodec.decode(new BinaryReader(writer.take()))).toEqual(value);
      }),
    );
  });
});
