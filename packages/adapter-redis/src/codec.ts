import { type ByteString, LIMITS } from '@lockstep/model';
import { splitInline } from './inline.ts';

/** One parsed request: arguments as ranges of the buffer they arrived in, nothing copied. Valid
 * until the parser is asked for the next one. */
export class Request {
  buffer: Buffer = Buffer.alloc(0);
  count = 0;
  /** Start and end of argument i at 2i and 2i + 1. */
  ranges: number[] = [];

  /** Copies argument `i`. */
  argument(i: number): ByteString {
    return this.buffer.toString('latin1', this.ranges[2 * i]!, this.ranges[2 * i + 1]!);
  }

  /** A view of argument `i`. */
  view(i: number): Uint8Array {
    return this.buffer.subarray(this.ranges[2 * i]!, this.ranges[2 * i + 1]!);
  }

  argv(): ByteString[] {
    const argv: ByteString[] = [];
    for (let i = 0; i < this.count; i++) argv.push(this.argument(i));
    return argv;
  }

  /** Bytes of all arguments. */
  get sizeBytes(): number {
    let size = 0;
    for (let i = 0; i < this.count; i++) size += this.ranges[2 * i + 1]! - this.ranges[2 * i]!;
    return size;
  }
}

/** The client broke the protocol: answered with the text, then closed. */
export interface ProtocolError {
  readonly text: ByteString;
}

const LINE_BYTES_MAX = 64 * 1024;
const ARGUMENTS_MAX = 1024 * 1024;
const UNAUTHENTICATED_ARGUMENTS_MAX = 10;
const UNAUTHENTICATED_BULK_BYTES_MAX = 16_384;
const BUFFER_BYTES_MIN = 16 * 1024;
const CR = 0x0d;
const LF = 0x0a;
const STAR = 0x2a;
const DOLLAR = 0x24;

/**
 * Incremental RESP request parser: arrays of bulks and inline lines (`reference/redis.md` §1.1).
 * It resumes where the bytes ended, so that a large request in many pieces is read once.
 * Bytes before the present write position never move in place: ranges handed out stay good.
 */
export class RequestParser {
  /** True before authentication when a password is set: much smaller limits. */
  limited = false;
  readonly request = new Request();
  #buffer: Buffer = Buffer.alloc(0);
  /** Whether we may write behind `#end`: never into a chunk that somebody else gave us. */
  #owned = false;
  #at = 0;
  #end = 0;
  #start = 0;
  #argumentsLeft = 0;
  #bulkLength = -1;

  /** Bytes received and not yet parsed. */
  get buffered(): number {
    return this.#end - this.#start;
  }

  /** Takes over the chunk. */
  append(chunk: Buffer): void {
    const kept = this.#end - this.#start;
    if (kept === 0) {
      this.#adopt(chunk, chunk.length, false);
      return;
    }
    if (!this.#owned || this.#end + chunk.length > this.#buffer.length) {
      const capacity = Math.max(BUFFER_BYTES_MIN, 2 * (kept + chunk.length));
      const buffer = Buffer.allocUnsafeSlow(capacity);
      this.#buffer.copy(buffer, 0, this.#start, this.#end);
      this.#adopt(buffer, kept, true);
    }
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
  }

