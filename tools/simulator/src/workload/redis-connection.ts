import type { MemberDoors } from '../doors/member-doors.ts';
import type { ClientEnd, SimSocket } from '../doors/socket.ts';

/** An error reply. */
export class RespError {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A reply of the Redis door. */
export type RespValue = string | number | null | RespError | readonly RespValue[];

/** Undefined: the connection went before the reply came. */
export type RespReply = (value: RespValue | undefined) => void;

/** Reads RESP2 replies from bytes that may be split anywhere. */
class RespReader {
  #text = '';
  #at = 0;

  push(chunk: Buffer): void {
    this.#text = this.#text.slice(this.#at) + chunk.toString('latin1');
    this.#at = 0;
  }

  /** The next whole reply; undefined when there is none. */
  next(): RespValue | undefined {
    const start = this.#at;
    const value = this.#value();
    if (value === undefined) this.#at = start;
    return value;
  }

  #value(): RespValue | undefined {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end < 0) return undefined;
    const mark = this.#text[this.#at]!;
    const line = this.#text.slice(this.#at + 1, end);
    this.#at = end + 2;
    switch (mark) {
      case '+':
        return line;
      case '-':
        return new RespError(line);
      case ':':
        return Number(line);
      case '$':
        return this.#bulk(Number(line));
      case '*':
        return this.#list(Number(line));
      default:
        return new RespError(`no reply begins with ${mark}`);
    }
  }

  #bulk(bytes: number): RespValue | undefined {
    if (bytes < 0) return null;
    if (this.#at + bytes + 2 > this.#text.length) return undefined;
    const value = this.#text.slice(this.#at, this.#at + bytes);
    this.#at += bytes + 2;
    return value;
  }

  #list(count: number): RespValue | undefined {
    if (count < 0) return null;
    const list: RespValue[] = [];
    for (let i = 0; i < count; i++) {
      const value = this.#value();
      if (value === undefined) return undefined;
      list.push(value);
    }
    return list;
  }
}

export interface RedisListener {
  closed(): void;
  /** A message out of band; only on connections that subscribe. */
  push?(items: readonly RespValue[]): void;
  /** A reply that nobody asked for. */
  surplus(value: RespValue): void;
}

/** A client's connection to a Redis door: words in, replies in their order. */
export class RedisConnection implements ClientEnd {
  readonly socket: SimSocket;
  readonly doors: MemberDoors;
  readonly #listener: RedisListener;
  readonly #reader = new RespReader();
  readonly #waiting: RespReply[] = [];

  constructor(doors: MemberDoors, listener: RedisListener) {
    this.doors = doors;
    this.#listener = listener;
    this.socket = doors.dialRedis(this);
  }

  get isOpen(): boolean {
    return !this.socket.isOver;
  }

  /** Requests sent and not answered. */
  get outstanding(): number {
    return this.#waiting.length;
  }

  ask(words: readonly string[], reply: RespReply): void {
    this.#waiting.push(reply);
    this.#send(encode(words));
  }

  /** Several requests in one segment. */
  pipeline(requests: readonly { words: readonly string[]; reply: RespReply }[]): void {
    for (const { reply } of requests) this.#waiting.push(reply);
    this.#send(requests.map(({ words }) => encode(words)).join(''));
  }

  /** A request whose replies come as pushes. */
  tell(words: readonly string[]): void {
    this.#send(encode(words));
  }

  #send(text: string): void {
    this.socket.send(Buffer.from(text, 'latin1'));
  }

  /** Goes away; nobody is told. */
  close(): void {
    this.#waiting.length = 0;
    this.socket.close();
  }

  bytes(chunk: Buffer): void {
    this.#reader.push(chunk);
    for (let value = this.#reader.next(); value !== undefined; value = this.#reader.next()) {
      if (this.#listener.push !== undefined && Array.isArray(value)) this.#listener.push(value);
      else {
        const reply = this.#waiting.shift();
        if (reply === undefined) this.#listener.surplus(value);
        else reply(value);
      }
      if (this.socket.isOver) return;
    }
  }

  closed(): void {
    this.#listener.closed();
    for (const reply of this.#waiting.splice(0)) reply(undefined);
  }
}

function encode(words: readonly string[]): string {
  let text = `*${words.length}\r\n`;
  for (const word of words) text += `$${word.length}\r\n${word}\r\n`;
  return text;
}
