import { REDIS_DOOR, type RedisDoorEvent } from '@lockstep/adapter-redis';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/** What was said less long ago may still be on its way to a client that reads slowly. */
export const GRACE_US = 3_500_000;

/** One subscription of one connection to one channel. */
export interface Subscription {
  readonly who: string;
  readonly channel: string;
  /** Messages that there were when the client learned that it is subscribed. */
  confirmedAt: number | undefined;
  /** Places in the history at which the newest message received may stand; equal texts repeat. */
  places: readonly number[] | undefined;
}

/**
 * The Redis door's part of WatchOrdered, WatchUnique and WatchReliable: what a subscriber gets is
 * an unbroken stretch of the channel's messages in the order of the log, which begins no later
 * than with the first message after its subscription was confirmed; it ends with the connection.
 */
export class Messages {
  readonly #world: World;
  readonly #channels = new Map<string, string[]>();
  /** When the newest message of a channel was said. */
  readonly #saidUs = new Map<string, number>();
  received = 0;

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({
      transaction: ({ events }) => {
        for (const event of events) {
          if (event.kind !== 'door' || event.door !== REDIS_DOOR) continue;
          this.#said(event.payload as RedisDoorEvent);
        }
      },
    });
  }

  subscribe(who: string, channel: string): Subscription {
    return { who, channel, confirmedAt: undefined, places: undefined };
  }

  confirmed(subscription: Subscription): void {
    subscription.confirmedAt = this.#on(subscription.channel).length;
  }

  message(subscription: Subscription, text: string): void {
    this.received += 1;
    const { channel, places, confirmedAt } = subscription;
    const said = this.#on(channel);
    if (confirmedAt === undefined) {
      this.#fail(subscription, `gets ${text} before its subscription is confirmed`);
      return;
    }
    if (places === undefined) {
      const first: number[] = [];
      for (let at = 0; at < said.length && at <= confirmedAt; at++) {
        if (said[at] === text) first.push(at);
      }
      subscription.places = first;
    } else {
      subscription.places = places.map((at) => at + 1).filter((at) => said[at] === text);
    }
    if (subscription.places.length > 0) return;
    const expected = places?.map((at) => said[at + 1]).join(' or ') ?? said[confirmedAt];
    this.#fail(subscription, `gets ${text}, due was ${expected ?? 'nothing'}`);
  }

  /** The cluster is at rest: whoever is still connected has everything. */
  settled({ who, channel, confirmedAt, places }: Subscription): void {
    const said = this.#on(channel).length;
    if (confirmedAt === undefined || confirmedAt === said) return;
    if (this.#world.nowUs - (this.#saidUs.get(channel) ?? 0) < GRACE_US) return;
    if (places?.includes(said - 1) === true) return;
    const what = `${who} misses the last of ${said} messages of ${channel}`;
    this.#world.fail('WatchReliable', `${what}, has ${places?.join(' or ') ?? 'none'}`);
  }

  #said(event: RedisDoorEvent): void {
    if (event.kind === 'message' && !event.sharded) this.#say(event.channel, event.message);
    if (event.kind !== 'notification') return;
    const { db, key, keyspace, keyevent } = event;
    if (keyspace) this.#say(`__keyspace@${db}__:${key}`, event.event);
    if (keyevent) this.#say(`__keyevent@${db}__:${event.event}`, key);
  }

  #say(channel: string, text: string): void {
    this.#on(channel).push(text);
    this.#saidUs.set(channel, this.#world.nowUs);
  }

  #on(channel: string): string[] {
    const said = this.#channels.get(channel) ?? [];
    this.#channels.set(channel, said);
    return said;
  }

  #fail({ who, channel }: Subscription, what: string): void {
    this.#world.fail('WatchReliable', `${who}, subscribed to ${channel}, ${what}`);
  }
}
