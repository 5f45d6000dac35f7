import { BinaryReader, BinaryWriter, type ByteString, type MemberId } from '@lockstep/model';
import { globMatches, globSteps } from './glob.ts';
import type { PushReply } from './reply.ts';

/** What a subscription is to: a channel, a pattern, or a channel of SSUBSCRIBE. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard';

export interface Subscriber {
  /** In log order with everything else; a subscriber that falls too far behind is closed. */
  deliver(message: PushReply): void;
}

type Table = Map<ByteString, Set<Subscriber>>;

/** Subscribers of another member by name, as that member last gossiped them. */
interface RemoteCounts {
  readonly tables: Readonly<Record<SubscriptionKind, ReadonlyMap<ByteString, number>>>;
  readonly receivedMs: number;
}

const KINDS: readonly SubscriptionKind[] = ['channel', 'pattern', 'shard'];
/** Gossip is refreshed more often than that; a member that fell silent is forgotten. */
const REMOTE_AGE_MS_MAX = 30_000;
/** Rows of one gossip message; counts beyond are left out. */
const GOSSIP_ROWS_MAX = 50_000;

/**
 * Subscriptions of this member's connections, and how many the other members have: messages ride
 * the log to all, only the numbers of PUBLISH and PUBSUB need gossip.
 */
export class PubSub {
  readonly #local: Record<SubscriptionKind, Table> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  };
  readonly #remote = new Map<MemberId, RemoteCounts>();
  /** Called when what `encodeCounts` gives has changed. */
  changed: () => void = () => {};

  subscribe(kind: SubscriptionKind, name: ByteString, subscriber: Subscriber): void {
    const table = this.#local[kind];
    const present = table.get(name);
    if (present === undefined) table.set(name, new Set([subscriber]));
    else present.add(subscriber);
    this.changed();
  }

  unsubscribe(kind: SubscriptionKind, name: ByteString, subscriber: Subscriber): void {
    const present = this.#local[kind].get(name);
    if (present?.delete(subscriber) !== true) return;
    if (present.size === 0) this.#local[kind].delete(name);
    this.changed();
  }

  publish(channel: ByteString, message: ByteString): void {
    const exact = this.#local.channel.get(channel);
    if (exact !== undefined) send(exact, { kind: 'push', items: ['message', channel, message] });
    for (const [pattern, subscribers] of this.#local.pattern) {
      if (!reaches(pattern, channel)) continue;
      send(subscribers, { kind: 'push', items: ['pmessage', pattern, channel, message] });
    }
  }

  publishSharded(channel: ByteString, message: ByteString): void {
    const subscribers = this.#local.shard.get(channel);
    if (subscribers === undefined) return;
    send(subscribers, { kind: 'push', items: ['smessage', channel, message] });
  }

  /** Subscriptions in the cluster that a message on `channel` reaches. */
  receivers(channel: ByteString, sharded: boolean): number {
    if (sharded) return this.count('shard', channel);
    let total = this.count('channel', channel);
    for (const [pattern, subscribers] of this.#local.pattern) {
      if (reaches(pattern, channel)) total += subscribers.size;
    }
    for (const { tables } of this.#remote.values()) {
      for (const [pattern, count] of tables.pattern) {
        if (reaches(pattern, channel)) total += count;
      }
    }
    return total;
  }

  /** Subscribers of one name in the cluster. */
  count(kind: SubscriptionKind, name: ByteString): number {
    let total = this.#local[kind].get(name)?.size ?? 0;
    for (const { tables } of this.#remote.values()) total += tables[kind].get(name) ?? 0;
    return total;
  }

  /** Names with subscribers in the cluster, sorted. */
  names(kind: SubscriptionKind): ByteString[] {
    const names = new Set(this.#local[kind].keys());
    for (const { tables } of this.#remote.values()) {
      for (const name of tables[kind].keys()) names.add(name);
    }
    return [...names].sort();
  }

  /** Closes in on whoever listens here: after a snapshot install messages are missing. */
  subscribers(): Set<Subscriber> {
    const all = new Set<Subscriber>();
    for (const kind of KINDS) {
      for (const set of this.#local[kind].values()) for (const one of set) all.add(one);
    }
    return all;
  }

  /** This member's counts for the others. The caller owns the bytes. */
  encodeCounts(): Uint8Array {
    const writer = new BinaryWriter();
    for (const kind of KINDS) {
      const rows = [...this.#local[kind]].slice(0, GOSSIP_ROWS_MAX);
      writer.varint(rows.length);
      for (const [name, subscribers] of rows) writer.byteString(name).varint(subscribers.size);
    }
    return writer.take();
  }

  /** Takes over another member's counts. Throws BinaryFormatError when malformed. */
  receiveCounts(from: MemberId, payload: Uint8Array, nowMs: number): void {
    const reader = new BinaryReader(payload);
    const read = () => {
      const table = new Map<ByteString, number>();
      for (let left = reader.varint(); left > 0; left--) {
        table.set(reader.byteString(), reader.varint());
      }
      return table;
    };
    const tables = { channel: read(), pattern: read(), shard: read() };
    this.#remote.set(from, { tables, receivedMs: nowMs });
  }

  /** Forgets members that have not been heard of for long. */
  forgetSilent(nowMs: number): void {
    for (const [member, { receivedMs }] of this.#remote) {
      if (nowMs - receivedMs > REMOTE_AGE_MS_MAX) this.#remote.delete(member);
    }
  }

  get isEmpty(): boolean {
    return KINDS.every((kind) => this.#local[kind].size === 0);
  }
}

/** Steps of one match at most: a channel may be named after a key of megabytes. */
const MATCH_STEPS_MAX = 1_000_000;

/** Too long to be tried means that only `*` gets it. */
function reaches(pattern: ByteString, channel: ByteString): boolean {
  if (pattern === '*') return true;
  return globSteps(pattern, channel) <= MATCH_STEPS_MAX && globMatches(pattern, channel);
}

function send(subscribers: ReadonlySet<Subscriber>, message: PushReply): void {
  for (const subscriber of subscribers) subscriber.deliver(message);
}
