import type { Random } from '@lockstep/model';
import { createLocalReplica, LocalImage, type LocalReplica } from '@lockstep/replica';
import { createStateMachine, type StateMachine } from '@lockstep/state-machine';
import { VirtualTime } from '../../replica/test/virtual-time.ts';
import { Door } from '../src/door.ts';
import { zookeeperExtension } from '../src/extension.ts';
import { FrameAssembler } from '../src/frame-assembler.ts';
import type { FrameWriter } from '../src/jute.ts';
import { OpCode } from '../src/opcodes.ts';
import type { Session, Wire } from '../src/session.ts';
import { resolveSettings, type ZooKeeperDoorOptions } from '../src/settings.ts';
import {
  body,
  type ConnectAnswer,
  type ConnectOptions,
  connectFrame,
  type Message,
  readConnectAnswer,
  readMessage,
  requestFrame,
} from './frames.ts';
import { hello } from './hello.ts';

export const BOOTSTRAP = {
  clusterId: 7n,
  members: [{ id: 1, name: 'n1', etcdId: 1n, peerAddress: '127.0.0.1:2380' }],
  options: {},
  // The local replica has no leader that would renew its member's lease.
  electionTimeoutMs: 1_000_000_000,
};

class CountingRandom implements Random {
  #next = 1;
  u32(): number {
    return this.#next++;
  }
  fill(bytes: Uint8Array): void {
    bytes.fill(this.#next++);
  }
}

/** A door over a local replica in virtual time, with clients on memory wires. */
export class DoorWorld implements Host {
  readonly time = new VirtualTime();
  readonly image = new LocalImage();
  readonly machine: StateMachine;
  readonly replica: LocalReplica;
  readonly door: Door;

  constructor(
    options: Partial<ZooKeeperDoorOptions> = {},
    clusterOptions: Readonly<Record<string, number>> = {},
  ) {
    const bootstrap = { ...BOOTSTRAP, options: clusterOptions };
    const { image } = this;
    const extensions = [zookeeperExtension];
    this.machine = createStateMachine({ extensions, image, bootstrap });
    this.replica = createLocalReplica({
      stateMachine: this.machine,
      clock: this.time,
      scheduler: this.time,
      image,
      hello: hello(),
    });
    const { time, replica } = this;
    const random = new CountingRandom();
    const given = { address: '127.0.0.1:0', replica, clock: time, random, ...options };
    this.door = new Door(resolveSettings(given, time, 2181));
  }

  settle(): void {
    this.time.settle();
  }

  /** A connection on which nothing was sent yet. */
  dial(): Client {
    return new Client(this);
  }

  /** A client with an open session. */
  connect(options: ConnectOptions = {}): Client {
    const client = this.dial();
    client.handshake(options);
    return client;
  }
}

/** Where a client dials: a door, and a way to let everything come to rest. */
export interface Host {
  readonly door: Door;
  settle(): void;
}

/** One connection as its client sees it. */
export class Client implements Wire {
  readonly address = '127.0.0.1';
  readonly port = 40_000;
  readonly host: Host;
  readonly session: Session;
  answer: ConnectAnswer | undefined;
  /** Number of writes that reached the wire, and whether it was closed and by what. */
  writes = 0;
  closed: 'end' | 'destroy' | undefined;
  paused = false;
  /** Set: the client reads nothing, and what is written stays unsent. */
  stalled = false;
  #unsent = 0;
  #input = new FrameAssembler(64 * 1024 * 1024);
  #xid = 0;
  #segment: Buffer[] | undefined;

  constructor(host: Host) {
    this.host = host;
    const session = host.door.accept(this);
    if (session === undefined) throw new Error('connection refused');
    this.session = session;
  }

  // ---- the wire -----------------------------------------------------------------------------

  write(chunks: readonly Uint8Array[]): void {
    this.writes++;
    const bytes = Buffer.concat(chunks);
    if (this.stalled) this.#unsent += bytes.length;
    else this.#input.push(bytes);
  }
  end(): void {
    this.closed ??= 'end';
  }
  destroy(): void {
    this.closed ??= 'destroy';
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  unsentBytes(): number {
    return this.#unsent;
  }

  // ---- the client ---------------------------------------------------------------------------

  bytes(bytes: Buffer): void {
    if (this.#segment !== undefined) this.#segment.push(bytes);
    else this.session.receive(Buffer.from(bytes));
  }

  /** Everything sent inside arrives as one segment. */
  segment(send: () => void): void {
    this.#segment = [];
    send();
    const bytes = Buffer.concat(this.#segment);
    this.#segment = undefined;
    this.bytes(bytes);
  }

  handshake(options: ConnectOptions = {}): ConnectAnswer {
    this.bytes(connectFrame(options));
    this.host.settle();
    return this.readAnswer();
  }

  /** Takes the answer to a handshake off the wire. */
  readAnswer(): ConnectAnswer {
    const frame = this.#input.next();
    if (typeof frame === 'string') throw new Error(`no answer to the handshake: ${frame}`);
    this.answer = readConnectAnswer(frame);
    return this.answer;
  }

  /** Sends a request without waiting; returns its xid. */
  send(type: number, write?: (frames: FrameWriter) => void, xid = ++this.#xid): number {
    this.bytes(requestFrame(xid, type, write));
    return xid;
  }

  /** Messages that arrived since the last call, after everything came to rest. */
  take(): Message[] {
    this.host.settle();
    const messages: Message[] = [];
    for (let frame = this.#input.next(); typeof frame !== 'string'; frame = this.#input.next()) {
      messages.push(readMessage(Buffer.from(frame)));
    }
    return messages;
  }

  /** Sends a request and returns its reply, the only message expected. */
  ask(type: number, write?: (frames: FrameWriter) => void): Message & { kind: 'reply' } {
    const xid = this.send(type, write);
    const messages = this.take();
    const [first] = messages;
    if (messages.length !== 1 || first?.kind !== 'reply' || first.xid !== xid) {
      throw new Error(`expected the reply to ${xid}, got ${JSON.stringify(summary(messages))}`);
    }
    return first;
  }

  create(path: string, data: string | null = '', flags = 0): string {
    const reply = this.ask(OpCode.Create, body.create(path, data, flags));
    if (reply.error !== 0) throw new Error(`create ${path}: ${reply.error}`);
    return reply.body.string() ?? '';
  }
}

const EVENTS = ['', 'created', 'deleted', 'changed', 'children'];

/** Messages in words, for assertions that read well. */
export function summary(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    if (message.kind === 'event') return `${EVENTS[message.type]} ${message.path}`;
    return message.error === 0 ? `${message.xid} ok` : `${message.xid} error ${message.error}`;
  });
}
