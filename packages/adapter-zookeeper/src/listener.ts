import { createServer, type Server, type Socket } from 'node:net';
import { LockstepError, type Scheduler } from '@lockstep/model';
import { plainAddress } from './addresses.ts';
import { Door } from './door.ts';
import type { Session, Wire } from './session.ts';
import { resolveSettings, type ZooKeeperDoorOptions } from './settings.ts';

/** Gauges, and counters since the door was opened. */
export interface DoorCounts {
  readonly connections: number;
  readonly watches: number;
  readonly outstandingRequests: number;
  readonly received: number;
  readonly sent: number;
  readonly authFailures: number;
}

/** A door that is open. */
export interface ZooKeeperDoor {
  /** `host:port` it listens on, the port as chosen. */
  readonly address: string;
  /** For metrics. */
  counts(): DoorCounts;
  /** Stops listening and closes every connection; sessions live on until they expire. */
  /** Takes nothing new, answers what is in flight and closes each connection behind its last
   * reply; sessions live on and go to other members. Done when the last connection is gone. */
  drain(done: () => void): void;
  close(done: () => void): void;
}

/** End of the present call-back: all frames of one read or one apply pass leave as one write. */
const nodeScheduler: Scheduler = { post: (callback) => process.nextTick(callback) };

/**
 * Opens the ZooKeeper port. Fails with ADDRESS_IN_USE or INVALID_OPTION; otherwise `done` gets the
 * open door.
 */
export function startZookeeperDoor(
  options: ZooKeeperDoorOptions,
  done: (error: LockstepError | undefined, door?: ZooKeeperDoor) => void,
): void {
  const split = options.address.lastIndexOf(':');
  const host = options.address.slice(0, split).replace(/^\[|\]$/g, '');
  const port = Number(options.address.slice(split + 1));
  if (split < 1 || !Number.isInteger(port) || port < 0 || port > 65_535) {
    const why = 'it must be host:port';
    done(new LockstepError('INVALID_OPTION', 'listen-zookeeper', options.address, why));
    return;
  }
  let door: Door | undefined;
  const server = createServer({ noDelay: true }, (socket) => {
    if (door === undefined) socket.destroy();
    else attach(door, socket);
  });
  server.once('error', (error: NodeJS.ErrnoException) => done(listenError(error, options.address)));
  server.listen(port, host, () => {
    const bound = server.address();
    const boundPort = typeof bound === 'object' && bound !== null ? bound.port : port;
    door = new Door(resolveSettings(options, nodeScheduler, boundPort));
    done(undefined, openDoor(server, door, `${options.address.slice(0, split)}:${boundPort}`));
  });
}

function listenError(error: NodeJS.ErrnoException, address: string): LockstepError {
  if (error.code === 'EADDRINUSE') {
    return new LockstepError('ADDRESS_IN_USE', address, '--listen-zookeeper');
  }
  return new LockstepError('INVALID_OPTION', 'listen-zookeeper', address, error.message);
}

function openDoor(server: Server, door: Door, address: string): ZooKeeperDoor {
  return {
    address,
    counts: () => ({
      connections: door.connections.size,
      watches: door.watches.size,
      outstandingRequests: door.statistics.outstanding,
      received: door.statistics.received,
      sent: door.statistics.sent,
      authFailures: door.statistics.authFailures,
    }),
    drain(done) {
      server.close(() => done());
      door.drain();
    },
    close(done) {
      server.close(() => done());
      door.close();
    },
  };
}

function attach(door: Door, socket: Socket): void {
  const session: Session | undefined = door.accept(wireOf(socket));
  if (session === undefined) {
    socket.destroy();
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
    address: plainAddress(socket.remoteAddress ?? ''),
    port: socket.remotePort ?? 0,
    write(chunks) {
      if (chunks.length === 1) {
        socket.write(chunks[0]!);
        return;
      }
      socket.cork();
      for (const chunk of chunks) socket.write(chunk);
      socket.uncork();
    },
    end: () => socket.end(),
    destroy: () => socket.destroy(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    unsentBytes: () => socket.writableLength,
  };
}
