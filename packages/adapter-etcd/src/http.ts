import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Door } from './door.ts';
import { ETCD_ERRORS } from './errors.ts';
import type { Gateway } from './gateway/gateway.ts';

/** Supplies the Prometheus text of /metrics. */
export type MetricsSource = (done: (error: Error | undefined, text: string) => void) => void;

/** Stands before targets that name no host. */
const ORIGIN = 'http://localhost';

/** The plain HTTP side of the client port: the JSON gateway, health, version and metrics. */
export function createHttpServer(
  door: Door,
  gateway: Gateway,
  metrics: MetricsSource | undefined,
): Server {
  const server = createServer((request, response) => {
    const target = request.url ?? '/';
    // Clients send what they like, and `//[` is no URL.
    if (!URL.canParse(target, ORIGIN)) return text(response, 400, '400 bad request\n');
    const url = new URL(target, ORIGIN);
    if (gateway.handle(url.pathname, request, response)) return;
    const handler = HANDLERS[url.pathname];
    if (handler === undefined) return text(response, 404, '404 page not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET');
      return text(response, 405, 'Method Not Allowed\n');
    }
    return handler({ door, metrics, url, request, response });
  });
  // Bytes that are neither HTTP/2 nor HTTP/1: say so if that is possible, then close.
  server.on('clientError', (_error, socket) => {
    if (!socket.writable) return void socket.destroy();
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  });
  return server;
}

interface Exchange {
  readonly door: Door;
  readonly metrics: MetricsSource | undefined;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const HANDLERS: Readonly<Record<string, (exchange: Exchange) => void>> = {
  '/health': health,
  '/livez': livez,
  '/readyz': readyz,
  '/version': version,
  '/metrics': metricsText,
};

function text(response: ServerResponse, code: number, body: string): void {
  response.writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.end(body);
}

function version({ door, response }: Exchange): void {
  const { version: etcdserver } = door.settings;
  const minor = `${etcdserver.split('.').slice(0, 2).join('.')}.0`;
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ etcdserver, etcdcluster: minor, storage: minor }));
}

function health({ door, url, response }: Exchange): void {
  check(door, url.searchParams.get('serializable') === 'true', (reason) => {
    const body = JSON.stringify({ health: reason === '' ? 'true' : 'false', reason });
    text(response, reason === '' ? 200 : 503, reason === '' ? body : `${body}\n`);
  });
}

/** Empty when a read would be answered, else why not, in etcd's words. */
function check(door: Door, serializable: boolean, done: (reason: string) => void): void {
  const noLeader = `RANGE ERROR:${ETCD_ERRORS.NO_LEADER.message}`;
  if (serializable) {
    done(door.replica.serving ? '' : noLeader);
    return;
  }
  if (!door.hasLeader) {
    done('RAFT NO LEADER');
    return;
  }
  door.barrier(
    () => done(''),
    (error) => done(`RANGE ERROR:${error.message}`),
  );
}

function livez({ door, response }: Exchange): void {
  probe(door, true, 'serializable_read', response);
}

function readyz({ door, response }: Exchange): void {
  probe(door, false, 'linearizable_read', response);
}

function probe(door: Door, serializable: boolean, name: string, response: ServerResponse): void {
  check(door, serializable, (reason) => {
    if (reason === '') text(response, 200, 'ok\n');
    else text(response, 503, `[-]${name} failed: ${reason}\n`);
  });
}

function metricsText({ metrics, response }: Exchange): void {
  if (metrics === undefined) {
    text(response, 404, '404 page not found\n');
    return;
  }
  metrics((error, body) => {
    if (error !== undefined) return text(response, 500, `${error.message}\n`);
    response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(body);
  });
}
