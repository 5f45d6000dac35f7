import type { MemberId, Revision } from '@lockstep/model';
import type { AppliedTransaction } from '@lockstep/state-machine';
import type { EventSink } from './contract.ts';

/**
 * The doors that follow the ordered event stream. A sink added or removed inside a call-back takes
 * effect with the next event, so that one event is seen by one fixed set of doors.
 */
export class Subscribers {
  #sinks: readonly EventSink[] = [];

  /** The returned function removes the sink; calling it again does nothing. */
  add(sink: EventSink): () => void {
    this.#sinks = [...this.#sinks, sink];
    return () => {
      this.#sinks = this.#sinks.filter((other) => other !== sink);
    };
  }

  transaction(transaction: AppliedTransaction): void {
    for (const sink of this.#sinks) sink.transaction(transaction);
  }

  skipped(from: Revision, to: Revision): void {
    for (const sink of this.#sinks) sink.skipped(from, to);
  }

  gossip(from: MemberId, door: string, payload: Uint8Array): void {
    for (const sink of this.#sinks) sink.gossip?.(from, door, payload);
  }

  changed(): void {
    for (const sink of this.#sinks) sink.changed?.();
  }
}
