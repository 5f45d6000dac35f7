import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { LockstepError } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import type { LockRow } from '@lockstep/state-machine';
import { changeMembers, type MemberPorts, showMembers } from './members.ts';
import type { Metrics } from './metrics.ts';
import { setOption, showOptions } from './options.ts';
import { clusterStatus } from './status.ts';

/** What `/locks` answers. */
export interface LockTable {
  readonly locks: readonly LockRow[];
}

export interface AdminOptions {
  readonly replica: Replica;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly ports: MemberPorts;
  readonly metrics: Metrics;
  /** Locks of all doors; `clusterMs` is the leader's present cluster time. */
  readonly locks: (clusterMs: number) => LockRow[];
}

export interface Admin {
  readonly port: number;
  close(done: () => void): void;
}

/** HTTP for people and collectors: `/health`, `/status`, `/locks`, `/members`, `/metrics`,
 * `/options`. GET only, save that POST sets a cluster option and changes the members. */
export function startAdmin(
  options: AdminOptions,
  done: (error: Error | undefined, admin?: Admin) => void,
): void {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    answer(options, request, response);
  });
  server.once('error', (error: NodeJS.ErrnoException) => {
    const place = `${options.host}:${options.port}`;
    const busy = error.code === 'EADDRINUSE';
    done(busy ? new LockstepError('ADDRESS_IN_USE', place, '--listen-admin') : error);
  });
  server.listen(options.port, options.host, () => {
    const address = server.address();
    done(undefined, {
      port: typeof address === 'object' && address !== null ? address.port : options.port,
      close(closed) {
        server.close(() => closed());
        server.closeAllConnections();
      },
    });
  });
}

function answer(options: AdminOptions, request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').split('?')[0];
  const reply = (status: number, body: object): void => send(response, status, body);
  if (request.method === 'POST' && path === '/options') {
    setOption(options.replica, request, reply);
    return;
  }
  if (request.method === 'POST' && path === '/members') {
    changeMembers(options.replica, options.ports, request, reply);
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    reply(405, { error: 'only GET is answered here, and POST /options and /members' });
    return;
  }
  switch (path) {
    case '/health':
      sendHealth(options.replica, response);
      return;
    case '/status':
      send(response, 200, clusterStatus(options.replica, options.version));
      return;
    case '/locks':
      sendLocks(options, response);
      return;
    case '/options':
      showOptions(options.replica, reply);
      return;
    case '/members':
      showMembers(options.replica, reply);
      return;
    case '/metrics':
      options.metrics.text().then(
        (text) => send(response, 200, text),
        (error: Error) => send(response, 500, { error: error.message }),
      );
      return;
    default:
      send(response, 404, { error: `no ${path}; there are ${PATHS}` });
  }
}

const PATHS = '/health /status /locks /members /options /metrics';

/** Healthy: a barrier, hence a majority, answers. */
function sendHealth(replica: Replica, response: ServerResponse): void {
  replica.barrier({
    reached: () => send(response, 200, { health: 'true' }),
    failed: (error) => send(response, 503, { health: 'false', reason: error.message }),
  });
}

/** Linearizable: what the list shows was true while it was asked. */
function sendLocks({ replica, locks }: AdminOptions, response: ServerResponse): void {
  replica.barrier({
    reached: ({ clusterMs }) => send(response, 200, { locks: locks(clusterMs) }),
    failed: (error) => send(response, 503, { error: error.message, hint: error.hint }),
  });
}

function send(response: ServerResponse, status: number, body: object | string): void {
  if (response.headersSent || response.destroyed) return;
  const text = typeof body === 'string';
  response.writeHead(status, {
    'content-type': text ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json',
  });
  response.end(text ? body : `${JSON.stringify(body)}\n`);
}
