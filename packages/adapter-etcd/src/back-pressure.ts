import { LIMITS } from '@lockstep/model';

/** What a response that waits to be sent takes beside its bytes. */
const RESPONSE_OVERHEAD_BYTES = 256;

/** The requests of a stream, which flow or stand still. */
export interface RequestFlow {
  pause(): void;
  resume(): void;
}

/**
 * A stream whose client does not read its responses is not read either, so that requests without
 * end make no responses without end. Stops at the limit and goes on at half of it.
 */
export class BackPressure {
  readonly #flow: RequestFlow;
  #unsentBytes = 0;
  #congested = false;
  /** The handler wants no requests at present. */
  #held = false;

  constructor(flow: RequestFlow) {
    this.#flow = flow;
  }

  /** A response of so many bytes was queued; the result runs when it was sent. */
  queued(bytes: number): () => void {
    const cost = bytes + RESPONSE_OVERHEAD_BYTES;
    this.#account(cost);
    return () => this.#account(-cost);
  }

  /** Whether the handler wants the requests to stand still, whatever the client does. */
  hold(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    this.#adjust();
  }

  #account(bytes: number): void {
    this.#unsentBytes += bytes;
    const limit = LIMITS.connectionBytesUnsentMax;
    const congested = this.#unsentBytes > (this.#congested ? limit / 2 : limit);
    if (congested === this.#congested) return;
    this.#congested = congested;
    this.#adjust();
  }

  #adjust(): void {
    if (this.#held || this.#congested) this.#flow.pause();
    else this.#flow.resume();
  }
}
