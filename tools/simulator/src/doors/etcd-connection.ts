import {
  type EtcdDoorCore,
  encodeMessage,
  type LeaderMonitor,
  type Route,
  type Rpc,
  type RpcError,
  refusal,
  type StreamCall,
} from '@lockstep/adapter-etcd';
import type { Stream } from '../seed.ts';
import type { Life, World } from '../world.ts';
import { Pipe } from './pipe.ts';

/** The etcd door of one process life, below gRPC. */
export interface EtcdServer {
  readonly door: EtcdDoorCore;
  readonly monitor: LeaderMonitor;
  readonly routes: ReadonlyMap<string, Route>;
}

/** Ends of calls whose connection went: whether they took effect nobody knows. */
export const CONNECTION_LOST: RpcError = { code: 14, message: 'connection lost' };

/** A stream as its client sees it. */
export interface ClientStream<Q> {
  send(request: Partial<Q>): void;
  halfClose(): void;
  cancel(): void;
}

export interface StreamListener<S> {
  response(response: S): void;
  /** Once; nothing comes after it. */
  ended(error: RpcError | undefined): void;
}

interface Place {
  readonly world: World;
  readonly stream: Stream;
  readonly life: Life;
  readonly meanUs: number;
}

/**
 * A client's connection to an etcd door: messages as bytes in both directions, in order, into the
 * handlers that gRPC drives. A call has its answer or its error; with the connection it ends.
 */
export class EtcdConnection {
  readonly #place: Place;
  readonly #server: EtcdServer;
  readonly #toServer: Pipe;
  readonly #toClient: Pipe;
  readonly #calls = new Set<ConnectionCall>();
  readonly #closedByMember: () => void;
  #over = false;

