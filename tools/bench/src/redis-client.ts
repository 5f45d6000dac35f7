import { connect, type Socket } from 'node:net';
import type { LoadClient } from './load.ts';

/** Encodes one command as RESP. */
export function respCommand(words: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words) {
    const bytes = typeof word === 'string' ? Buffer.from(word) : word;
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** A connection that counts complete simple, integer and bulk replies: enough for load. */
export class RespConnection {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: ((reply: string) => void)[] = [];

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('close', () => this.#fail());
    this.#socket.on('error', () => undefined);
  }

  /** Sends raw bytes that hold one command; the reply comes as its first line and bulk. */
  send(bytes: Buffer, answer: (reply: string) => void): void {
    this.#waiting.push(answer);
    this.#socket.write(bytes);
  }

  close(): void {
    this.#waiting = [];
    this.#socket.destroy();
  }

  #fail(): void {
    for (const answer of this.#waiting.splice(0)) answer('-closed');
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (;;) {
      const lineEnd = bytes.indexOf(10, at);
      if (lineEnd < 0) break;
      let end = lineEnd + 1;
      let reply = bytes.toString('latin1', at, lineEnd - 1);
      if (bytes[at] === 0x24 && bytes[at + 1] !== 0x2d) {
        const length = Number(bytes.toString('latin1', at + 1, lineEnd - 1));
        if (bytes.length < end + length + 2) break;
        reply = bytes.toString('latin1', end, end + length);
        end += length + 2;
      }
      at = end;
      this.#waiting.shift()?.(reply);
    }
    this.#rest = bytes.subarray(at);
  }
}

const RELEASE =
  'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';

let names = 0;

/** Takes and releases a lock of its own in turn, as lock libraries do: two operations a round. */
export function redisLockClient(port: number, id: number, sha: string): LoadClient {
  const connection = new RespConnection(port);
  // A name of its own: what a former client of the same number still holds is none of its business.
  const key = `bench:lock:${++names}`;
  const owner = `owner-${id}-${'x'.repeat(20)}`;
  const acquire = respCommand(['SET', key, owner, 'NX', 'PX', '30000']);
  const release = respCommand(['EVALSHA', sha, '1', key, owner]);
  let held = false;
  return {
    next(done) {
      const wanted = held ? '1' : '+OK';
      connection.send(held ? release : acquire, (reply) => {
        held = !held;
        done(reply.endsWith(wanted) ? undefined : new Error(reply));
      });
    },
    close: () => connection.close(),
  };
}

/** Loads the release script; gives its digest. */
export function loadReleaseScript(port: number): Promise<string> {
  return new Promise((resolve) => {
    const connection = new RespConnection(port);
    connection.send(respCommand(['SCRIPT', 'LOAD', RELEASE]), (sha) => {
      connection.close();
      resolve(sha);
    });
  });
}
