import type { Scheduler } from '@lockstep/model';
import { hasFlag } from './command.ts';
import type { ReadBatch, ReadSlot } from './slot.ts';

/** The leader's times that came with a barrier. */
export interface ReadTimes {
  readonly clusterMs: number;
  readonly wallMs: number;
}

export interface ReadQueueOwner {
  readonly closed: boolean;
  /** Evaluates one read and answers it. */
  answerRead(slot: ReadSlot, times: ReadTimes): void;
  /** All reads whose barrier was reached are answered. */
  readsAnswered(): void;
}

/**
 * Reads of one connection whose barrier was reached, in their order. After one that may take long
 * the rest waits for a turn of its own: a pipeline of scripts must not hold up the member.
 */
export class ReadQueue {
  readonly #owner: ReadQueueOwner;
  readonly #scheduler: Scheduler;
  readonly #due: { readonly batch: ReadBatch; readonly times: ReadTimes; done: number }[] = [];

  constructor(owner: ReadQueueOwner, scheduler: Scheduler) {
    this.#owner = owner;
    this.#scheduler = scheduler;
  }

  push(batch: ReadBatch, times: ReadTimes): void {
    this.#due.push({ batch, times, done: 0 });
    if (this.#due.length === 1) this.#run();
  }

  #run(): void {
    for (let due = this.#due[0]; due !== undefined && !this.#owner.closed; due = this.#due[0]) {
      const { batch, times } = due;
      const slot = batch.slots[due.done++];
      if (slot === undefined) {
        this.#due.shift();
        continue;
      }
      this.#owner.answerRead(slot, times);
      if (hasFlag(slot.spec, 'fast') || due.done === batch.slots.length) continue;
      this.#scheduler.post(() => this.#run());
      return;
    }
    this.#owner.readsAnswered();
  }
}
