import {
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Clock, Random, Scheduler } from '@lockstep/model';
import { createLocalReplica, LocalImage, type LocalReplica } from '@lockstep/replica';
import { createStateMachine, encodeHello } from '@lockstep/state-machine';
import type { EtcdDoorSettings } from '../src/door.ts';
import type { MetricsSource } from '../src/http.ts';
import { type EtcdDoorHandle, etcdExtension, startEtcdDoor } from '../src/index.ts';
import { encodeMessage, type Rpc } from '../src/services/rpc.ts';

export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

export const realScheduler: Scheduler = { post: (callback) => void setImmediate(callback) };

/** Not random at all: the same ids in every run. */
export function countingRandom(): Random {
  let next = 1;
  return {
    u32: () => (next++ * 2654435761) >>> 0,
    fill: (bytes) => void bytes.fill(7),
  };
}

/** One member without a log, its etcd door on a free port, and a client of the same messages. */
export class DoorFixture {
  readonly replica: LocalReplica;
  readonly handle: EtcdDoorHandle;
  readonly client: Client;

  private constructor(replica: LocalReplica, handle: EtcdDoorHandle) {
    this.replica = replica;
    this.handle = handle;
    this.client = new Client(`127.0.0.1:${handle.port}`, credentials.createInsecure(), {
      'grpc.max_send_message_length': -1,
      'grpc.max_receive_message_length': -1,
    });
  }

  static open(
    options: {
      address?: string;
      settings?: Partial<EtcdDoorSettings>;
      metrics?: MetricsSource;
    } = {},
  ): Promise<DoorFixture> {
    const image = new LocalImage();
    const stateMachine = createStateMachine({
      extensions: [etcdExtension],
      image,
      bootstrap: {
        clusterId: 0x1234567890abcdefn,
        members: [{ id: 1, name: 'n1', etcdId: 0xfeedn, peerAddress: '127.0.0.1:2380' }],
        options: {},
        electionTimeoutMs: 1000,
      },
    });
    const ports = { clock: realClock, scheduler: realScheduler, random: countingRandom() };
    const address = options.address ?? '127.0.0.1:0';
    const hello = encodeHello({
      member: 1,
      incarnation: 1,
      name: 'n1',
      version: '0.1.0',
      featureLevel: 1,
      dataDirectory: '00000000-0000-4000-8000-000000000001',
      addresses: { etcd: address },
    });
    const replica = createLocalReplica({ stateMachine, image, hello, ...ports });
    return new Promise((resolve, reject) => {
      startEtcdDoor({ replica, ports, ...options, address }, (error, handle) => {
        if (error !== undefined) reject(error);
        else resolve(new DoorFixture(replica, handle!));
      });
    });
  }

  async close(): Promise<void> {
    this.client.close();
    await new Promise<void>((resolve) => this.handle.close(resolve));
    this.replica.close();
  }

  /** Calls a unary RPC; missing fields are the protocol's defaults. */
  call<Q, S>(rpc: Rpc<Q, S>, fields: Partial<Q> = {}, metadata = new Metadata()): Promise<S> {
    const request = { ...rpc.request.decode(new Uint8Array(0)), ...fields };
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        rpc.path,
        (message: Q) => encodeMessage(rpc.request, message),
        (bytes: Buffer) => rpc.response.decode(bytes),
        request,
        metadata,
        (error, response) => {
          if (error !== null) reject(error);
          else resolve(response!);
        },
      );
    });
  }

  /** Code and text of the error that a call must end in. */
  async refusal<Q, S>(rpc: Rpc<Q, S>, fields: Partial<Q> = {}): Promise<string> {
    const outcome = await this.call(rpc, fields).then(
      () => 'no error',
      (error: ServiceError) => `${error.code} ${error.details}`,
    );
    return outcome;
  }

  /** Opens a stream; `next()` waits for one response after the other. */
  stream<Q, S>(rpc: Rpc<Q, S>, metadata = new Metadata()): TestStream<Q, S> {
    const stream = this.client.makeBidiStreamRequest(
      rpc.path,
      (message: Q) => encodeMessage(rpc.request, message),
      (bytes: Buffer) => rpc.response.decode(bytes),
      metadata,
    );
    return new TestStream(stream, rpc);
  }
}

/** A bidirectional stream whose responses are taken one by one. */
export class TestStream<Q, S> {
  readonly raw: ClientDuplexStream<Q, S>;
  readonly #rpc: Rpc<Q, S>;
  readonly #received: S[] = [];
  readonly #waiting: { resolve: (response: S) => void; reject: (error: Error) => void }[] = [];
  readonly ended: Promise<string>;

  constructor(raw: ClientDuplexStream<Q, S>, rpc: Rpc<Q, S>) {
    this.raw = raw;
    this.#rpc = rpc;
    raw.on('data', (response: S) => {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#received.push(response);
      else waiting.resolve(response);
    });
    this.ended = new Promise((resolve) => {
      raw.on('status', (status) => {
        resolve(`${status.code} ${status.details}`);
        for (const { reject } of this.#waiting) reject(new Error(`ended: ${status.details}`));
      });
    });
    raw.on('error', () => undefined);
  }

  send(fields: Partial<Q>): void {
    this.raw.write({ ...this.#rpc.request.decode(new Uint8Array(0)), ...fields });
  }

  next(): Promise<S> {
    const received = this.#received.shift();
    if (received !== undefined) return Promise.resolve(received);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Responses that came and were not taken. */
  get unread(): number {
    return this.#received.length;
  }

  cancel(): void {
    this.raw.cancel();
  }
}

/** UTF-8 text as a message's bytes. */
export const b = (text: string): Buffer => Buffer.from(text);
