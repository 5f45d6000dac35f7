import {
  BinaryFormatError,
  BinaryWriter,
  type ByteString,
  type Clock,
  type Incarnation,
  type MemberId,
  type Random,
  type Scheduler,
  type Sequence,
  type Timer,
} from '@lockstep/model';
import type { EventSink, Replica } from '@lockstep/replica';
import type { AppliedTransaction, StateEvent } from '@lockstep/state-machine';
import type { CommandSpec } from './command.ts';
import { commandTable } from './command-table.ts';
import type { Door, DoorStatistics } from './door-session.ts';
import { databaseOf } from './keyspaces.ts';
import { DOOR, type NotificationEvent, type RedisDoorEvent } from './notification.ts';
import { encodeEndConnection } from './procedures.ts';
import { PubSub } from './pubsub.ts';
import { Session } from './session.ts';
import { initialSettings } from './settings.ts';
import type { Slot } from './slot.ts';
import { TrackingTable } from './tracking.ts';
import { WaitTable } from './wait-table.ts';
import { WatchTable } from './watch-registry.ts';
import type { Wire } from './wire.ts';

export interface DoorCoreOptions {
  readonly replica: Replica;
  readonly clock: Clock;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly password: ByteString;
  readonly port: number;
  readonly clientsMax: number;
  /** Receives redis.log of scripts run here. */
  readonly log: (level: number, text: string) => void;
}

/** Counts are gossiped this long after they changed, so that many changes make one message. */
const GOSSIP_DELAY_MS = 50;
const GOSSIP_REFRESH_MS = 5_000;

/** Everything of the door but its socket: sessions, subscriptions, watches, waits. */
export class RedisDoorCore implements EventSink {
  readonly door: Door;
  readonly scheduler: Scheduler;
  readonly encoder = new BinaryWriter(4096);
  readonly waits: WaitTable;
  /** Commands found by their name alone, in the two spellings clients use. */
  readonly simple: ReadonlyMap<string, CommandSpec> = simpleCommands();
  readonly #options: DoorCoreOptions;
  readonly #sessions = new Map<number, Session>();
  readonly #watches = new WatchTable();
  readonly #pubsub = new PubSub();
  readonly #tracking = new TrackingTable(this.#sessions);
  readonly #unsubscribe: () => void;
  #incarnation: Incarnation;
  #applying: Sequence = 0;
  #lastConnection = 0;
  #gossip: Timer | undefined;
  #refresh: Timer | undefined;
  #closed = false;

  constructor(options: DoorCoreOptions) {
    this.#options = options;
    const { replica, clock, random, password, port } = options;
    this.scheduler = options.scheduler;
    this.#incarnation = replica.incarnation;
    this.waits = new WaitTable(replica, this.encoder);
    const statistics: DoorStatistics = {
      connections: 0,
      rejectedConnections: 0,
      commands: 0,
      errors: 0,
    };
    this.door = {
      replica,
      clock,
      password,
      port,
      startedMs: clock.monotonicMs(),
      runId: randomHex(random),
      sessions: this.#sessions,
      pubsub: this.#pubsub,
      watches: this.#watches,
      tracking: this.#tracking,
      settings: initialSettings(port),
      statistics,
      endConnection: (connection) => {
        replica.submit(encodeEndConnection(connection));
      },
    };
    this.#pubsub.changed = () => this.#gossipSoon();
    this.#unsubscribe = replica.subscribe(this);
    this.#refreshLater();
  }

  /** Undefined when there are too many clients already. */
  accept(wire: Wire): Session | undefined {
    const { statistics } = this.door;
    statistics.connections++;
    if (this.#sessions.size >= this.#options.clientsMax) {
      statistics.rejectedConnections++;
      return undefined;
    }
    const session = new Session(this, wire, this.#nextId());
    this.#sessions.set(session.id, session);
    return session;
  }

  /** Grows within a member's life and differs between members and incarnations. */
  #nextId(): number {
    const { member, incarnation } = this.door.replica;
    this.#lastConnection++;
    return (member % 512) * 2 ** 44 + (incarnation % 4096) * 2 ** 32 + this.#lastConnection;
  }

  nextSeed(): number {
    return this.#options.random.u32();
  }

  forget(session: Session, blocking: Slot | undefined): void {
    this.#sessions.delete(session.id);
    this.waits.abandon(blocking);
  }

  /** True while the events of that command of ours are given out. */
  isApplying(sequence: Sequence): boolean {
    return this.#applying !== 0 && this.#applying === sequence;
  }

