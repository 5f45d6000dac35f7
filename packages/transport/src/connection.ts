import { BinaryFormatError } from '@lockstep/model';
import type { RawData, WebSocket } from 'ws';
import { decodeHandshake, encodeHandshake, type Handshake, refusal } from './handshake.ts';

/** Close code of a refused handshake; the reason says why. */
export const CLOSE_REFUSED = 4001;
const HANDSHAKE_TIMEOUT_MS = 5000;

export interface ConnectionEvents {
  /** Undefined: welcome. Called once both sides agree on cluster and members. */
  verify(theirs: Handshake): string | undefined;
  /** The handshake is done; frames follow. */
  open(connection: Connection): void;
  frame(connection: Connection, frame: Uint8Array): void;
  /** Exactly once, also when it never opened. */
  closed(connection: Connection, reason: string): void;
}

/** One WebSocket between two members, from its handshake to its end. */
export class Connection {
  readonly dialled: boolean;
  readonly #socket: WebSocket;
  readonly #own: Handshake;
  readonly #events: ConnectionEvents;
  readonly #timer: NodeJS.Timeout;
  #theirs: Handshake | undefined;
  #closed = false;
  #reason = '';
  /** Something was heard since the last look of `checkAlive`. */
  #heard = true;

  /** `socket` is open. The dialling side speaks first. */
  constructor(socket: WebSocket, dialled: boolean, own: Handshake, events: ConnectionEvents) {
    this.#socket = socket;
    this.dialled = dialled;
    this.#own = own;
    this.#events = events;
    this.#timer = setTimeout(() => this.end('no handshake in time'), HANDSHAKE_TIMEOUT_MS);
    this.#timer.unref();
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => {
      this.#heard = true;
    });
    socket.on('error', (error) => {
      this.#reason ||= error.message;
    });
    socket.on('close', (code, reason) => {
      this.#closeOnce(this.#reason || reason.toString() || `the other side went away (${code})`);
    });
    if (dialled) this.#socket.send(encodeHandshake(own));
  }

  /** What the other side said of itself; undefined before the handshake is done. */
  get theirs(): Handshake | undefined {
    return this.#theirs;
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** The frame is owned by the socket from here. */
  send(frame: Uint8Array): void {
    this.#socket.send(frame);
  }

  /** Ends a connection of which nothing was heard since the last call; asks for a sign of life. */
  checkAlive(): void {
    if (!this.#heard) {
      this.end('nothing heard');
      return;
    }
    this.#heard = false;
    if (this.#theirs !== undefined) this.#socket.ping();
  }

  /** Drops the connection at once; `closed` follows before this returns. */
  end(reason: string): void {
    this.#reason ||= reason;
    this.#socket.terminate();
    this.#closeOnce(this.#reason);
  }

  #refuse(reason: string): void {
    this.#reason ||= `refused: ${reason}`;
    this.#socket.close(CLOSE_REFUSED, reason.slice(0, 120));
    this.#closeOnce(this.#reason);
  }

  #closeOnce(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#events.closed(this, reason);
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#closed) return;
    this.#heard = true;
    if (!isBinary || !(data instanceof Uint8Array)) {
      this.#refuse('text frames are not spoken here');
      return;
    }
    if (this.#theirs !== undefined) this.#events.frame(this, data);
    else this.#shakeHands(data);
  }

  #shakeHands(bytes: Uint8Array): void {
    let theirs: Handshake;
    try {
      theirs = decodeHandshake(bytes);
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error;
      this.#refuse(error.message);
      return;
    }
    const own = { ...this.#own, target: this.dialled ? this.#own.target : theirs.member };
    const reason =
      refusal({ ...this.#own, target: this.dialled ? this.#own.target : 0 }, theirs) ??
      this.#events.verify(theirs);
    if (reason !== undefined) {
      this.#refuse(reason);
      return;
    }
    clearTimeout(this.#timer);
    this.#theirs = theirs;
    if (!this.dialled) this.#socket.send(encodeHandshake({ ...own, channel: theirs.channel }));
    this.#events.open(this);
  }
}
