import type { Subscription } from '../invariants/messages.ts';
import { DoorClient, type DoorContext } from './door-client.ts';
import { RedisConnection, type RespValue } from './redis-connection.ts';

/** Channels with messages of the workload, and of keys that expire or are deleted. */
export const CHANNELS = ['news', 'script', '__keyevent@0__:expired', '__keyevent@0__:del'];

/**
 * Listens to a few channels; now and then reads slowly or leaves. With `first` all of them sit at
 * the first member, so that members differ in how many hear a message.
 */
export class RedisSubscriber extends DoorClient {
  readonly #first: boolean;
  #connection: RedisConnection | undefined;
  #subscriptions = new Map<string, Subscription>();
  #due = 0;

  constructor(context: DoorContext, first: boolean) {
    super(context);
    this.#first = first;
  }

  protected act(): void {
    const { stream } = this.context;
    const connection = this.#connection;
    if (connection === undefined || !connection.isOpen) {
      this.#subscribe();
      return;
    }
    const draw = stream.below(100);
    if (draw < 10) {
      connection.socket.stall();
      this.later(stream.between(10, 2000), () => connection.socket.read());
    } else if (draw < 15) {
      connection.close();
      this.#connection = undefined;
    }
    this.done(1000);
  }

  override settled(): void {
    if (this.#connection?.isOpen !== true) return;
    for (const subscription of this.#subscriptions.values()) {
      this.context.oracle.promises.messages.settled(subscription);
    }
  }

  #subscribe(): void {
    const { doorways, stream, oracle, name, world } = this.context;
    const doors = doorways.pick(stream, this.#first);
    if (doors === undefined) {
      this.done(300);
      return;
    }
    const connection = new RedisConnection(doors, {
      closed: () => {
        if (this.#connection !== connection) return;
        this.#connection = undefined;
        if (this.#due > 0) this.#confirmed(0);
      },
      push: (items) => this.#push(items),
      surplus: () => world.fail('AnsweredOnce', `${name} gets a reply to no request`),
    });
    this.#connection = connection;
    const channels = CHANNELS.filter(() => stream.chance(0.7));
    this.#subscriptions = new Map(
      channels.map((channel) => [channel, oracle.promises.messages.subscribe(name, channel)]),
    );
    this.#due = channels.length;
    if (channels.length === 0) this.done();
    else connection.tell(['SUBSCRIBE', ...channels]);
  }

  #push([kind, channel, payload]: readonly RespValue[]): void {
    const { messages } = this.context.oracle.promises;
    const subscription = this.#subscriptions.get(String(channel));
    if (subscription === undefined) return;
    if (kind === 'message') messages.message(subscription, String(payload));
    else if (kind === 'subscribe') {
      messages.confirmed(subscription);
      this.#confirmed(this.#due - 1);
    }
  }

  #confirmed(due: number): void {
    const before = this.#due;
    this.#due = due;
    if (due === 0 && before > 0) this.done(1000);
  }
}
