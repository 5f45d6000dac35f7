import type { EventEmitter } from 'node:events';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { refusal } from './admission.ts';
import { BackPressure } from './back-pressure.ts';
import type { Door } from './door.ts';
import type { LeaderMonitor } from './leader-monitor.ts';
import type { Route } from './services/routes.ts';
import { encodeMessage, type Rpc } from './services/rpc.ts';
import { type Call, type RpcError, rpcError, type StreamCall } from './session.ts';

/**
 * The RPC layer: binds routes to @grpc/grpc-js. Nothing else of the door knows that library, so
 * that the JSON gateway can drive the same handlers.
 */
export function createGrpcServer(
  door: Door,
  monitor: LeaderMonitor,
  routes: readonly Route[],
): Server {
  const server = new Server({
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': door.settings.requestBytesMax + 512 * 1024,
    'grpc.max_send_message_length': 2 ** 31 - 1,
    'grpc.max_concurrent_streams': 2 ** 32 - 1,
    // A client that asks for much and reads nothing gets no more streams beyond this many MB.
    'grpc-node.max_session_memory': 256,
    // As etcd: the server pings after two hours of silence and waits 20 seconds.
    'grpc.keepalive_time_ms': 7_200_000,
    'grpc.keepalive_timeout_ms': 20_000,
  });
  for (const route of routes) register(server, door, monitor, route);
  return server;
}

export const INSECURE = ServerCredentials.createInsecure();

const identity = (bytes: Buffer): Buffer => bytes;

function register(server: Server, door: Door, monitor: LeaderMonitor, route: Route): void {
  const { rpc } = route;
  const decode = (bytes: Buffer): unknown => rpc.request.decode(bytes);
  if (route.kind === 'unary') {
    const encode = (message: unknown): Buffer => encodeMessage(rpc.response, message);
    server.register(rpc.path, unaryHandler(door, route), encode, decode, 'unary');
  } else if (route.kind === 'server-stream') {
    const handler = serverStreamHandler(door, monitor, route);
    server.register(rpc.path, handler, identity, decode, 'serverStream');
  } else {
    server.register(rpc.path, bidiHandler(door, monitor, route), identity, decode, 'bidi');
  }
}

function wantsLeader(metadata: Metadata): boolean {
  return metadata.get('hasleader')[0] === 'true';
}

const status = (error: RpcError): { code: number; details: string } => ({
  code: error.code,
  details: error.message,
});

function unaryHandler(
  door: Door,
  route: Extract<Route, { kind: 'unary' }>,
): handleUnaryCall<unknown, unknown> {
  const { handler } = route;
  return (call, callback) => {
    const refused = refusal(door, route, wantsLeader(call.metadata), call.request);
    if (refused !== undefined) return callback(status(refused));
    return handler(call.request, new GrpcCall(call), (error, response) => {
      if (error !== undefined) callback(status(error));
      else callback(null, response);
    });
  };
}

function serverStreamHandler(
  door: Door,
  monitor: LeaderMonitor,
  route: Extract<Route, { kind: 'server-stream' }>,
): handleServerStreamingCall<unknown, Buffer> {
  return (call) => {
    const stream = new GrpcStream(call, route.rpc, door.streams);
    const refused = refusal(door, route, wantsLeader(call.metadata), call.request);
    if (refused !== undefined) return stream.end(refused);
    if (wantsLeader(call.metadata)) stream.cutWithoutLeader(monitor);
    return route.handler(call.request, stream);
  };
}

function bidiHandler(
  door: Door,
  monitor: LeaderMonitor,
  route: Extract<Route, { kind: 'bidi' }>,
): handleBidiStreamingCall<unknown, Buffer> {
  return (call) => {
    const stream = new GrpcStream(call, route.rpc, door.streams);
    const refused = refusal(door, route, wantsLeader(call.metadata), undefined);
    if (refused !== undefined) return stream.end(refused);
    if (wantsLeader(call.metadata)) stream.cutWithoutLeader(monitor);
    return route.handler(stream);
  };
}

type AnyCall =
  | ServerUnaryCall<unknown, unknown>
  | ServerWritableStream<unknown, Buffer>
  | ServerDuplexStream<unknown, Buffer>;

class GrpcCall<C extends AnyCall> implements Call {
  protected readonly call: C;

  constructor(call: C) {
    this.call = call;
  }

  get cancelled(): boolean {
    return this.call.cancelled;
  }

  metadata(name: string): string | undefined {
    return this.call.metadata.get(name)[0]?.toString();
  }

  onCancelled(listener: () => void): void {
    (this.call as EventEmitter).on('cancelled', listener);
  }
}

class GrpcStream<Q, S>
  extends GrpcCall<ServerWritableStream<unknown, Buffer> | ServerDuplexStream<unknown, Buffer>>
  implements StreamCall<Q, S>
{
  readonly #rpc: Rpc<Q, S>;
  readonly #pressure: BackPressure | undefined;
  readonly #open: Door['streams'];
  #ended = false;

  constructor(
    call: ServerWritableStream<unknown, Buffer> | ServerDuplexStream<unknown, Buffer>,
    rpc: Rpc<Q, S>,
    open: Door['streams'],
  ) {
    super(call);
    this.#rpc = rpc;
    this.#open = open;
    open.add(this);
    this.onCancelled(() => open.delete(this));
    // A server stream has one request, which is there already.
    this.#pressure = 'pause' in call ? new BackPressure(call) : undefined;
    // Clients wait for the headers to know that the stream is open.
    call.sendMetadata(new Metadata());
  }

  cutWithoutLeader(monitor: LeaderMonitor): void {
    const undo = monitor.watch(() => this.end(rpcError('NO_LEADER')));
    this.onCancelled(undo);
  }

  onRequest(listener: (request: Q) => void): void {
    (this.call as ServerDuplexStream<Q, Buffer>).on('data', listener);
  }

  onHalfClose(listener: () => void): void {
    this.call.on('end', listener);
  }

  send(response: S, sent?: () => void): number {
    if (this.#ended) return 0;
    const bytes = encodeMessage(this.#rpc.response, response);
    const done = this.#pressure?.queued(bytes.length);
    this.call.write(bytes, () => {
      done?.();
      sent?.();
    });
    return bytes.length;
  }

  pause(): void {
    this.#pressure?.hold(true);
  }

  resume(): void {
    this.#pressure?.hold(false);
  }

  end(error?: RpcError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#open.delete(this);
    if (error === undefined) this.call.end();
    else this.call.emit('error', status(error));
  }
}
