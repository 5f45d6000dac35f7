import { type Index, invariant, type MemberId, mark } from '@lockstep/model';
import type { ReadContext } from './contract.ts';

export interface PendingRead {
  readonly context: ReadContext;
  /** The member that asked; the answer goes there. */
  readonly from: MemberId;
  /** Commit index when the read arrived. */
  readonly index: Index;
  readonly round: number;
}

/**
 * Linearizable reads on the leader (thesis §6.4). All reads of one turn share a round; a quorum
 * that confirms a round sent after their arrival proves that no newer leader existed at arrival.
 * The counter belongs to one term of one leader and is never taken from a request, so that a
 * retried or delayed message can confirm nothing new.
 */
export class LeaderReads {
  /** Newest round; messages carry it. */
  round = 0;
  /** The newest round gathers reads until the turn ends. */
  open = false;
  #waiting: PendingRead[] = [];
  /** Reads that came before the first commit of the term: held, not dropped. */
  #held: { context: ReadContext; from: MemberId }[] = [];

  get waiting(): boolean {
    return this.#waiting.length > 0;
  }

  hold(context: ReadContext, from: MemberId): void {
    this.#held.push({ context, from });
  }

  add(context: ReadContext, from: MemberId, index: Index): void {
    if (!this.open) {
      this.open = true;
      this.round++;
    }
    this.#waiting.push({ context, from, index, round: this.round });
  }

  /** The term has its first commit: held reads join the present round. */
  release(index: Index): void {
    for (const read of this.#held) this.add(read.context, read.from, index);
    this.#held = [];
  }

  /** Takes the reads that a quorum's confirmation of `round` answers. */
  confirmed(round: number): readonly PendingRead[] {
    let count = 0;
    while (count < this.#waiting.length && this.#waiting[count]!.round <= round) count++;
    return count === 0 ? [] : this.#waiting.splice(0, count);
  }

  /** Leadership ended: gives back everything that was not answered. */
  takeAll(): readonly { readonly context: ReadContext; readonly from: MemberId }[] {
    const all = [...this.#waiting, ...this.#held];
    this.#waiting = [];
    this.#held = [];
    return all;
  }
}

/** Reads that this member forwarded to its leader; each ends exactly once. */
export class ForwardedReads {
  #waiting = new Map<number, { context: ReadContext; age: number }>();

  get size(): number {
    return this.#waiting.size;
  }

  add(context: ReadContext): void {
    const { counter } = context;
    invariant(!this.#waiting.has(counter), `read context ${counter} is used twice`);
    this.#waiting.set(counter, { context, age: 0 });
  }

  /** Ends the read of that context; undefined when it is unknown or already ended. */
  take(context: ReadContext): ReadContext | undefined {
    const found = this.#waiting.get(context.counter)?.context;
    if (found === undefined || found.incarnation !== context.incarnation) return undefined;
    if (found.member !== context.member) return undefined;
    this.#waiting.delete(context.counter);
    return found;
  }

  /** One tick: takes the reads older than `ticksMax`, whose messages must have been lost. */
  expire(ticksMax: number): readonly ReadContext[] {
    if (this.#waiting.size === 0) return [];
    const expired: ReadContext[] = [];
    for (const read of this.#waiting.values()) {
      if (++read.age > ticksMax) expired.push(read.context);
    }
    if (expired.length > 0) mark('forwarded read went unanswered');
    for (const context of expired) this.#waiting.delete(context.counter);
    return expired;
  }

  takeAll(): readonly ReadContext[] {
    const all = [...this.#waiting.values()].map((read) => read.context);
    this.#waiting.clear();
    return all;
  }
}