  constructor(place: Place, server: EtcdServer, closed: () => void) {
    const { world, stream, life, meanUs } = place;
    this.#place = place;
    this.#server = server;
    this.#closedByMember = closed;
    this.#toServer = new Pipe(world, stream, life, meanUs);
    this.#toClient = new Pipe(world, stream, undefined, meanUs);
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Calls a unary RPC; `done` exactly once. Returns how the client gives it up. */
  unary<Q, S>(
    rpc: Rpc<Q, S>,
    fields: Partial<Q>,
    done: (error: RpcError | undefined, response: S | undefined) => void,
  ): () => void {
    const call = this.#open(rpc, (error) => done(error, undefined));
    const bytes = encodeMessage(rpc.request, { ...rpc.request.decode(NOTHING), ...fields });
    this.#toServer.send(() => {
      const { door } = this.#server;
      const route = this.#server.routes.get(rpc.path)!;
      const request = rpc.request.decode(bytes);
      const refused = refusal(door, route, false, request);
      if (refused !== undefined) return call.answer(refused);
      if (route.kind !== 'unary') throw new Error(`${rpc.path} is not unary`);
      return route.handler(request, call, (error, response) => {
        if (error !== undefined) {
          call.answer(error);
          return;
        }
        const answer = encodeMessage(rpc.response, response);
        call.reply(() => done(undefined, rpc.response.decode(answer)));
      });
    });
    return () => call.cancelFromClient();
  }

  /** Opens a bidirectional stream. */
  stream<Q, S>(rpc: Rpc<Q, S>, hasLeader: boolean, on: StreamListener<S>): ClientStream<Q> {
    const call = this.#open(rpc, on.ended) as ConnectionCall<Q, S>;
    call.onResponse = (bytes) => on.response(rpc.response.decode(bytes));
    this.#toServer.send(() => {
      const { door, monitor } = this.#server;
      const route = this.#server.routes.get(rpc.path)!;
      const refused = refusal(door, route, hasLeader, undefined);
      if (refused !== undefined) return call.end(refused);
      if (hasLeader) call.onCancelled(monitor.watch(() => call.end(NO_LEADER)));
      if (route.kind !== 'bidi') throw new Error(`${rpc.path} is no stream`);
      return route.handler(call);
    });
    return {
      send: (fields) => {
        const bytes = encodeMessage(rpc.request, { ...rpc.request.decode(NOTHING), ...fields });
        this.#toServer.send(() => call.request(bytes));
      },
      halfClose: () => this.#toServer.send(() => call.halfClosed()),
      cancel: () => call.cancelFromClient(),
    };
  }

  #open<Q, S>(rpc: Rpc<Q, S>, ended: (error: RpcError | undefined) => void): ConnectionCall<Q, S> {
    const { world, life } = this.#place;
    const call: ConnectionCall<Q, S> = new ConnectionCall(rpc, {
      toServer: this.#toServer,
      toClient: this.#toClient,
      onServer: (run) => void world.after(1, life, 'sent', run),
      ended: (error) => {
        this.#calls.delete(call as ConnectionCall);
        ended(error);
      },
    });
    if (this.#over) world.after(1, undefined, 'closed', () => call.endAtClient(CONNECTION_LOST));
    else this.#calls.add(call as ConnectionCall);
    return call;
  }

  /** The client goes away. Its calls end, here at once and at the member when it notices. */
  close(): void {
    if (this.#over) return;
    const calls = [...this.#calls];
    this.#toServer.send(() => {
      for (const call of calls) call.giveUp();
    });
    this.#end();
  }

  /** Reads nothing until `read`. */
  stall(): void {
    this.#toClient.hold();
  }

  read(): void {
    this.#toClient.resume();
  }

  /** The network breaks the connection; both ends notice. */
  reset(): void {
    const calls = [...this.#calls];
    this.#toServer.send(() => {
      for (const call of calls) call.giveUp();
    });
    this.lost();
  }

  /** The member's process is gone. */
  lost(): void {
    const { world, stream } = this.#place;
    if (stream.chance(0.5)) this.#toClient.cut();
    world.after(stream.below(NOTICE_US), undefined, 'closed', () => {
      if (this.#over) return;
      this.#end();
      this.#closedByMember();
    });
  }

  #end(): void {
    this.#over = true;
    this.#toClient.cut();
    for (const call of [...this.#calls]) call.endAtClient(CONNECTION_LOST);
    this.#calls.clear();
  }
}

const NOTICE_US = 400_000;
const NOTHING = new Uint8Array(0);
const NO_LEADER: RpcError = { code: 14, message: 'etcdserver: no leader' };

interface CallPlace {
  readonly toServer: Pipe;
  readonly toClient: Pipe;
  readonly onServer: (run: () => void) => void;
  readonly ended: (error: RpcError | undefined) => void;
}

/** One call of either kind, both halves. */
class ConnectionCall<Q = unknown, S = unknown> implements StreamCall<Q, S> {
  onResponse: (bytes: Uint8Array) => void = () => {};
  cancelled = false;
  readonly #rpc: Rpc<Q, S>;
  readonly #place: CallPlace;
  readonly #cancelListeners: (() => void)[] = [];
  #onRequest: (request: Q) => void = () => {};
  #onHalfClose: () => void = () => {};
  #held: Uint8Array[] | undefined;
  #isHalfClosed = false;
  #serverOver = false;
  #clientOver = false;

  constructor(rpc: Rpc<Q, S>, place: CallPlace) {
    this.#rpc = rpc;
    this.#place = place;
  }

  // ---- what handlers see --------------------------------------------------------------------

  metadata(): undefined {
    return undefined;
  }

  onCancelled(listener: () => void): void {
    this.#cancelListeners.push(listener);
  }

  onRequest(listener: (request: Q) => void): void {
    this.#onRequest = listener;
  }

  onHalfClose(listener: () => void): void {
    this.#onHalfClose = listener;
  }

  send(response: S, sent?: () => void): number {
    if (this.#serverOver) return 0;
    const bytes = encodeMessage(this.#rpc.response, response);
    this.#place.toClient.send(() => {
      if (sent !== undefined) this.#place.onServer(sent);
      if (!this.#clientOver) this.onResponse(bytes);
    });
    return bytes.length;
  }

  end(error?: RpcError): void {
    if (this.#serverOver) return;
    this.#serverOver = true;
    this.#place.toClient.send(() => this.endAtClient(error));
  }

  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.request(bytes);
    if (this.#isHalfClosed && this.#held === undefined) this.#onHalfClose();
  }

  // ---- the member's half --------------------------------------------------------------------

  request(bytes: Uint8Array): void {
    if (this.#serverOver) return;
    if (this.#held !== undefined) this.#held.push(bytes);
    else this.#onRequest(this.#rpc.request.decode(bytes));
  }

  halfClosed(): void {
    this.#isHalfClosed = true;
    if (!this.#serverOver && this.#held === undefined) this.#onHalfClose();
  }

  /** A unary call is refused. */
  answer(error: RpcError): void {
    this.end(error);
  }

  /** A unary call is answered. */
  reply(deliver: () => void): void {
    if (this.cancelled) return;
    if (this.#serverOver) throw new Error(`${this.#rpc.path} is answered twice`);
    this.#serverOver = true;
    this.#place.toClient.send(() => {
      if (this.#clientOver) return;
      this.#clientOver = true;
      deliver();
    });
  }

  giveUp(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#serverOver = true;
    for (const listener of this.#cancelListeners) listener();
  }

  // ---- the client's half --------------------------------------------------------------------

  endAtClient(error: RpcError | undefined): void {
    if (this.#clientOver) return;
    this.#clientOver = true;
    this.#place.ended(error);
  }

  /** The client gives up: it is told nothing more. */
  cancelFromClient(): void {
    if (this.#clientOver) return;
    this.#clientOver = true;
    this.#place.toServer.send(() => this.giveUp());
  }
}
