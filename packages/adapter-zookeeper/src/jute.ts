import { type ByteString, toByteString } from '@lockstep/model';

/** A request record that ends early or declares an impossible length: answered with -5. */
export class JuteError extends Error {
  override name = 'JuteError';
}

const TWO_32 = 4294967296;

/**
 * Sequential reader of jute, ZooKeeper's encoding: big-endian, no tags, no padding, -1 as the
 * length of null. Strings come as byte strings, buffers as views on the input. Throws JuteError.
 */
export class JuteReader {
  readonly #buffer: Buffer;
  #at: number;

  constructor(bytes: Buffer, start = 0) {
    this.#buffer = bytes;
    this.#at = start;
  }

  get remaining(): number {
    return this.#buffer.length - this.#at;
  }

  #advance(count: number): number {
    const at = this.#at;
    if (at + count > this.#buffer.length) throw new JuteError(`record ends at byte ${at}`);
    this.#at = at + count;
    return at;
  }

  bool(): boolean {
    return this.#buffer[this.#advance(1)] !== 0;
  }

  int(): number {
    return this.#buffer.readInt32BE(this.#advance(4));
  }

  /** A long whose exact value beyond 2^53 does not matter (zxid, TTL). */
  long(): number {
    const at = this.#advance(8);
    return this.#buffer.readInt32BE(at) * TWO_32 + this.#buffer.readUInt32BE(at + 4);
  }

  /** A long that is an identifier. */
  id(): bigint {
    return this.#buffer.readBigInt64BE(this.#advance(8));
  }

  buffer(): Uint8Array | null {
    const length = this.int();
    if (length === -1) return null;
    if (length < 0) throw new JuteError(`length ${length}`);
    const at = this.#advance(length);
    return this.#buffer.subarray(at, at + length);
  }

  /** A string as its UTF-8 bytes: paths are compared and stored as they came. */
  string(): ByteString | null {
    const bytes = this.buffer();
    return bytes === null ? null : toByteString(bytes);
  }

  /** Number of elements of a vector; -1 for null. Each element takes a byte at least. */
  count(): number {
    const count = this.int();
    if (count < -1 || count > this.remaining) throw new JuteError(`vector of ${count}`);
    return count;
  }

  strings(): ByteString[] {
    const list: ByteString[] = [];
    for (let left = this.count(); left > 0; left--) list.push(this.string() ?? '');
    return list;
  }
}

const CHUNK_BYTES = 1024;
/** Values from this size on are sent by reference: copying them would cost more than a chunk. */
const REFERENCE_BYTES_MIN = 2048;

/**
 * Writer of length-prefixed jute frames into a list of chunks. Nothing written is ever moved, so
 * that a frame's length can be filled in afterwards and large values need no copy.
 */
export class FrameWriter {
  #chunks: Uint8Array[] = [];
  #buffer: Buffer = Buffer.alloc(0);
  #start = 0;
  #at = 0;
  #flushed = 0;
  #frame: { buffer: Buffer; at: number; total: number } | undefined;

  /** Bytes written and not yet taken. */
  get length(): number {
    return this.#flushed + this.#at - this.#start;
  }

  #reserve(count: number): number {
    if (this.#at + count > this.#buffer.length) {
      this.#closeChunk();
      this.#buffer = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, count));
      this.#start = 0;
      this.#at = 0;
    }
    const at = this.#at;
    this.#at = at + count;
    return at;
  }

  #closeChunk(): void {
    if (this.#at === this.#start) return;
    this.#chunks.push(this.#buffer.subarray(this.#start, this.#at));
    this.#flushed += this.#at - this.#start;
    this.#start = this.#at;
  }

  begin(): this {
    const at = this.#reserve(4);
    this.#frame = { buffer: this.#buffer, at, total: this.length };
    return this;
  }

  end(): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    frame.buffer.writeInt32BE(this.length - frame.total, frame.at);
    this.#frame = undefined;
  }

  bool(value: boolean): this {
    const at = this.#reserve(1);
    this.#buffer[at] = value ? 1 : 0;
    return this;
  }

  int(value: number): this {
    const at = this.#reserve(4);
    this.#buffer.writeInt32BE(value, at);
    return this;
  }

  /** A safe integer, negative ones too. */
  long(value: number): this {
    const at = this.#reserve(8);
    const high = Math.floor(value / TWO_32);
    this.#buffer.writeInt32BE(high, at);
    this.#buffer.writeUInt32BE(value - high * TWO_32, at + 4);
    return this;
  }

  id(value: bigint): this {
    // Most owners are nobody; the conversion of a bigint is far slower than this test.
    if (value === 0n) return this.int(0).int(0);
    const at = this.#reserve(8);
    this.#buffer.writeBigInt64BE(value, at);
    return this;
  }

  /** Large values are kept by reference and must never change. */
  buffer(value: Uint8Array | null): this {
    if (value === null) return this.int(-1);
    this.int(value.length);
    if (value.length >= REFERENCE_BYTES_MIN) {
      this.#closeChunk();
      this.#chunks.push(value);
      this.#flushed += value.length;
      return this;
    }
    const at = this.#reserve(value.length);
    this.#buffer.set(value, at);
    return this;
  }

  string(value: ByteString | null): this {
    if (value === null) return this.int(-1);
    this.int(value.length);
    const at = this.#reserve(value.length);
    this.#buffer.write(value, at, value.length, 'latin1');
    return this;
  }

  strings(values: readonly ByteString[]): this {
    this.int(values.length);
    for (const value of values) this.string(value);
    return this;
  }

  /** All bytes so far as chunks in order; the caller owns them and the writer starts afresh. */
  take(): Uint8Array[] {
    this.#closeChunk();
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#flushed = 0;
    return chunks;
  }
}