  #adopt(buffer: Buffer, end: number, owned: boolean): void {
    // A complete request keeps the buffer it lies in; only the one being read moves along.
    const ranges = this.#argumentsLeft > 0 ? this.request.ranges : [];
    for (let i = 0; i < ranges.length; i++) ranges[i]! -= this.#start;
    this.#at -= this.#start;
    this.#start = 0;
    this.#buffer = buffer;
    this.#end = end;
    this.#owned = owned;
  }

  /** The next request, undefined when more bytes are needed, or the client's error. */
  next(): Request | ProtocolError | undefined {
    for (;;) {
      if (this.#argumentsLeft === 0) {
        this.request.ranges = [];
        this.request.count = 0;
        this.#start = this.#at;
        if (this.#at >= this.#end) return undefined;
        if (this.#buffer[this.#at] !== STAR) {
          const inline = this.#inline();
          if (inline === 'skip') continue;
          return inline;
        }
        const header = this.#header();
        if (header === 'skip') continue;
        if (header !== undefined) return header === 'incomplete' ? undefined : header;
      }
      return this.#arguments();
    }
  }

  #inline(): Request | ProtocolError | undefined | 'skip' {
    const lineEnd = this.#buffer.subarray(this.#at, this.#end).indexOf(LF);
    if (lineEnd < 0) {
      if (this.#end - this.#at <= LINE_BYTES_MAX) return undefined;
      return protocolError('too big inline request');
    }
    const end = this.#at + lineEnd;
    const text = this.#buffer.toString(
      'latin1',
      this.#at,
      this.#buffer[end - 1] === CR ? end - 1 : end,
    );
    this.#at = end + 1;
    this.#start = this.#at;
    const words = splitInline(text);
    if (words === undefined) return protocolError('unbalanced quotes in request');
    if (words.length === 0) return 'skip';
    this.#collect(words);
    return this.request;
  }

  #collect(words: readonly ByteString[]): void {
    const { request } = this;
    request.buffer = Buffer.from(words.join(''), 'latin1');
    let at = 0;
    for (const word of words) {
      request.ranges.push(at, at + word.length);
      at += word.length;
    }
    request.count = words.length;
  }

  /** Reads `*n`; undefined when arguments follow. */
  #header(): ProtocolError | 'incomplete' | 'skip' | undefined {
    const end = this.#lineEnd();
    if (end < 0) {
      if (this.#end - this.#at <= LINE_BYTES_MAX) return 'incomplete';
      return protocolError('too big mbulk count string');
    }
    const count = this.#number(this.#at + 1, end);
    if (count === undefined || count > ARGUMENTS_MAX) {
      return protocolError('invalid multibulk length');
    }
    if (this.limited && count > UNAUTHENTICATED_ARGUMENTS_MAX) {
      return protocolError('unauthenticated multibulk length');
    }
    this.#at = end + 2;
    if (count <= 0) return 'skip';
    this.#argumentsLeft = count;
    this.#bulkLength = -1;
    return undefined;
  }

  #arguments(): Request | ProtocolError | undefined {
    const { request } = this;
    while (this.#argumentsLeft > 0) {
      if (this.#bulkLength < 0) {
        const problem = this.#bulkHeader();
        if (problem !== undefined) return problem === 'incomplete' ? undefined : problem;
      }
      const end = this.#at + this.#bulkLength;
      if (end + 2 > this.#end) return this.#tooLarge(end);
      request.ranges.push(this.#at, end);
      this.#at = end + 2;
      this.#bulkLength = -1;
      this.#argumentsLeft--;
      if (this.#at - this.#start > REQUEST_BYTES_MAX) return this.#tooLarge(this.#at);
    }
    request.buffer = this.#buffer;
    request.count = request.ranges.length / 2;
    this.#start = this.#at;
    return request;
  }

  #bulkHeader(): ProtocolError | 'incomplete' | undefined {
    const end = this.#lineEnd();
    if (end < 0) {
      if (this.#end - this.#at <= LINE_BYTES_MAX) return 'incomplete';
      return protocolError('too big bulk count string');
    }
    if (this.#buffer[this.#at] !== DOLLAR) {
      const found = String.fromCharCode(this.#buffer[this.#at]!);
      return protocolError(`expected '$', got '${found}'`);
    }
    const length = this.#number(this.#at + 1, end);
    if (length === undefined || length < 0 || length > LIMITS.commandBytesMaxRedis) {
      return protocolError('invalid bulk length');
    }
    if (this.limited && length > UNAUTHENTICATED_BULK_BYTES_MAX) {
      return protocolError('unauthenticated bulk length');
    }
    this.#at = end + 2;
    this.#bulkLength = length;
    return undefined;
  }

  /** Position of the CR that ends the line at `#at`, with the byte after it received; else −1. */
  #lineEnd(): number {
    const buffer = this.#buffer;
    // Nearly always within a few bytes: a call into native code would cost more.
    const near = Math.min(this.#end - 1, this.#at + 16);
    for (let i = this.#at; i < near; i++) if (buffer[i] === CR) return i;
    const found = buffer.indexOf(CR, near);
    return found >= 0 && found + 1 < this.#end ? found : -1;
  }

  #number(start: number, end: number): number | undefined {
    const buffer = this.#buffer;
    const negative = buffer[start] === 0x2d;
    const first = negative ? start + 1 : start;
    if (end - first < 1 || end - first > 15) return undefined;
    let value = 0;
    for (let i = first; i < end; i++) {
      const digit = buffer[i]! - 0x30;
      if (digit < 0 || digit > 9) return undefined;
      value = value * 10 + digit;
    }
    return negative ? -value : value;
  }

  /** A request that cannot be a command any more is refused before all of it is here. */
  #tooLarge(end: number): ProtocolError | undefined {
    if (end - this.#start <= REQUEST_BYTES_MAX) return undefined;
    return protocolError('invalid bulk length');
  }
}

/** Room for the command limit and the lengths around many small arguments. */
const REQUEST_BYTES_MAX = 2 * LIMITS.commandBytesMaxRedis;

export function isProtocolError(value: Request | ProtocolError): value is ProtocolError {
  return 'text' in value;
}

function protocolError(reason: string): ProtocolError {
  return { text: `ERR Protocol error: ${reason}` };
}
