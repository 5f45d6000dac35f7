import { connect, type Socket } from 'node:net';

/** A socket that reads replies as raw RESP text, one at a time. */
export class RawClient {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #waiting: ((reply: string) => void)[] = [];
  closed = false;
  readonly #closing: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#dispatch();
    });
    socket.on('error', () => {});
    this.#closing = new Promise((resolve) => {
      socket.on('close', () => {
        this.closed = true;
        this.#dispatch();
        for (const waiting of this.#waiting.splice(0)) waiting('<closed>');
        resolve();
      });
    });
  }

  static open(port: number, host = '127.0.0.1'): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host, noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new RawClient(socket)));
    });
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  send(...words: string[]): void {
    this.write(encode(words));
  }

  /** The next reply as raw text, or `<closed>`. */
  next(): Promise<string> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#dispatch();
      if (this.closed && this.#waiting.includes(resolve)) {
        this.#waiting = this.#waiting.filter((one) => one !== resolve);
        resolve('<closed>');
      }
    });
  }

  call(...words: string[]): Promise<string> {
    this.send(...words);
    return this.next();
  }

  /** Resolves once the other side has closed. */
  whenClosed(): Promise<void> {
    return this.#closing;
  }

  /** Stops taking bytes from the operating system. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Bytes that came and nobody asked for. */
  get unread(): string {
    return this.#received.toString('latin1');
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const end = replyEnd(this.#received, 0);
      if (end < 0) return;
      const reply = this.#received.subarray(0, end).toString('latin1');
      this.#received = this.#received.subarray(end);
      this.#waiting.shift()!(reply);
    }
  }
}

export function encode(words: readonly string[]): Buffer {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`, 'latin1');
}

/** Position after the reply that begins at `at`; −1 when it is not complete. */
function replyEnd(bytes: Buffer, at: number): number {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return -1;
  const after = lineEnd + 2;
  const mark = String.fromCharCode(bytes[at]!);
  const count = Number(bytes.toString('latin1', at + 1, lineEnd));
  if ('$=!'.includes(mark)) {
    if (count < 0) return after;
    return after + count + 2 <= bytes.length ? after + count + 2 : -1;
  }
  if (!'*%~>|'.includes(mark)) return after;
  let end = after;
  const items = mark === '%' || mark === '|' ? 2 * count : count;
  for (let i = 0; i < items; i++) {
    if (end >= bytes.length) return -1;
    end = replyEnd(bytes, end);
    if (end < 0) return -1;
  }
  return end;
}
