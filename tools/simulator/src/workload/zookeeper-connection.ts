import { FrameAssembler, FrameWriter, JuteReader, Xid } from '@lockstep/adapter-zookeeper';
import type { MemberDoors } from '../doors/member-doors.ts';
import type { ClientEnd, SimSocket } from '../doors/socket.ts';

/** What a client presents, and what it is told. */
export interface Credentials {
  readonly id: bigint;
  readonly password: Uint8Array;
  readonly timeoutMs: number;
}

export interface ZooKeeperReply {
  readonly zxid: number;
  readonly error: number;
  readonly body: JuteReader;
}

export type Body = (frames: FrameWriter) => void;
/** Undefined: the connection went before the reply came. */
export type Answer = (reply: ZooKeeperReply | undefined) => void;

export interface ZooKeeperListener {
  /** The handshake's answer; a timeout of 0: the session has expired. */
  attached(credentials: Credentials): void;
  event(type: number, path: string, zxid: number): void;
  closed(): void;
  /** Breaks of the protocol. */
  wrong(what: string): void;
}

const FRAME_BYTES_MAX = 4 * 1024 * 1024;

/** A client's connection to a ZooKeeper door: requests and replies strictly in one order. */
export class ZooKeeperConnection implements ClientEnd {
  readonly socket: SimSocket;
  readonly #listener: ZooKeeperListener;
  readonly #input = new FrameAssembler(FRAME_BYTES_MAX);
  readonly #frames = new FrameWriter();
  readonly #waiting: { readonly xid: number; readonly answer: Answer }[] = [];
  #xid = 0;
  #isAttached = false;

  constructor(
    doors: MemberDoors,
    credentials: Credentials,
    zxidSeen: number,
    listener: ZooKeeperListener,
  ) {
    this.#listener = listener;
    this.socket = doors.dialZooKeeper(this);
    const { id, password, timeoutMs } = credentials;
    const frames = this.#frames.begin().int(0).long(zxidSeen).int(timeoutMs).id(id);
    frames.buffer(password).bool(false).end();
    this.#send();
  }

  get isOpen(): boolean {
    return !this.socket.isOver;
  }

  /** Appends a request; `flush` sends all of them as one segment. */
  request(type: number, body: Body, answer: Answer, xid = ++this.#xid): void {
    this.#waiting.push({ xid, answer });
    const frames = this.#frames.begin().int(xid).int(type);
    body(frames);
    frames.end();
  }

  flush(): void {
    this.#send();
  }

  ask(type: number, body: Body, answer: Answer, xid?: number): void {
    if (xid === undefined) this.request(type, body, answer);
    else this.request(type, body, answer, xid);
    this.#send();
  }

  #send(): void {
    this.socket.send(Buffer.concat(this.#frames.take()));
  }

  /** Goes away; nobody is told. */
  close(): void {
    this.#waiting.length = 0;
    this.socket.close();
  }

  bytes(chunk: Buffer): void {
    this.#input.push(chunk);
    for (;;) {
      const frame = this.#input.next();
      if (frame === 'incomplete') return;
      if (frame === 'oversized') {
        this.#listener.wrong('gets an oversized frame');
        return;
      }
      try {
        this.#frame(new JuteReader(Buffer.from(frame)));
      } catch (error) {
        this.#listener.wrong(`cannot read a frame: ${(error as Error).message}`);
      }
      if (this.socket.isOver) return;
    }
  }

  #frame(reader: JuteReader): void {
    if (!this.#isAttached) {
      this.#isAttached = true;
      reader.int();
      const timeoutMs = reader.int();
      const id = reader.id();
      const password = Buffer.from(reader.buffer() ?? []);
      this.#listener.attached({ id, timeoutMs, password });
      return;
    }
    const xid = reader.int();
    const zxid = reader.long();
    const error = reader.int();
    if (xid === Xid.Notification) {
      const type = reader.int();
      reader.int();
      this.#listener.event(type, reader.string() ?? '', zxid);
      return;
    }
    const head = this.#waiting.shift();
    if (head?.xid !== xid) {
      this.#listener.wrong(`gets the reply to ${xid}, due was ${head?.xid ?? 'none'}`);
      return;
    }
    head.answer({ zxid, error, body: reader });
  }

  closed(): void {
    this.#listener.closed();
    for (const { answer } of this.#waiting.splice(0)) answer(undefined);
  }
}
