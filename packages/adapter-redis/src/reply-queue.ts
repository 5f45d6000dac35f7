import { LIMITS, type Scheduler } from '@lockstep/model';
import type { DoorStatistics } from './door-session.ts';
import { isError, type PushReply, type Reply } from './reply.ts';
import { type Protocol, ReplyWriter } from './reply-writer.ts';
import { type Slot, SlotQueue } from './slot.ts';
import type { Wire } from './wire.ts';

/** What the queue must know of its connection while it writes. */
export interface ReplyQueueOwner {
  readonly protocol: Protocol;
  readonly closed: boolean;
  /** It gets messages out of band: too much unsent closes it. */
  readonly listening: boolean;
  destroy(): void;
  /** There is room again. */
  drained(): void;
}

/**
 * The answering half of a connection: slots in the order of their requests, replies written when
 * all before them are, one write to the socket per turn.
 */
export class ReplyQueue {
  readonly #output = new ReplyWriter();
  readonly #slots = new SlotQueue();
  readonly #owner: ReplyQueueOwner;
  readonly #wire: Wire;
  readonly #scheduler: Scheduler;
  readonly #statistics: DoorStatistics;
  #bytesInFlight = 0;
  #deferred: PushReply[] = [];
  #flushPosted = false;
  #ending = false;
  #wantsRoom = false;

  constructor(
    owner: ReplyQueueOwner,
    wire: Wire,
    scheduler: Scheduler,
    statistics: DoorStatistics,
  ) {
    this.#owner = owner;
    this.#wire = wire;
    this.#scheduler = scheduler;
    this.#statistics = statistics;
  }

  get length(): number {
    return this.#slots.length;
  }

  get head(): Slot | undefined {
    return this.#slots.head;
  }

  get ending(): boolean {
    return this.#ending;
  }

  /** True while neither requests nor replies of this connection take more than they may. */
  get hasRoom(): boolean {
    return (
      this.#slots.length < LIMITS.connectionRequestsInFlightMax &&
      this.#bytesInFlight < LIMITS.connectionBytesInFlightMax &&
      !this.#isFull()
    );
  }

  push(slot: Slot): void {
    this.#statistics.commands++;
    this.#bytesInFlight += slot.sizeBytes;
    this.#slots.push(slot);
  }

  complete(slot: Slot, reply: Reply): void {
    slot.reply = reply;
    this.pump();
  }

  /**
   * Writes what is answered, in order, while the socket keeps up: a reply not yet written is a
   * reference to what the store holds, a written one a copy.
   */
  pump(): void {
    for (let head = this.#slots.head; head?.reply !== undefined; head = this.#slots.head) {
      if (this.#isFull()) break;
      this.#slots.shift();
      this.#bytesInFlight -= head.sizeBytes;
      if (isError(head.reply)) this.#statistics.errors++;
      if (!head.silent) this.#output.write(head.reply, this.#owner.protocol);
    }
    for (const message of this.#deferred.splice(0)) {
      this.#output.write(message, this.#owner.protocol);
    }
    if (this.#output.length > 0 || this.#ending) this.#postFlush();
  }

  #isFull(): boolean {
    const unsent = this.#wire.unsentBytes() + this.#output.length;
    const full = unsent >= LIMITS.connectionBytesUnsentMax;
    if (full) this.#wantsRoom = true;
    return full;
  }

  /** Out of band; `afterReply` keeps it until the next reply is written. */
  message(message: PushReply, afterReply: boolean): void {
    if (afterReply) {
      this.#deferred.push(message);
      return;
    }
    // One transaction may publish much: what is over the limit is not even written.
    const unsent = this.#wire.unsentBytes() + this.#output.length;
    if (unsent > LIMITS.subscriberBytesUnsentMax) {
      this.#owner.destroy();
      return;
    }
    this.#output.write(message, this.#owner.protocol);
    this.#postFlush();
  }

  /** Closes once everything is answered and sent. */
  end(): void {
    this.#ending = true;
    this.#postFlush();
  }

  /** Hands over what was answered, as far as the socket takes it, then closes. */
  destroy(): void {
    if (this.#output.length > 0) this.#wire.write(this.#output.take());
    this.#wire.destroy();
  }

  #postFlush(): void {
    if (this.#flushPosted) return;
    this.#flushPosted = true;
    this.#scheduler.post(() => {
      this.#flushPosted = false;
      if (!this.#owner.closed) this.#flush();
    });
  }

  #flush(): void {
    if (this.#output.length > 0) this.#wire.write(this.#output.take());
    if (this.#ending && this.#slots.length === 0) {
      this.#wire.end();
      return;
    }
    const unsent = this.#wire.unsentBytes();
    if (this.#owner.listening && unsent > LIMITS.subscriberBytesUnsentMax) {
      this.#owner.destroy();
    } else if (this.#wantsRoom && unsent < LIMITS.connectionBytesUnsentMax) {
      // A socket that takes everything at once never says that it is drained.
      this.#wantsRoom = false;
      this.#owner.drained();
    }
  }
}
