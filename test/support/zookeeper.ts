import { connect, type Socket } from 'node:net';

export const Op = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getChildren: 8,
  sync: 9,
  ping: 11,
  check: 13,
  multi: 14,
  addWatch: 106,
  closeSession: -11,
} as const;

/** A frame as it came: a reply (xid > 0), a ping (−2) or a watch event (−1). */
export interface Frame {
  readonly xid: number;
  readonly zxid: bigint;
  readonly error: number;
  readonly body: Buffer;
}

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const buffer = (bytes: Buffer): Buffer => Buffer.concat([int(bytes.length), bytes]);
const text = (value: string): Buffer => buffer(Buffer.from(value));
const flag = (value: boolean): Buffer => Buffer.from([value ? 1 : 0]);
const OPEN_ACL = Buffer.concat([int(1), int(31), text('world'), text('anyone')]);

/** Request bodies, without header. */
export const body = {
  create: (path: string, data: string, flags = 0): Buffer =>
    Buffer.concat([text(path), text(data), OPEN_ACL, int(flags)]),
  delete: (path: string, version = -1): Buffer => Buffer.concat([text(path), int(version)]),
  read: (path: string, watch = false): Buffer => Buffer.concat([text(path), flag(watch)]),
  setData: (path: string, data: string, version = -1): Buffer =>
    Buffer.concat([text(path), text(data), int(version)]),
  path: (path: string): Buffer => text(path),
  /** Mode 1: everything at and below the path, again and again. */
  addWatch: (path: string, mode = 1): Buffer => Buffer.concat([text(path), int(mode)]),
  none: (): Buffer => Buffer.alloc(0),
};

/** Reads what replies carry. */
export class BodyReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  long(): bigint {
    this.#at += 8;
    return this.#bytes.readBigInt64BE(this.#at - 8);
  }

  text(): string {
    const length = this.int();
    if (length < 0) return '';
    this.#at += length;
    return this.#bytes.toString('utf8', this.#at - length, this.#at);
  }

  skip(length: number): void {
    this.#at += length;
  }

  texts(): string[] {
    return Array.from({ length: Math.max(0, this.int()) }, () => this.text());
  }
}

/** One session over raw frames, so that order on the wire can be seen. */
export class ZooKeeper {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #xid = 0;
  #connected: ((frame: Buffer) => void) | undefined;
  #waiting = new Map<number, { resolve: (f: Frame) => void; reject: (e: Error) => void }>();
  /** Every frame after the handshake, in the order received. */
  readonly frames: Frame[] = [];
  sessionId = 0n;
  password: Buffer = Buffer.alloc(16);
  timeoutMs = 0;
  lastZxid = 0n;
  closed = false;
  onClose: () => void = () => undefined;
  /** A watch event, before whatever comes behind it on the wire. */
  onEvent: (event: Frame) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      for (const { reject } of this.#waiting.values()) reject(new Error('connection closed'));
      this.#waiting.clear();
      this.#connected?.(Buffer.alloc(0));
      this.onClose();
    });
  }

  /** Opens a session, or attaches to the one of `former` on another member. */
  static open(port: number, timeoutMs = 10_000, former?: ZooKeeper): Promise<ZooKeeper> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => {
        const client = new ZooKeeper(socket);
        client.#connected = (frame) => {
          client.#connected = undefined;
          if (frame.length === 0) {
            reject(new Error('closed during the handshake'));
            return;
          }
          client.timeoutMs = frame.readInt32BE(4);
          client.sessionId = frame.readBigInt64BE(8);
          client.password = frame.subarray(20, 36);
          resolve(client);
        };
        socket.write(handshake(timeoutMs, former));
      });
    });
  }

  /** Opens or attaches as client libraries do: again and again until a member takes the session. */
  static async attach(
    port: number,
    timeoutMs = 10_000,
    former?: ZooKeeper,
    withinMs = 15_000,
  ): Promise<ZooKeeper> {
    const end = performance.now() + withinMs;
    for (;;) {
      try {
        return await ZooKeeper.open(port, timeoutMs, former);
      } catch (error) {
        if (performance.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Encodes a request with the next xid (pings have their own). */
  encode(op: number, bytes: Buffer): { frame: Buffer; xid: number } {
    const xid = op === Op.ping ? -2 : ++this.#xid;
    const frame = Buffer.concat([int(8 + bytes.length), int(xid), int(op), bytes]);
    return { frame, xid };
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** The reply to a request written before. */
  reply(xid: number): Promise<Frame> {
    if (this.closed) return Promise.reject(new Error('connection closed'));
    return new Promise((resolve, reject) => this.#waiting.set(xid, { resolve, reject }));
  }

  async call(op: number, bytes: Buffer): Promise<Frame> {
    const { frame, xid } = this.encode(op, bytes);
    const reply = this.reply(xid);
    this.write(frame);
    return reply;
  }

  async children(path: string): Promise<string[]> {
    const { error, body: bytes } = await this.call(Op.getChildren, body.read(path));
    if (error !== 0) throw new Error(`getChildren ${path}: ${error}`);
    return new BodyReader(bytes).texts();
  }

  /** Data and czxid; undefined when the node is not there. */
  async get(path: string): Promise<{ data: string; czxid: bigint } | undefined> {
    const { error, body: bytes } = await this.call(Op.getData, body.read(path));
    if (error === -101) return undefined;
    if (error !== 0) throw new Error(`getData ${path}: ${error}`);
    const reader = new BodyReader(bytes);
    return { data: reader.text(), czxid: reader.long() };
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The bare socket, for a client that stops reading; frames are no longer taken. */
  takeSocket(): Socket {
    this.#socket.removeAllListeners('data');
    return this.#socket;
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4) {
      const length = this.#rest.readInt32BE(0);
      if (this.#rest.length < 4 + length) return;
      const frame = this.#rest.subarray(4, 4 + length);
      this.#rest = this.#rest.subarray(4 + length);
      if (this.#connected !== undefined) this.#connected(frame);
      else this.#take(frame);
    }
  }

  #take(bytes: Buffer): void {
    const frame: Frame = {
      xid: bytes.readInt32BE(0),
      zxid: bytes.readBigInt64BE(4),
      error: bytes.readInt32BE(12),
      body: bytes.subarray(16),
    };
    if (frame.zxid > this.lastZxid) this.lastZxid = frame.zxid;
    this.frames.push(frame);
    if (frame.xid === -1) this.onEvent(frame);
    const waiting = this.#waiting.get(frame.xid);
    this.#waiting.delete(frame.xid);
    waiting?.resolve(frame);
  }
}

function handshake(timeoutMs: number, former: ZooKeeper | undefined): Buffer {
  const bytes = Buffer.alloc(4 + 45);
  bytes.writeInt32BE(45, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeBigInt64BE(former?.lastZxid ?? 0n, 8);
  bytes.writeInt32BE(timeoutMs, 16);
  bytes.writeBigInt64BE(former?.sessionId ?? 0n, 20);
  bytes.writeInt32BE(16, 28);
  former?.password.copy(bytes, 32);
  return bytes;
}
