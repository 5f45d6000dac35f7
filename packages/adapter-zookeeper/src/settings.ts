import type { Clock, Random, Scheduler } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';

/** What the door is given; times in milliseconds. */
export interface ZooKeeperDoorOptions {
  readonly replica: Replica;
  /** `host:port`; port 0 takes a free one. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Runs call-backs at the end of the present turn; left out: Node's own. */
  readonly scheduler?: Scheduler;
  /** Unit of ZooKeeper's session timeouts: the least is 2 ticks, the greatest 20. */
  readonly tickMs?: number;
  readonly sessionTimeoutMinMs?: number;
  readonly sessionTimeoutMaxMs?: number;
  /** Largest request frame (`jute.maxbuffer`). */
  readonly frameBytesMax?: number;
  /** A connection that has not finished its handshake by then is closed. */
  readonly handshakeTimeoutMs?: number;
  /** How long a client that has seen a newer state than ours is kept waiting for it. */
  readonly electionTimeoutMs?: number;
  /** Connections from one address (`maxClientCnxns`); 0 for no limit. */
  readonly connectionsPerAddressMax?: number;
  /** Memory of one connection's watches, roughly; beyond, it is closed. */
  readonly watchBytesMax?: number;
  /** How often containers and TTL nodes are looked through. */
  readonly reapIntervalMs?: number;
  /** `super:<base64 of sha1>`: whoever proves it passes all permission checks. */
  readonly superDigest?: string;
  /** Four-letter words that are answered; left out: all that are cheap. */
  readonly words?: ReadonlySet<string>;
  /** Software version shown by the four-letter words. */
  readonly version?: string;
}

/** The same with every default filled in, and without what only the listener needs. */
export interface DoorSettings {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly tickMs: number;
  readonly sessionTimeoutMinMs: number;
  readonly sessionTimeoutMaxMs: number;
  readonly frameBytesMax: number;
  readonly handshakeTimeoutMs: number;
  readonly electionTimeoutMs: number;
  readonly connectionsPerAddressMax: number;
  readonly watchBytesMax: number;
  readonly reapIntervalMs: number;
  readonly superDigest: string | undefined;
  readonly words: ReadonlySet<string>;
  readonly version: string;
  /** Shown by `conf`. */
  readonly clientPort: number;
}

const CHEAP_WORDS: ReadonlySet<string> = new Set([
  ...['ruok', 'isro', 'srvr', 'stat', 'cons', 'conf', 'envi', 'mntr'],
  ...['wchs', 'dirs', 'crst', 'srst', 'dump'],
]);

/** `scheduler` is what the platform offers when the options name none. */
export function resolveSettings(
  options: ZooKeeperDoorOptions,
  scheduler: Scheduler,
  clientPort: number,
): DoorSettings {
  const tickMs = options.tickMs ?? 2000;
  return {
    replica: options.replica,
    clock: options.clock,
    random: options.random,
    scheduler: options.scheduler ?? scheduler,
    tickMs,
    sessionTimeoutMinMs: options.sessionTimeoutMinMs ?? tickMs * 2,
    sessionTimeoutMaxMs: options.sessionTimeoutMaxMs ?? tickMs * 20,
    frameBytesMax: options.frameBytesMax ?? 0xfffff,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? 10_000,
    electionTimeoutMs: options.electionTimeoutMs ?? 1000,
    connectionsPerAddressMax: options.connectionsPerAddressMax ?? 0,
    watchBytesMax: options.watchBytesMax ?? 64 * 1024 * 1024,
    reapIntervalMs: options.reapIntervalMs ?? 60_000,
    superDigest: options.superDigest,
    words: options.words ?? CHEAP_WORDS,
    version: options.version ?? '3.9.5-lockstep, built on 2025-01-01 00:00 UTC',
    clientPort,
  };
}
