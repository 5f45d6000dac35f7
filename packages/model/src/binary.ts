import type { ByteString } from './bytes.ts';

/**
 * Sequential writer of our own binary formats (entry, command, image record). Little-endian;
 * image keys, which must sort, use `u64be`. Grows by doubling; `take` hands over a trimmed view
 * and the writer starts afresh, so that a slice once taken is never written again.
 */
export class BinaryWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(sizeBytes = 256) {
    this.#buffer = Buffer.allocUnsafeSlow(sizeBytes);
  }

  get length(): number {
    return this.#length;
  }

  #reserve(count: number): number {
    const at = this.#length;
    const needed = at + count;
    if (needed > this.#buffer.length) {
      const bigger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2, 256));
      this.#buffer.copy(bigger, 0, 0, at);
      this.#buffer = bigger;
    }
    this.#length = needed;
    return at;
  }

  u8(value: number): this {
    const at = this.#reserve(1);
    this.#buffer[at] = value;
    return this;
  }

  u16(value: number): this {
    this.#buffer.writeUInt16LE(value, this.#reserve(2));
    return this;
  }

  u32(value: number): this {
    this.#buffer.writeUInt32LE(value, this.#reserve(4));
    return this;
  }

  f64(value: number): this {
    const at = this.#reserve(8);
    this.#buffer.writeDoubleLE(value, at);
    return this;
  }

  /** A 64-bit integer as two's complement. */
  i64(value: bigint): this {
    const at = this.#reserve(8);
    this.#buffer.writeBigInt64LE(BigInt.asIntN(64, value), at);
    return this;
  }

  /** A non-negative safe integer in 8 big-endian bytes: byte order is numeric order. */
  u64be(value: number): this {
    const at = this.#reserve(8);
    this.#buffer.writeUInt32BE(Math.floor(value / 4294967296), at);
    this.#buffer.writeUInt32BE(value % 4294967296, at + 4);
    return this;
  }

  /** A non-negative safe integer in 1–8 bytes, 7 bits each, least significant first. */
  varint(value: number): this {
    let rest = value;
    while (rest >= 128) {
      this.u8((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    return this.u8(rest);
  }

  /** Raw bytes, no length before them. Copies. */
  raw(bytes: Uint8Array): this {
    const at = this.#reserve(bytes.length);
    this.#buffer.set(bytes, at);
    return this;
  }

  /** Length-prefixed bytes. Copies. */
  bytes(bytes: Uint8Array): this {
    return this.varint(bytes.length).raw(bytes);
  }

  /** Length-prefixed byte string. */
  byteString(text: ByteString): this {
    this.varint(text.length);
    const at = this.#reserve(text.length);
    this.#buffer.write(text, at, text.length, 'latin1');
    return this;
  }

  /** Overwrites four bytes written before, for a length or checksum known only at the end. */
  patchU32(at: number, value: number): void {
    this.#buffer.writeUInt32LE(value, at);
  }

  /** The bytes written so far; the caller owns them, the writer starts with a new buffer. */
  take(): Uint8Array {
    const taken = this.#buffer.subarray(0, this.#length);
    // The next buffer is made when it is needed: most writers are used once.
    this.#buffer = NO_BUFFER;
    this.#length = 0;
    return taken;
  }

  /** An exact copy of the bytes written so far; the writer is emptied and keeps its buffer. */
  copy(): Uint8Array {
    const copy = Buffer.allocUnsafeSlow(this.#length);
    this.#buffer.copy(copy, 0, 0, this.#length);
    this.#length = 0;
    return copy;
  }

  /**
   * As `copy`, but cut from Node's shared pool: a quarter of the price at 256 bytes, and a copy
   * that stays pins up to 8 KiB. For bytes that are handed on and soon let go.
   */
  pooledCopy(): Uint8Array {
    const copy = Buffer.allocUnsafe(this.#length);
    this.#buffer.copy(copy, 0, 0, this.#length);
    this.#length = 0;
    return copy;
  }
}

const NO_BUFFER = Buffer.alloc(0);

/** Malformed input met by a BinaryReader: truncated or out of range. */
export class BinaryFormatError extends Error {
  override name = 'BinaryFormatError';
}

/**
 * Well-formed bytes of a version, kind or flag that this software does not know: newer software
 * wrote them. The member must stop (design §2); it is no damage, so nothing may be set aside.
 */
export class UnknownFormatError extends Error {
  override name = 'UnknownFormatError';
}

/** Sequential reader, the twin of BinaryWriter. Throws BinaryFormatError past the end. */
export class BinaryReader {
  readonly #buffer: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = end;
  }

  get position(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.#end - this.#at;
  }

  #advance(count: number): number {
    const at = this.#at;
    if (at + count > this.#end) {
      throw new BinaryFormatError(`needs ${count} bytes at ${at}, has ${this.#end - at}`);
    }
    this.#at = at + count;
    return at;
  }

  u8(): number {
    return this.#buffer[this.#advance(1)]!;
  }

  u16(): number {
    return this.#buffer.readUInt16LE(this.#advance(2));
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#advance(4));
  }

  f64(): number {
    return this.#buffer.readDoubleLE(this.#advance(8));
  }

  i64(): bigint {
    return this.#buffer.readBigInt64LE(this.#advance(8));
  }

  u64be(): number {
    const at = this.#advance(8);
    const value = this.#buffer.readUInt32BE(at) * 4294967296 + this.#buffer.readUInt32BE(at + 4);
    if (!Number.isSafeInteger(value)) throw new BinaryFormatError(`unsafe integer at ${at}`);
    return value;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
      if (scale > 2 ** 49) throw new BinaryFormatError(`varint too long at ${this.#at}`);
    }
    if (!Number.isSafeInteger(value)) throw new BinaryFormatError(`unsafe varint at ${this.#at}`);
    return value;
  }

  /** A view of the next bytes: valid as long as the input is. Copy what is kept. */
  raw(count: number): Uint8Array {
    const at = this.#advance(count);
    return this.#buffer.subarray(at, at + count);
  }

  /** Length-prefixed bytes as a view. */
  bytes(): Uint8Array {
    return this.raw(this.varint());
  }

  byteString(): ByteString {
    const count = this.varint();
    const at = this.#advance(count);
    // Straight from the input: a view in between would cost more than the string.
    return this.#buffer.toString('latin1', at, at + count);
  }

  /** Everything that is left, as a view. */
  rest(): Uint8Array {
    return this.raw(this.remaining);
  }
}
