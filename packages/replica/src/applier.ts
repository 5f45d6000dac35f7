import { type Clock, decodeEntry, type Index, invariant, LIMITS } from '@lockstep/model';
import { type Configuration, type Entry, EntryType } from '@lockstep/raft';
import type { ApplySink, StateMachine } from '@lockstep/state-machine';
import type { ImageWriter } from './image-writer.ts';

/** The clock is asked once per so many transactions: that costs more than a small transaction. */
const TRANSACTIONS_PER_LOOK = 32;

/** Under steady load the queue never empties: its used part is cut off now and then. */
const QUEUE_TRIM = 1024;

export interface ApplierOptions {
  readonly clock: Clock;
  readonly sink: ApplySink;
  readonly writer: () => ImageWriter;
  readonly backlogBytesMax: number;
  /** A Configuration entry was applied; returns the configuration now in force. */
  configured(change: Uint8Array): Configuration;
  /** An entry is applied whole. */
  applied(index: Index): void;
}

/**
 * Applies committed entries in order, in slices of 5 ms, so that heartbeats pass between the
 * transactions of a large entry (design §13). Raft hands over only what this member's own log
 * holds durable (reference §2.2 rule 8).
 */
export class Applier {
  readonly #options: ApplierOptions;
  #machine: StateMachine;
  #configuration: Configuration;
  #queue: Entry[] = [];
  #at = 0;
  #entry: Entry | undefined;
  #configurationBytes: Uint8Array | undefined;
  /** A snapshot is being installed: nothing applies until it is in force or given up. */
  #held = false;

  constructor(machine: StateMachine, configuration: Configuration, options: ApplierOptions) {
    this.#machine = machine;
    this.#configuration = configuration;
    this.#options = options;
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Entries handed over and not applied. */
  get waiting(): number {
    return this.#queue.length - this.#at + (this.#entry === undefined ? 0 : 1);
  }

  push(entries: readonly Entry[]): void {
    for (const entry of entries) this.#queue.push(entry);
  }

  /** True while an entry has begun and not ended. */
  get midEntry(): boolean {
    return this.#entry !== undefined;
  }

  hold(held: boolean): void {
    this.#held = held;
  }

  /** Runs one slice. Returns true when there is more to do at once. */
  run(): boolean {
    const { clock, backlogBytesMax } = this.#options;
    const endMs = clock.monotonicMs() + LIMITS.applySliceMs;
    let look = TRANSACTIONS_PER_LOOK;
    for (;;) {
      if (this.#entry === undefined && !this.#beginNext(backlogBytesMax)) return false;
      if (!this.#machine.next()) this.#finish();
      if (--look === 0) {
        if (clock.monotonicMs() >= endMs) return true;
        look = TRANSACTIONS_PER_LOOK;
      }
    }
  }

  #beginNext(backlogBytesMax: number): boolean {
    const entry = this.#queue[this.#at];
    if (entry === undefined || this.#held) return false;
    const writer = this.#options.writer();
    if (writer.backlogBytes > backlogBytesMax) return false;
    this.#queue[this.#at++] = undefined as never;
    if (this.#at === this.#queue.length || this.#at >= QUEUE_TRIM) {
      this.#queue = this.#queue.slice(this.#at);
      this.#at = 0;
    }
    invariant(
      entry.index === this.#machine.appliedIndex + 1,
      () => `entry ${entry.index} committed, applied is ${this.#machine.appliedIndex}`,
    );
    const decoded = decodeEntry(entry.data);
    this.#entry = entry;
    this.#configurationBytes = decoded.configuration;
    writer.entryBegun();
    this.#machine.begin(entry.index, entry.term, decoded, this.#options.sink);
    return true;
  }

  #finish(): void {
    const entry = this.#entry!;
    const change = this.#configurationBytes;
    this.#entry = undefined;
    this.#configurationBytes = undefined;
    if (entry.type === EntryType.Configuration) {
      invariant(change !== undefined, () => `entry ${entry.index} holds no configuration`);
      this.#configuration = this.#options.configured(change);
    }
    const { index, term } = entry;
    const configuration = this.#configuration;
    this.#options.writer().entryDone({ index, term, configuration });
    this.#options.applied(index);
  }

  /** Goes on behind an installed snapshot: what was waiting is in its state, or comes again. */
  replace(machine: StateMachine, configuration: Configuration): void {
    const index: Index = machine.appliedIndex;
    this.#machine = machine;
    this.#configuration = configuration;
    this.#queue = this.#queue.slice(this.#at).filter((entry) => entry.index > index);
    this.#at = 0;
    this.#entry = undefined;
    this.#held = false;
  }
}
