import type { ByteString, Clock } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import type { CommandSpec } from './command.ts';
import type { PubSub, Subscriber, SubscriptionKind } from './pubsub.ts';
import type { Protocol } from './reply-writer.ts';
import type { TrackingMode, TrackingTable } from './tracking.ts';
import type { WatchedKey } from './watched-key.ts';

/** A command held by MULTI until EXEC. */
export interface HeldCommand {
  readonly spec: CommandSpec;
  readonly argv: readonly ByteString[];
}

export interface OpenTransaction {
  readonly held: HeldCommand[];
  sizeBytes: number;
  /** A command was refused when queued: EXEC answers EXECABORT. */
  failed: boolean;
}

/** A connection as its door commands see it. */
export interface DoorSession extends Subscriber {
  readonly id: number;
  /** `host:port` of the client and of our side. */
  readonly address: ByteString;
  readonly localAddress: ByteString;
  readonly door: Door;
  protocol: Protocol;
  db: number;
  name: ByteString;
  libraryName: ByteString;
  libraryVersion: ByteString;
  authenticated: boolean;
  replyMode: 'on' | 'off' | 'skip-next';
  transaction: OpenTransaction | undefined;
  /** Keys of WATCH with what they were. */
  watched: WatchedKey[];
  /** A watched key changed since: EXEC answers null. */
  dirty: boolean;
  /** CLIENT TRACKING; undefined when off. */
  readonly tracking: TrackingMode | undefined;
  /** CLIENT CACHING, for the next command only. */
  caching: boolean | undefined;
  /** True while the events of a command of this connection are given out. */
  readonly isAuthor: boolean;
  setTracking(mode: TrackingMode | undefined): void;
  readonly connectedMs: number;
  activeMs: number;
  lastCommand: string;
  /** Requests received and not yet answered. */
  readonly pending: number;
  /** True while it waits in a queue (LOCK ACQUIRE … BLOCK). */
  readonly blocked: boolean;
  /** Ends its wait: with its time-out's reply, or with an error. False when it does not wait. */
  leaveQueue(withError: boolean): boolean;
  /** True when it listens to anything. */
  readonly subscribed: boolean;
  /** Names it listens to, by kind. */
  readonly counts: Readonly<Record<SubscriptionKind, number>>;
  subscribe(kind: SubscriptionKind, name: ByteString): void;
  unsubscribe(kind: SubscriptionKind, name: ByteString): void;
  /** In the order in which it subscribed. */
  subscriptions(kind: SubscriptionKind): ByteString[];
  /** Checks and takes over a user; false when refused. */
  authenticate(user: ByteString, password: ByteString): boolean;
  /** Keeps the lease of this connection's SESSION locks alive from now on. */
  keepLease(): void;
  /** Back to what a fresh connection is, the connection itself aside (RESET). */
  reset(): void;
  /** Sends what is due, then closes (QUIT). */
  end(): void;
  /** Closes at once (CLIENT KILL, slow subscriber). */
  destroy(): void;
}

/** The part of a session that WATCH is about. */
export interface WatchingSession {
  watched: WatchedKey[];
  dirty: boolean;
}

/** Which sessions watch which keys. */
export interface WatchRegistry {
  add(session: WatchingSession, db: number, key: ByteString): void;
  clear(session: WatchingSession): void;
}

export interface DoorStatistics {
  connections: number;
  rejectedConnections: number;
  commands: number;
  errors: number;
}

/** What all connections of a door share. */
export interface Door {
  readonly replica: Replica;
  readonly clock: Clock;
  /** Empty: no password is asked for. */
  readonly password: ByteString;
  readonly port: number;
  readonly startedMs: number;
  readonly runId: ByteString;
  readonly sessions: ReadonlyMap<number, DoorSession>;
  readonly pubsub: PubSub;
  readonly watches: WatchRegistry;
  readonly tracking: TrackingTable;
  /** Directives shown by CONFIG GET; CONFIG SET changes tuning ones. */
  readonly settings: Map<string, string>;
  readonly statistics: DoorStatistics;
  /** Ends the lease of a connection's SESSION locks. */
  endConnection(connection: number): void;
}
