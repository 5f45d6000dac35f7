import { EMPTY_BYTES, invariant, type Sequence } from '@lockstep/model';
import type { CommandWaiter } from './contract.ts';

/** One command of this member that has a number and is not yet known to be applied. */
export interface PendingCommand {
  readonly sequence: Sequence;
  /** Emptied once its client was told failed or unknown: then only the number is still owed. */
  command: Uint8Array;
  /** Undefined when nobody waits, or no longer. */
  waiter: CommandWaiter | undefined;
  /** Monotonic milliseconds after which the client is told that no answer came. */
  readonly deadlineMs: number;
  /** True once any leader may hold a copy with its body: the outcome is then unknown. */
  handed: boolean;
}

/**
 * This member's unapplied commands as a ring indexed by sequence (design §4): numbers are given
 * without holes, and since they apply in order they also leave in order.
 */
export class PendingCommands {
  #slots: (PendingCommand | undefined)[] = new Array(1024);
  #mask = 1023;
  #first: Sequence = 1;
  #next: Sequence = 1;
  #bytes = 0;

  /** Lowest number not yet applied; equals `next` when nothing is pending. */
  get first(): Sequence {
    return this.#first;
  }

  /** The number that the next command gets. */
  get next(): Sequence {
    return this.#next;
  }

  get count(): number {
    return this.#next - this.#first;
  }

  /** Bytes of the bodies held for resending. */
  get bytes(): number {
    return this.#bytes;
  }

  push(command: Uint8Array, waiter: CommandWaiter | undefined, deadlineMs: number): Sequence {
    if (this.count === this.#slots.length) this.#grow();
    const sequence = this.#next++;
    this.#slots[sequence & this.#mask] = { sequence, command, waiter, deadlineMs, handed: false };
    this.#bytes += command.length;
    return sequence;
  }

  get(sequence: Sequence): PendingCommand | undefined {
    if (sequence < this.#first || sequence >= this.#next) return undefined;
    return this.#slots[sequence & this.#mask];
  }

  /** Takes the oldest command out; its number has been applied here. */
  shift(): PendingCommand {
    const at = this.#first & this.#mask;
    const pending = this.#slots[at];
    invariant(pending !== undefined, () => `no pending command ${this.#first} of ${this.#next}`);
    this.#slots[at] = undefined;
    this.#first++;
    this.#bytes -= pending.command.length;
    return pending;
  }

  /** Drops the body of a command whose client has been answered without a result. */
  empty(pending: PendingCommand): void {
    this.#bytes -= pending.command.length;
    pending.command = EMPTY_BYTES;
    pending.waiter = undefined;
  }

  /** Starts again at 1 for a new incarnation; hands back what was pending, oldest first. */
  reset(): PendingCommand[] {
    const left: PendingCommand[] = [];
    while (this.count > 0) left.push(this.shift());
    this.#first = 1;
    this.#next = 1;
    return left;
  }

  #grow(): void {
    const bigger: (PendingCommand | undefined)[] = new Array(this.#slots.length * 2);
    const mask = bigger.length - 1;
    for (let sequence = this.#first; sequence < this.#next; sequence++) {
      bigger[sequence & mask] = this.#slots[sequence & this.#mask];
    }
    this.#slots = bigger;
    this.#mask = mask;
  }
}
