import type { MemberId } from '@lockstep/model';
import type { Message, ReadContext, ReadState } from './contract.ts';
import type { Tracer } from './trace.ts';

const NOTHING: readonly never[] = [];

/** Output gathered during a turn; each list is handed over once and then belongs to the driver. */
export class Outbox {
  #messages: Message[] = [];
  #promises: Message[] = [];
  #readStates: ReadState[] = [];
  #readsDropped: ReadContext[] = [];
  #snapshotsNeeded: MemberId[] = [];
  tracer: Tracer | undefined;

  /** For messages that promise nothing: may leave at once (reference §2.2, rules 5 and 6). */
  send(message: Message): void {
    this.tracer?.event('Send', message);
    this.#messages.push(message);
  }

  /** For messages others may rely on after a crash: leave when all before is durable. */
  promise(message: Message): void {
    this.tracer?.event('Send', message);
    this.#promises.push(message);
  }

  readState(state: ReadState): void {
    this.#readStates.push(state);
  }

  dropRead(context: ReadContext): void {
    this.#readsDropped.push(context);
  }

  needSnapshot(id: MemberId): void {
    this.#snapshotsNeeded.push(id);
  }

  get hasPromises(): boolean {
    return this.#promises.length > 0;
  }

  get empty(): boolean {
    return (
      this.#messages.length === 0 &&
      this.#promises.length === 0 &&
      this.#readStates.length === 0 &&
      this.#readsDropped.length === 0 &&
      this.#snapshotsNeeded.length === 0
    );
  }

  /** Nothing is being written: promises need no waiting. */
  releasePromises(): void {
    for (const message of this.takePromises()) this.#messages.push(message);
  }

  takePromises(): readonly Message[] {
    if (this.#promises.length === 0) return NOTHING;
    const taken = this.#promises;
    this.#promises = [];
    return taken;
  }

  takeMessages(): readonly Message[] {
    if (this.#messages.length === 0) return NOTHING;
    const taken = this.#messages;
    this.#messages = [];
    return taken;
  }

  takeReadStates(): readonly ReadState[] {
    if (this.#readStates.length === 0) return NOTHING;
    const taken = this.#readStates;
    this.#readStates = [];
    return taken;
  }

  takeReadsDropped(): readonly ReadContext[] {
    if (this.#readsDropped.length === 0) return NOTHING;
    const taken = this.#readsDropped;
    this.#readsDropped = [];
    return taken;
  }

  takeSnapshotsNeeded(): readonly MemberId[] {
    if (this.#snapshotsNeeded.length === 0) return NOTHING;
    const taken = this.#snapshotsNeeded;
    this.#snapshotsNeeded = [];
    return taken;
  }
}
