import { connect, type Socket } from 'node:net';
import { FrameAssembler } from '../src/frame-assembler.ts';
import type { FrameWriter } from '../src/jute.ts';
import {
  type ConnectAnswer,
  type ConnectOptions,
  connectFrame,
  type Message,
  readConnectAnswer,
  readMessage,
  requestFrame,
} from './frames.ts';

/** A bare client over TCP, for this door and for a real ZooKeeper alike. */
export class SocketClient {
  readonly socket: Socket;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;
  /** Everything received after the handshake that was not taken yet, raw. */
  received: Buffer = Buffer.alloc(0);
  readonly #input = new FrameAssembler(64 * 1024 * 1024);
  readonly #frames: Buffer[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;
  #xid = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.#isClosed = true;
        this.#wake?.();
        resolve();
      });
    });
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.#input.push(chunk);
      for (let frame = this.#input.next(); typeof frame !== 'string'; frame = this.#input.next()) {
        this.#frames.push(Buffer.from(frame));
      }
      this.#wake?.();
    });
  }

  static dial(address: string): Promise<SocketClient> {
    const [host = '', port = ''] = address.split(':');
    const socket = connect(Number(port), host);
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => resolve(new SocketClient(socket)));
    });
  }

  /** The payload of the next frame. */
  async frame(): Promise<Buffer> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#isClosed) throw new Error('the server closed the connection');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async handshake(options: ConnectOptions = {}): Promise<ConnectAnswer> {
    this.socket.write(connectFrame(options));
    return readConnectAnswer(await this.frame());
  }

  async message(): Promise<Message> {
    return readMessage(await this.frame());
  }

  async messages(count: number): Promise<Message[]> {
    const messages: Message[] = [];
    while (messages.length < count) messages.push(await this.message());
    return messages;
  }

  /** All messages up to and with the reply to a request. */
  async ask(type: number, write?: (frames: FrameWriter) => void, xid = ++this.#xid) {
    this.socket.write(requestFrame(xid, type, write));
    const events: Message[] = [];
    for (;;) {
      const message = await this.message();
      if (message.kind === 'reply' && message.xid === xid) return { reply: message, events };
      events.push(message);
    }
  }
}
