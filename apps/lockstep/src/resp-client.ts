import { connect, type Socket } from 'node:net';
import type { Address } from './option-value.ts';

export type RespValue = string | number | null | RespValue[] | Error;

/** A small RESP2 client for our own commands: one connection, replies in order. */
export class RespClient {
  readonly #socket: Socket;
  readonly #waiting: ((value: RespValue) => void)[] = [];
  #received = Buffer.alloc(0);
  /** Runs once when the connection is lost or closed. */
  onClose: (error: Error | undefined) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    let failure: Error | undefined;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => {
      const error = failure ?? new Error('the server closed the connection');
      for (const answer of this.#waiting.splice(0)) answer(error);
      this.onClose(failure);
    });
  }

  static open(address: Address): Promise<RespClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(address.port, address.host);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RespClient(socket));
      });
    });
  }

  /** Sends one command. Error replies reject. */
  call(...words: readonly string[]): Promise<RespValue> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve, reject) => {
      this.#waiting.push((value) => (value instanceof Error ? reject(value) : resolve(value)));
    });
  }

  close(): void {
    this.#socket.end();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const parsed = parseReply(this.#received, 0);
      if (parsed === undefined) return;
      this.#received = this.#received.subarray(parsed.end);
      this.#waiting.shift()?.(parsed.value);
    }
  }
}

/** One reply from `at`; undefined when it is not complete yet. */
function parseReply(bytes: Buffer, at: number): { value: RespValue; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('utf8', at + 1, lineEnd);
  const next = lineEnd + 2;
  switch (bytes[at]) {
    case 0x2b:
      return { value: line, end: next };
    case 0x2d:
      return { value: new Error(line), end: next };
    case 0x3a:
      return { value: Number(line), end: next };
    case 0x24: {
      const length = Number(line);
      if (length < 0) return { value: null, end: next };
      if (bytes.length < next + length + 2) return undefined;
      return { value: bytes.toString('utf8', next, next + length), end: next + length + 2 };
    }
    case 0x2a:
      return parseArray(bytes, next, Number(line));
    default:
      return { value: new Error(`unexpected reply '${line}'`), end: next };
  }
}

function parseArray(bytes: Buffer, at: number, count: number) {
  if (count < 0) return { value: null, end: at };
  const items: RespValue[] = [];
  let end = at;
  for (let i = 0; i < count; i++) {
    const item = parseReply(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.value);
    end = item.end;
  }
  return { value: items, end };
}
