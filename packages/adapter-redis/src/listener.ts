import { createServer, type Server, type Socket } from 'node:net';
import {
  type Clock,
  LockstepError,
  type Random,
  type Scheduler,
  toByteString,
  utf8Bytes,
} from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { RedisDoorCore } from './door.ts';
import type { Wire } from './wire.ts';

export interface RedisDoorOptions {
  readonly replica: Replica;
  /** `host:port` to listen on; port 0 lets the system choose. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Password of the default user; left out or empty: none is asked for. */
  readonly requirepass?: string;
  /** Connections at a time; 10,000 by default. */
  readonly clientsMax?: number;
  /** End of the present call-back by default: one write per connection and turn. */
  readonly scheduler?: Scheduler;
  /** Receives redis.log of scripts (level 0 debug … 3 warning). */
  readonly log?: (level: number, text: string) => void;
}

/** A door that is open. */
export interface RedisDoor {
  /** `host:port` it listens on, the port as chosen. */
  readonly address: string;
  /** Stops listening and closes every connection. */
  /** Takes nothing new, answers what is in flight and closes each connection behind its last
   * reply; done when the last one is gone, which a blocked client puts off for ever. */
  drain(done: () => void): void;
  close(done: () => void): void;
}

const CLIENTS_MAX = 10_000;
const nodeScheduler: Scheduler = { post: (callback) => process.nextTick(callback) };

/**
 * Opens the Redis port. Fails with ADDRESS_IN_USE or INVALID_OPTION; otherwise `done` gets the
 * open door.
 */
export function startRedisDoor(
  options: RedisDoorOptions,
  done: (error: LockstepError | undefined, door?: RedisDoor) => void,
): void {
  const { address } = options;
  const split = address.lastIndexOf(':');
  const host = address.slice(0, split).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(split + 1));
  if (split < 1 || !Number.isInteger(port) || port < 0 || port > 65_535) {
    done(new LockstepError('INVALID_OPTION', 'listen-redis', address, 'it must be host:port'));
    return;
  }
  let core: RedisDoorCore | undefined;
  const server = createServer({ noDelay: true }, (socket) => {
    if (core === undefined) socket.destroy();
    else attach(core, socket);
  });
  server.once('error', (failure: NodeJS.ErrnoException) => done(listenError(failure, address)));
  server.listen(port, host, () => {
    const bound = server.address();
    const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
    core = new RedisDoorCore({
      replica: options.replica,
      clock: options.clock,
      random: options.random,
      scheduler: options.scheduler ?? nodeScheduler,
      password: toByteString(utf8Bytes(options.requirepass ?? '')),
      port: boundPort,
      clientsMax: options.clientsMax ?? CLIENTS_MAX,
      log: options.log ?? (() => {}),
    });
    done(undefined, openDoor(server, core, `${address.slice(0, split)}:${boundPort}`));
  });
}

function listenError(failure: NodeJS.ErrnoException, address: string): LockstepError {
  if (failure.code === 'EADDRINUSE') {
    return new LockstepError('ADDRESS_IN_USE', address, '--listen-redis');
  }
  return new LockstepError('INVALID_OPTION', 'listen-redis', address, failure.message);
}

function openDoor(server: Server, core: RedisDoorCore, address: string): RedisDoor {
  return {
    address,
    drain(done) {
      server.close(() => done());
      core.drain();
    },
    close(done) {
      server.close(() => done());
      core.close();
    },
  };
}

function attach(core: RedisDoorCore, socket: Socket): void {
  const session = core.accept(wireOf(socket));
  if (session === undefined) {
    socket.end('-ERR max number of clients reached\r\n');
    socket.on('error', () => socket.destroy());
    return;
  }
  socket.on('data', (chunk) => session.receive(chunk));
  socket.on('drain', () => session.drained());
  // The error itself says nothing that the close after it does not.
  socket.on('error', () => session.close());
  socket.on('close', () => session.close());
}

function wireOf(socket: Socket): Wire {
  return {
    address: endpoint(socket.remoteAddress, socket.remotePort),
    localAddress: endpoint(socket.localAddress, socket.localPort),
    write(bytes) {
      socket.write(bytes);
    },
    end: () => socket.end(),
    destroy: () => socket.destroy(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    unsentBytes: () => socket.writableLength,
  };
}

function endpoint(address: string | undefined, port: number | undefined): string {
  const host = (address ?? '').replace(/^::ffff:/, '');
  return host.includes(':') ? `[${host}]:${port ?? 0}` : `${host}:${port ?? 0}`;
}
