import type { ByteString, LockstepError, Sequence } from '@lockstep/model';
import type { BarrierWaiter, CommandWaiter } from '@lockstep/replica';
import type { CommandOutcome } from '@lockstep/state-machine';
import type { CommandSpec } from './command.ts';
import type { HeldCommand } from './door-session.ts';
import type { Reply } from './reply.ts';

export interface SlotBase {
  readonly spec: CommandSpec;
  readonly sizeBytes: number;
  /** CLIENT REPLY OFF or SKIP: answered by nothing. */
  readonly silent: boolean;
  /** CLIENT TRACKING: what it reads is remembered. */
  readonly tracked: boolean;
}

/** One request in the order in which its connection must be answered. */
export class Slot implements SlotBase {
  readonly spec: CommandSpec;
  readonly sizeBytes: number;
  readonly silent: boolean;
  readonly tracked: boolean;
  /** Undefined until it is answered. */
  reply: Reply | undefined;

  constructor({ spec, sizeBytes, silent, tracked }: SlotBase) {
    this.spec = spec;
    this.sizeBytes = sizeBytes;
    this.silent = silent;
    this.tracked = tracked;
  }
}

/** Where slots report to: their session. */
export interface SlotOwner {
  applied(slot: LoggedSlot, outcome: CommandOutcome): void;
  read(batch: ReadBatch, times: { readonly clusterMs: number; readonly wallMs: number }): void;
  failed(slots: readonly Slot[], error: LockstepError): void;
}

/** A command that rides the log. */
export class LoggedSlot extends Slot implements CommandWaiter {
  readonly owner: SlotOwner;
  /** Kept only where the door needs the words again. */
  readonly argv: readonly ByteString[] | undefined;
  readonly db: number;
  /** What MULTI held, of an EXEC. */
  readonly held: readonly HeldCommand[] | undefined;
  sequence: Sequence = 0;

  constructor(
    owner: SlotOwner,
    base: SlotBase,
    db: number,
    argv?: readonly ByteString[],
    held?: readonly HeldCommand[],
  ) {
    super(base);
    this.owner = owner;
    this.db = db;
    this.argv = argv;
    this.held = held;
  }

  applied(outcome: CommandOutcome): void {
    this.owner.applied(this, outcome);
  }

  failed(error: LockstepError): void {
    this.owner.failed([this], error);
  }
}

/** A read behind a barrier. */
export class ReadSlot extends Slot {
  readonly argv: readonly ByteString[];
  readonly db: number;

  constructor(base: SlotBase, argv: readonly ByteString[], db: number) {
    super(base);
    this.argv = argv;
    this.db = db;
  }
}

/** Reads of one connection and one turn: they share a barrier. */
export class ReadBatch implements BarrierWaiter {
  readonly owner: SlotOwner;
  readonly slots: ReadSlot[] = [];

  constructor(owner: SlotOwner) {
    this.owner = owner;
  }

  reached(times: { readonly clusterMs: number; readonly wallMs: number }): void {
    this.owner.read(this, times);
  }

  failed(error: LockstepError): void {
    this.owner.failed(this.slots, error);
  }
}

/** Slots in order; the oldest first. */
export class SlotQueue {
  #slots: (Slot | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#slots.length - this.#head;
  }

  get head(): Slot | undefined {
    return this.#slots[this.#head];
  }

  push(slot: Slot): void {
    this.#slots.push(slot);
  }

  shift(): void {
    this.#slots[this.#head++] = undefined;
    if (this.#head === this.#slots.length) {
      this.#slots = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#slots.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
