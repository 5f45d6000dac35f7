import type { ByteString, Timer } from '@lockstep/model';
import { type ClientIdentity, type CommandSpec, hasFlag } from './command.ts';
import { keysOf } from './command-keys.ts';
import { resolveCommand } from './command-table.ts';
import type { Door, DoorSession, OpenTransaction } from './door-session.ts';
import { connectionLease, sessionLockTtl } from './lock-session.ts';
import type { SubscriptionKind } from './pubsub.ts';
import type { PushReply } from './reply.ts';
import type { Protocol } from './reply-writer.ts';
import type { TrackingMode } from './tracking.ts';
import type { WatchedKey } from './watched-key.ts';
import type { Wire } from './wire.ts';

/** Renewals per lifetime of the lease of SESSION locks. */
const RENEWALS_PER_TTL = 3;

/** What a connection has chosen and holds; the session adds the flow of requests. */
export abstract class ConnectionState {
  readonly id: number;
  readonly address: ByteString;
  readonly localAddress: ByteString;
  readonly door: Door;
  readonly identity: ClientIdentity;
  readonly connectedMs: number;
  protocol: Protocol = 2;
  db = 0;
  name: ByteString = '';
  libraryName: ByteString = '';
  libraryVersion: ByteString = '';
  authenticated: boolean;
  replyMode: DoorSession['replyMode'] = 'on';
  transaction: OpenTransaction | undefined;
  watched: WatchedKey[] = [];
  dirty = false;
  tracking: TrackingMode | undefined;
  caching: boolean | undefined;
  activeMs: number;
  lastCommand = 'NULL';
  closed = false;
  readonly #names: Record<SubscriptionKind, Set<ByteString>> = {
    channel: new Set(),
    pattern: new Set(),
    shard: new Set(),
  };
  #renewal: Timer | undefined;

  constructor(door: Door, wire: Wire, id: number) {
    this.door = door;
    this.id = id;
    this.address = wire.address;
    this.localAddress = wire.localAddress;
    this.identity = { id, address: wire.address };
    this.connectedMs = door.clock.monotonicMs();
    this.activeMs = this.connectedMs;
    this.authenticated = door.password === '';
  }

  abstract deliver(message: PushReply): void;
  abstract destroy(): void;
  abstract leaveQueue(withError: boolean): boolean;
  abstract end(): void;
  abstract readonly pending: number;
  abstract readonly blocked: boolean;
  abstract readonly isAuthor: boolean;

  authenticate(user: ByteString, password: ByteString): boolean {
    const expected = this.door.password;
    if (user !== 'default' || (expected !== '' && !sameSecret(expected, password))) return false;
    this.authenticated = true;
    return true;
  }

  // ---- subscriptions ----------------------------------------------------------------------

  get subscribed(): boolean {
    const { channel, pattern, shard } = this.#names;
    return channel.size + pattern.size + shard.size > 0;
  }

  get listening(): boolean {
    return this.subscribed || this.tracking !== undefined;
  }

  get counts(): Record<SubscriptionKind, number> {
    const { channel, pattern, shard } = this.#names;
    return { channel: channel.size, pattern: pattern.size, shard: shard.size };
  }

  subscribe(kind: SubscriptionKind, name: ByteString): void {
    this.#names[kind].add(name);
    this.door.pubsub.subscribe(kind, name, this);
  }

  unsubscribe(kind: SubscriptionKind, name: ByteString): void {
    this.#names[kind].delete(name);
    this.door.pubsub.unsubscribe(kind, name, this);
  }

  subscriptions(kind: SubscriptionKind): ByteString[] {
    return [...this.#names[kind]];
  }

  #unsubscribeAll(): void {
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      for (const name of this.subscriptions(kind)) this.unsubscribe(kind, name);
    }
  }

  // ---- tracking ---------------------------------------------------------------------------

  setTracking(mode: TrackingMode | undefined): void {
    this.tracking = mode;
    this.caching = undefined;
    this.door.tracking.changedMode(this);
  }

  /** Whether what the next command reads is to be remembered; CLIENT CACHING counts once. */
  protected takeCaching(): boolean {
    const { tracking, caching } = this;
    if (tracking === undefined) return false;
    this.caching = undefined;
    if (tracking.prefixes !== undefined) return false;
    return tracking.remembers === 'optin' ? caching === true : caching !== false;
  }

  /** A command was evaluated: from now on this connection hears when what it read changes. */
  protected remember(spec: CommandSpec, argv: readonly ByteString[]): void {
    // What a script reads it has declared.
    if (this.closed || (!hasFlag(spec, 'readonly') && spec.keysOf === undefined)) return;
    const level = this.door.replica.state.featureLevel;
    this.door.tracking.remember(
      this,
      keysOf(spec, argv, (words) => resolveCommand(words, level)) ?? [],
    );
  }

  // ---- the lease of SESSION locks ---------------------------------------------------------

  /** Starts renewing if this connection has a lease now (a LOCK, perhaps inside a script). */
  adoptLease(): void {
    if (this.#renewal !== undefined) return;
    const lease = connectionLease(this.door.replica.state, this.id);
    if (lease === undefined) return;
    if (this.closed) this.door.endConnection(this.id);
    else this.keepLease();
  }

  keepLease(): void {
    const ttlMs = this.door.replica.state.option(sessionLockTtl);
    this.#renewal = this.door.clock.setTimer(ttlMs / RENEWALS_PER_TTL, () => this.#renew());
  }

  #renew(): void {
    const lease = connectionLease(this.door.replica.state, this.id);
    if (this.closed) return;
    // Its locks are lost: a closed connection is how their holder learns of it.
    if (lease === undefined) {
      this.destroy();
      return;
    }
    this.door.replica.renew(lease.handle, {
      renewed: (alive) => {
        if (!alive) this.destroy();
        else if (!this.closed) this.keepLease();
      },
      failed: () => {
        if (!this.closed) this.keepLease();
      },
    });
  }

  // ---- ends -------------------------------------------------------------------------------

  reset(): void {
    this.transaction = undefined;
    this.door.watches.clear(this);
    this.setTracking(undefined);
    this.#unsubscribeAll();
    this.name = '';
    this.protocol = 2;
    this.db = 0;
    this.replyMode = 'on';
    this.authenticated = this.door.password === '';
  }

  protected markClosed(): void {
    this.closed = true;
    this.setTracking(undefined);
    this.door.watches.clear(this);
    this.#unsubscribeAll();
    if (this.#renewal === undefined) return;
    this.#renewal.cancel();
    this.door.endConnection(this.id);
  }
}

/** Compares all of it, so that the time tells nothing of where they differ. */
function sameSecret(a: ByteString, b: ByteString): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= b.charCodeAt(i) ^ a.charCodeAt(i % a.length);
  return difference === 0;
}
