import type { ByteString } from '@lockstep/model';

const { imul } = Math;

/**
 * Hash of one image row in two 32-bit lanes made by two different functions, so that what escapes
 * one does not escape the other (design §11). Sums of rows are order-free: the state hash is the
 * sum of all rows' lanes, and a change costs one hash. Lane `a` follows MurmurHash3's block step,
 * lane `b` that of xxHash32; both are public-domain constructions, written here from their
 * published steps. Results are left in the fields, because a pair would be garbage per row.
 */
export class StateHasher {
  a = 0;
  b = 0;

  /** Starts from a table's number. */
  start(table: number): this {
    this.a = imul(table + 0x2545f491, 0x9e3779b1) | 0;
    this.b = imul(table ^ 0x5bd1e995, 0x85ebca77) | 0;
    return this;
  }

  /** Resumes from lanes kept after `start` and `text`: a record keeps those of its key. */
  resume(a: number, b: number): this {
    this.a = a;
    this.b = b;
    return this;
  }

  text(key: ByteString): this {
    let { a, b } = this;
    for (let i = 0; i < key.length; i++) {
      const byte = key.charCodeAt(i);
      a = imul(a ^ byte, 0x01000193);
      b = imul(b + byte, 0xc2b2ae3d);
      b = (b << 13) | (b >>> 19);
    }
    this.a = a ^ key.length;
    this.b = b;
    return this;
  }

  /** Adds the bytes from an offset to the end and finishes both lanes. */
  finish(bytes: Uint8Array, from: number): this {
    let { a, b } = this;
    let i = from;
    const whole = from + ((bytes.length - from) & ~3);
    for (; i < whole; i += 4) {
      const word = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
      let mixed = imul(word, 0xcc9e2d51);
      mixed = imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
      a ^= mixed;
      a = (imul((a << 13) | (a >>> 19), 5) + 0xe6546b64) | 0;
      b = (b + imul(word, 0x85ebca77)) | 0;
      b = imul((b << 13) | (b >>> 19), 0x9e3779b1);
    }
    for (; i < bytes.length; i++) {
      a = imul(a ^ bytes[i]!, 0x01000193);
      b = (b + imul(bytes[i]!, 0x165667b1)) | 0;
      b = imul((b << 11) | (b >>> 21), 0x9e3779b1);
    }
    const length = bytes.length - from;
    a ^= length;
    a = imul(a ^ (a >>> 16), 0x85ebca6b);
    a = imul(a ^ (a >>> 13), 0xc2b2ae35);
    this.a = (a ^ (a >>> 16)) | 0;
    b = (b + length) | 0;
    b = imul(b ^ (b >>> 15), 0x85ebca77);
    b = imul(b ^ (b >>> 13), 0xc2b2ae3d);
    this.b = (b ^ (b >>> 16)) | 0;
    return this;
  }
}

/** A sum of row hashes. */
export class HashSum {
  a = 0;
  b = 0;

  add(a: number, b: number): void {
    this.a = (this.a + a) | 0;
    this.b = (this.b + b) | 0;
  }

  subtract(a: number, b: number): void {
    this.a = (this.a - a) | 0;
    this.b = (this.b - b) | 0;
  }
}

/** Both lanes as 16 hex digits. */
export function hashText(a: number, b: number): string {
  const lane = (value: number): string => (value >>> 0).toString(16).padStart(8, '0');
  return lane(a) + lane(b);
}