  drain(): void {
    for (const session of [...this.#sessions.values()]) session.end();
  }

  close(): void {
    this.#closed = true;
    this.#gossip?.cancel();
    this.#refresh?.cancel();
    for (const session of [...this.#sessions.values()]) session.destroy();
    this.#unsubscribe();
  }

  // ---- the event stream -------------------------------------------------------------------

  transaction(transaction: AppliedTransaction): void {
    const { events } = transaction;
    if (events.length === 0) return;
    const own = transaction.origin === this.door.replica.member;
    this.#applying = own ? transaction.sequence : 0;
    for (const event of events) this.#event(event, own);
    this.#tracking.flush();
    this.#applying = 0;
  }

  #event(event: StateEvent, own: boolean): void {
    switch (event.kind) {
      case 'change': {
        if (this.#watches.isEmpty && this.#tracking.isEmpty) return;
        const db = databaseOf.get(event.keyspace);
        if (db === undefined) return;
        this.#watches.changed(db, event.key);
        if (!this.#tracking.isEmpty) this.#tracking.changed(event.key);
        return;
      }
      case 'clear':
        if (databaseOf.has(event.keyspace)) this.#tracking.changedAll();
        return;
      case 'waiter':
        this.waits.ended(event);
        return;
      case 'door':
        if (event.door === DOOR) this.#doorEvent(event.payload as RedisDoorEvent, own);
        return;
      default:
        return;
    }
  }

  #doorEvent(event: RedisDoorEvent, own: boolean): void {
    switch (event.kind) {
      case 'message':
        if (event.sharded) this.#pubsub.publishSharded(event.channel, event.message);
        else this.#pubsub.publish(event.channel, event.message);
        return;
      case 'notification':
        this.#notify(event);
        return;
      case 'script-log':
        if (own) this.#options.log(event.level, event.text);
        return;
    }
  }

  #notify({ db, event, key, keyspace, keyevent }: NotificationEvent): void {
    if (keyspace) this.#pubsub.publish(`__keyspace@${db}__:${key}`, event);
    if (keyevent) this.#pubsub.publish(`__keyevent@${db}__:${event}`, key);
  }

  /** After a snapshot install messages are missing and waits may be over (design §8). */
  skipped(): void {
    this.#watches.changedAll();
    this.#tracking.changedAll();
    this.#tracking.flush();
    this.waits.skipped();
    const lost = this.#pubsub.subscribers();
    for (const session of [...this.#sessions.values()]) {
      if (session.blocked || lost.has(session)) session.destroy();
    }
  }

  /** A new incarnation: what the old one's connections held or waited for is gone (design §4). */
  changed(): void {
    const { incarnation } = this.door.replica;
    if (incarnation === this.#incarnation) return;
    this.#incarnation = incarnation;
    for (const session of [...this.#sessions.values()]) session.destroy();
  }

  gossip(from: MemberId, door: string, payload: Uint8Array): void {
    if (door !== DOOR) return;
    try {
      this.#pubsub.receiveCounts(from, payload, this.door.clock.monotonicMs());
    } catch (failure) {
      // A member of another version may count differently; only PUBLISH's number suffers.
      if (!(failure instanceof BinaryFormatError)) throw failure;
    }
  }

  #gossipSoon(): void {
    if (this.#gossip !== undefined || this.#closed) return;
    this.#gossip = this.door.clock.setTimer(GOSSIP_DELAY_MS, () => {
      this.#gossip = undefined;
      this.door.replica.gossip(DOOR, this.#pubsub.encodeCounts());
    });
  }

  #refreshLater(): void {
    this.#refresh = this.door.clock.setTimer(GOSSIP_REFRESH_MS, () => {
      this.#pubsub.forgetSilent(this.door.clock.monotonicMs());
      if (!this.#pubsub.isEmpty) this.#gossipSoon();
      this.#refreshLater();
    });
  }
}

function simpleCommands(): ReadonlyMap<string, CommandSpec> {
  const simple = new Map<string, CommandSpec>();
  for (const [name, spec] of commandTable) {
    if (spec.subcommands !== undefined || spec.wraps !== undefined) continue;
    simple.set(name, spec);
    simple.set(name.toUpperCase(), spec);
  }
  return simple;
}

function randomHex(random: Random): ByteString {
  const bytes = new Uint8Array(20);
  random.fill(bytes);
  return Buffer.from(bytes).toString('hex');
}
