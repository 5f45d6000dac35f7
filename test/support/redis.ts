import { connect, type Socket } from 'node:net';

export type Reply = string | number | null | Reply[] | RedisError;

export class RedisError extends Error {
  override name = 'RedisError';
}

/** A plain RESP2 connection that shows replies as they are: error replies are values. */
export class Redis {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void }[] = [];
  closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('connection closed'));
    });
  }

  static open(port: number): Promise<Redis> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Redis(socket)));
    });
  }

  call(...words: readonly (string | number)[]): Promise<Reply> {
    return this.pipeline([words])[0] ?? Promise.resolve(null);
  }

  /** All commands in one write. */
  pipeline(commands: readonly (readonly (string | number)[])[]): Promise<Reply>[] {
    const replies = commands.map(
      () => new Promise<Reply>((resolve, reject) => this.#waiting.push({ resolve, reject })),
    );
    // A reply that nobody awaits yet must not count as unhandled when the connection breaks.
    for (const reply of replies) reply.catch(() => undefined);
    this.#socket.write(Buffer.concat(commands.map(encode)));
    return replies;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const parsed = parse(this.#rest, 0);
      if (parsed === undefined) return;
      this.#rest = this.#rest.subarray(parsed.end);
      this.#waiting.shift()?.resolve(parsed.reply);
    }
  }
}

function encode(words: readonly (string | number)[]): Buffer {
  const parts = words.map((word) => {
    const text = String(word);
    return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
  });
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`);
}

function parse(bytes: Buffer, at: number): { reply: Reply; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const kind = String.fromCharCode(bytes[at] ?? 0);
  const line = bytes.toString('utf8', at + 1, lineEnd);
  const next = lineEnd + 2;
  if (kind === '+') return { reply: line, end: next };
  if (kind === '-') return { reply: new RedisError(line), end: next };
  if (kind === ':') return { reply: Number(line), end: next };
  const length = Number(line);
  if (length < 0) return { reply: null, end: next };
  if (kind === '$') {
    if (bytes.length < next + length + 2) return undefined;
    return { reply: bytes.toString('utf8', next, next + length), end: next + length + 2 };
  }
  const items: Reply[] = [];
  let end = next;
  for (let i = 0; i < length; i++) {
    const item = parse(bytes, end);
    if (item === undefined) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: items, end };
}
