import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { Server as GrpcServer } from '@grpc/grpc-js';
import { LockstepError } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { DEFAULT_SETTINGS, Door, type DoorPorts, type EtcdDoorSettings } from './door.ts';
import { Gateway } from './gateway/gateway.ts';
import { createGrpcServer, INSECURE } from './grpc-server.ts';
import { createHttpServer, type MetricsSource } from './http.ts';
import { LeaderMonitor } from './leader-monitor.ts';
import { routes } from './services/routes.ts';
import { rpcError } from './session.ts';
import { WatchHub } from './watch/hub.ts';

export interface EtcdDoorOptions {
  readonly replica: Replica;
  readonly ports: DoorPorts;
  /** `host:port`; port 0 takes a free one. */
  readonly address: string;
  readonly settings?: Partial<EtcdDoorSettings>;
  /** Text of /metrics; left out, the path is not found. */
  readonly metrics?: MetricsSource;
}

export interface EtcdDoorHandle {
  /** The port listened on. */
  readonly port: number;
  /** Takes nothing new, ends streams with etcd's word for a member that stops, and answers what is
   * in flight; done when the last connection is gone. */
  drain(done: () => void): void;
  /** Ends every connection and calls back once nothing of the door is left. */
  close(done: () => void): void;
}

/** A client that has not shown by then which protocol it speaks is cut off. */
const FIRST_BYTES_TIMEOUT_MS = 10_000;
const HTTP2_PREFACE = 'PRI';

/**
 * Opens the etcd door of one member: gRPC and HTTP/1 on one port, told apart by the first bytes of
 * a connection, as etcd does. Fails with ADDRESS_IN_USE.
 */
export function startEtcdDoor(
  options: EtcdDoorOptions,
  done: (error: LockstepError | Error | undefined, handle?: EtcdDoorHandle) => void,
): void {
  const hub = new WatchHub(options.replica);
  const settings = { ...DEFAULT_SETTINGS, ...options.settings };
  const door = new Door(options.replica, options.ports, settings, hub);
  const monitor = new LeaderMonitor(door);
  const served = routes(door);
  const grpc = createGrpcServer(door, monitor, served);
  const http = createHttpServer(door, new Gateway(door, served), options.metrics);
  const listener = new Listener(grpc, http);
  const close = (closed: () => void): void => {
    monitor.close();
    hub.close();
    listener.close(closed);
  };
  const drain = (drained: () => void): void => {
    listener.drain(drained);
    for (const stream of [...door.streams]) stream.end(rpcError('SERVER_STOPPED'));
  };
  listener.listen(options.address, (error, port) => {
    if (error !== undefined) close(() => done(error));
    else done(undefined, { port, drain, close });
  });
}

class Listener {
  readonly #net: Server;
  readonly #grpc: GrpcServer;
  readonly #http: HttpServer;
  readonly #sockets = new Set<Socket>();

  constructor(grpc: GrpcServer, http: HttpServer) {
    this.#grpc = grpc;
    this.#http = http;
    const injector = grpc.createConnectionInjector(INSECURE);
    this.#net = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      tellProtocol(socket, (isHttp2) => {
        if (isHttp2) injector.injectConnection(socket);
        else this.#http.emit('connection', socket);
      });
    });
  }

  listen(address: string, done: (error: Error | undefined, port: number) => void): void {
    const { host, port } = splitAddress(address);
    const failed = (error: NodeJS.ErrnoException): void => {
      const inUse = error.code === 'EADDRINUSE';
      const cause = inUse ? new LockstepError('ADDRESS_IN_USE', address, '--listen-etcd') : error;
      done(cause, 0);
    };
    this.#net.once('error', failed);
    this.#net.listen({ host, port }, () => {
      this.#net.off('error', failed);
      const bound = this.#net.address();
      done(undefined, typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  }

  drain(done: () => void): void {
    this.#net.close(() => done());
    // Tells clients by GOAWAY that no new stream is taken on this connection.
    this.#grpc.tryShutdown(() => {});
    this.#http.close();
  }

  close(done: () => void): void {
    this.#grpc.forceShutdown();
    this.#http.close();
    this.#net.close(() => done());
    for (const socket of this.#sockets) socket.destroy();
  }
}

function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host, port: Number(address.slice(colon + 1)) };
}

/** Looks at the first bytes without consuming them; answers once, or the socket goes. */
function tellProtocol(socket: Socket, answer: (isHttp2: boolean) => void): void {
  const giveUp = (): void => void socket.destroy();
  socket.on('error', giveUp);
  socket.setTimeout(FIRST_BYTES_TIMEOUT_MS, giveUp);
  let head: Buffer = Buffer.alloc(0);
  const look = (): void => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const start = head.toString('latin1', 0, HTTP2_PREFACE.length);
    if (start.length < HTTP2_PREFACE.length && HTTP2_PREFACE.startsWith(start)) return;
    socket.off('readable', look);
    socket.setTimeout(0, undefined);
    socket.off('timeout', giveUp);
    socket.unshift(head);
    answer(start === HTTP2_PREFACE);
  };
  socket.on('readable', look);
}
