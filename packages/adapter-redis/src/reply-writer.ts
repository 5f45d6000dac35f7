import { type ByteString, InvariantError } from '@lockstep/model';
import type { Reply } from './reply.ts';

export type Protocol = 2 | 3;

/** A new connection starts small, since most are idle; the chunk follows what a turn writes. */
const CHUNK_BYTES_MIN = 512;
const CHUNK_BYTES_MAX = 16 * 1024;
const ROOM_BYTES_MIN = 64;
const CRLF = 0x0a0d;

/**
 * Turns replies into bytes, corked: everything of one turn becomes one buffer. Taken bytes are
 * never written again; the rest of the chunk serves the next turn.
 */
export class ReplyWriter {
  #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES_MIN);
  #taken = 0;
  #at = 0;

  /** Bytes written and not yet taken. */
  get length(): number {
    return this.#at - this.#taken;
  }

  /** The bytes since the last take; the caller owns them. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(this.#taken, this.#at);
    if (this.#buffer.length - this.#at < ROOM_BYTES_MIN) {
      const size = Math.max(CHUNK_BYTES_MIN, Math.min(CHUNK_BYTES_MAX, 2 * bytes.length));
      this.#buffer = Buffer.allocUnsafeSlow(size);
      this.#at = 0;
    }
    this.#taken = this.#at;
    return bytes;
  }

  write(reply: Reply, protocol: Protocol): void {
    if (typeof reply === 'string') this.#bulk('$', reply);
    else if (typeof reply === 'number') this.#line(':', String(reply));
    else if (reply === null) this.#text(protocol === 3 ? '_\r\n' : '$-1\r\n');
    else if (typeof reply === 'bigint') this.#line(':', reply.toString());
    else if (isArray(reply)) this.#items('*', reply.length, reply, protocol);
    else if (protocol === 3) this.#resp3(reply);
    else this.#resp2(reply);
  }

  #resp2(reply: Tagged): void {
    switch (reply.kind) {
      case 'status':
        this.#line('+', oneLine(reply.text));
        break;
      case 'error':
        this.#line('-', oneLine(reply.text));
        break;
      case 'null-array':
        this.#text('*-1\r\n');
        break;
      case 'map':
      case 'set':
      case 'push':
        this.#items('*', reply.items.length, reply.items, 2);
        break;
      case 'double':
        this.#bulk('$', doubleText(reply.value));
        break;
      case 'boolean':
        this.#line(':', reply.value ? '1' : '0');
        break;
      case 'big-number':
      case 'verbatim':
        this.#bulk('$', reply.text);
        break;
      case 'many':
        for (const item of reply.items) this.write(item, 2);
        break;
      case 'queued':
        throw unanswered();
    }
  }

  #resp3(reply: Tagged): void {
    switch (reply.kind) {
      case 'status':
        this.#line('+', oneLine(reply.text));
        break;
      case 'error':
        this.#line('-', oneLine(reply.text));
        break;
      case 'null-array':
        this.#text('_\r\n');
        break;
      case 'map':
        this.#items('%', reply.items.length / 2, reply.items, 3);
        break;
      case 'set':
        this.#items('~', reply.items.length, reply.items, 3);
        break;
      case 'push':
        this.#items('>', reply.items.length, reply.items, 3);
        break;
      case 'double':
        this.#line(',', doubleText(reply.value));
        break;
      case 'boolean':
        this.#line('#', reply.value ? 't' : 'f');
        break;
      case 'big-number':
        this.#line('(', oneLine(reply.text));
        break;
      case 'verbatim':
        this.#bulk('=', `${reply.format}:${reply.text}`);
        break;
      case 'many':
        for (const item of reply.items) this.write(item, 3);
        break;
      case 'queued':
        throw unanswered();
    }
  }

  #items(mark: string, count: number, items: readonly Reply[], protocol: Protocol): void {
    this.#line(mark, String(count));
    for (const item of items) this.write(item, protocol);
  }

  #bulk(mark: string, text: ByteString): void {
    this.#line(mark, String(text.length));
    this.#reserve(text.length + 2);
    this.#at += this.#buffer.write(text, this.#at, text.length, 'latin1');
    this.#at = this.#buffer.writeUInt16LE(CRLF, this.#at);
  }

  #line(mark: string, text: ByteString): void {
    this.#reserve(text.length + 3);
    this.#buffer[this.#at++] = mark.charCodeAt(0);
    if (text.length < 12) {
      for (let i = 0; i < text.length; i++) this.#buffer[this.#at++] = text.charCodeAt(i);
    } else {
      this.#at += this.#buffer.write(text, this.#at, text.length, 'latin1');
    }
    this.#at = this.#buffer.writeUInt16LE(CRLF, this.#at);
  }

  #text(text: string): void {
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#buffer[this.#at++] = text.charCodeAt(i);
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#buffer.length) return;
    const kept = this.#at - this.#taken;
    const buffer = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES_MIN, 2 * (kept + count)));
    this.#buffer.copy(buffer, 0, this.#taken, this.#at);
    this.#buffer = buffer;
    this.#taken = 0;
    this.#at = kept;
  }
}

type Tagged = Exclude<Reply, number | bigint | string | null | readonly Reply[]>;

/** A queued command has no reply yet: its session waits for the waiter's event. */
function unanswered(): InvariantError {
  return new InvariantError('a command that still waits in a queue was answered');
}

function isArray(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply);
}

/** A line break inside a one-line reply would let its text forge the next reply. */
function oneLine(text: ByteString): ByteString {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, ' ') : text;
}

/** Shortest form that reads back the same; `inf`, `-inf`, `nan` as RESP3 spells them. */
export function doubleText(value: number): ByteString {
  if (Number.isNaN(value)) return 'nan';
  if (value === Number.POSITIVE_INFINITY) return 'inf';
  if (value === Number.NEGATIVE_INFINITY) return '-inf';
  if (Object.is(value, -0)) return '-0';
  return String(value);
}
