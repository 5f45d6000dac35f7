import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isProtocolError, RequestParser } from '../src/codec.ts';
import { encode } from './raw-client.ts';

/** Everything the parser makes of chunks: argument lists, then the error that ends it, if any. */
function parseAll(chunks: readonly Buffer[], limited = false): (string[] | string)[] {
  const parser = new RequestParser();
  parser.limited = limited;
  const found: (string[] | string)[] = [];
  for (const chunk of chunks) {
    parser.append(chunk);
    for (let next = parser.next(); next !== undefined; next = parser.next()) {
      if (isProtocolError(next)) return [...found, next.text];
      found.push(next.argv());
    }
  }
  return found;
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  let start = 0;
  return ends.map((end) => {
    const chunk = Buffer.from(bytes.subarray(start, end));
    start = end;
    return chunk;
  });
}

const word = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const request = fc.array(word, { minLength: 1, maxLength: 6 });

describe('the request parser', () => {
  it('gives the same requests however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 8 }), fc.array(fc.nat()), (requests, cuts) => {
        const bytes = Buffer.concat(requests.map(encode));
        expect(parseAll(split(bytes, cuts))).toEqual(requests);
      }),
    );
  });

  it('never throws on random bytes, and says the same whole or byte by byte', () => {
    const alphabet = fc.constantFrom(...'*$:\r\n0123-" \'\\xabGET'.split(''));
    const text = fc.oneof(
      fc.array(alphabet, { maxLength: 60 }).map((chars) => chars.join('')),
      word,
    );
    fc.assert(
      fc.property(text, (input) => {
        const bytes = Buffer.from(input, 'latin1');
        const single = [...bytes].map((byte) => Buffer.from([byte]));
        expect(parseAll(single)).toEqual(parseAll([bytes]));
      }),
    );
  });

  it('keeps a request readable while more bytes arrive', () => {
    const parser = new RequestParser();
    const first = encode(['SET', 'key', 'x'.repeat(1000)]);
    parser.append(first.subarray(0, 20));
    expect(parser.next()).toBeUndefined();
    parser.append(first.subarray(20));
    const held = parser.next();
    for (let i = 0; i < 100; i++) parser.append(encode(['GET', `other-${i}`]));
    expect(held !== undefined && !isProtocolError(held) && held.argv()[2]).toBe('x'.repeat(1000));
  });

  it('refuses what is too large before all of it has come', () => {
    const error = 'ERR Protocol error: invalid bulk length';
    expect(parseAll([Buffer.from('*2\r\n$3\r\nGET\r\n$4194305\r\n')])).toEqual([error]);
    const many = Buffer.from(`$4194304\r\n${'x'.repeat(4 * 1024 * 1024)}\r\n`);
    expect(parseAll([Buffer.from('*9\r\n'), many, many, many])).toEqual([error]);
    const tooMany = 'ERR Protocol error: invalid multibulk length';
    expect(parseAll([Buffer.from('*1048577\r\n')])).toEqual([tooMany]);
  });

  it('has small limits before authentication', () => {
    const count = 'ERR Protocol error: unauthenticated multibulk length';
    expect(parseAll([Buffer.from('*11\r\n')], true)).toEqual([count]);
    const bulk = 'ERR Protocol error: unauthenticated bulk length';
    expect(parseAll([Buffer.from('*1\r\n$16385\r\n')], true)).toEqual([bulk]);
  });
});
