import { connect, type Socket } from 'node:net';
import type { LoadClient } from './load.ts';

const OP = { create: 1, getData: 4, setData: 5 } as const;
const NODE_EXISTS = -110;

/** ZooKeeper's error code, and the reply from its header on: xid, zxid, error, body. */
export type Answer = (error: number, frame: Buffer) => void;

/** A session of its own on one ZooKeeper server; one request at a time. */
export class ZooKeeperConnection {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #connected = false;
  #xid = 0;
  #waiting: ((error: number, frame: Buffer) => void)[] = [];
  readonly #queue: Buffer[] = [];

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('close', () => this.#fail());
    this.#socket.on('error', () => undefined);
    const hello = Buffer.alloc(4 + 45);
    hello.writeInt32BE(45, 0);
    hello.writeInt32BE(30_000, 4 + 12);
    hello.writeInt32BE(16, 4 + 24);
    this.#socket.write(hello);
  }

  #request(op: number, body: Buffer, answer: Answer): void {
    const frame = Buffer.alloc(12 + body.length);
    frame.writeInt32BE(8 + body.length, 0);
    frame.writeInt32BE(++this.#xid, 4);
    frame.writeInt32BE(op, 8);
    body.copy(frame, 12);
    this.#waiting.push(answer);
    if (this.#connected) this.#socket.write(frame);
    else this.#queue.push(frame);
  }

  create(path: string, data: Buffer, answer: Answer): void {
    const acl = Buffer.concat([int(1), int(31), text('world'), text('anyone')]);
    this.#request(
      OP.create,
      Buffer.concat([text(path), bytes(data), acl, int(0)]),
      (error, frame) => answer(error === NODE_EXISTS ? 0 : error, frame),
    );
  }

  setData(path: string, data: Buffer, answer: Answer): void {
    this.#request(OP.setData, Buffer.concat([text(path), bytes(data), int(-1)]), answer);
  }

  getData(path: string, answer: Answer): void {
    this.#request(OP.getData, Buffer.concat([text(path), Buffer.from([0])]), answer);
  }

  close(): void {
    this.#waiting = [];
    this.#socket.destroy();
  }

  #fail(): void {
    for (const answer of this.#waiting.splice(0)) answer(-4, Buffer.alloc(0));
  }

  #receive(chunk: Buffer): void {
    const all = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (all.length - at >= 4) {
      const length = all.readInt32BE(at);
      if (all.length - at - 4 < length) break;
      if (!this.#connected) {
        this.#connected = true;
        for (const frame of this.#queue.splice(0)) this.#socket.write(frame);
      } else if (all.readInt32BE(at + 4) > 0) {
        this.#waiting.shift()?.(all.readInt32BE(at + 16), all.subarray(at + 4, at + 4 + length));
      }
      at += 4 + length;
    }
    this.#rest = all.subarray(at);
  }
}

const int = (value: number): Buffer => {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
};
const bytes = (data: Buffer): Buffer => Buffer.concat([int(data.length), data]);
const text = (value: string): Buffer => bytes(Buffer.from(value));

/** Sets or gets one node of its own; creates it first. */
export function zookeeperClient(
  port: number,
  id: number,
  kind: 'set' | 'get',
  value: Buffer,
): LoadClient {
  const connection = new ZooKeeperConnection(port);
  const path = `/bench-${id}`;
  let created = false;
  return {
    next(done) {
      const answer = (error: number): void =>
        done(error === 0 ? undefined : new Error(`ZooKeeper error ${error}`));
      if (!created) {
        created = true;
        connection.create(path, value, answer);
      } else if (kind === 'set') connection.setData(path, value, answer);
      else connection.getData(path, answer);
    },
    close: () => connection.close(),
  };
}
