/** Counters behind srvr and mntr; latencies are of requests that went through the log. */
export class Statistics {
  received = 0;
  sent = 0;
  outstanding = 0;
  authFailures = 0;
  #count = 0;
  #totalMs = 0;
  #minMs = 0;
  #maxMs = 0;

  answered(latencyMs: number): void {
    if (this.#count === 0 || latencyMs < this.#minMs) this.#minMs = latencyMs;
    if (latencyMs > this.#maxMs) this.#maxMs = latencyMs;
    this.#count++;
    this.#totalMs += latencyMs;
  }

  /** What `srst` does. */
  reset(): void {
    this.received = 0;
    this.sent = 0;
    this.#count = 0;
    this.#totalMs = 0;
    this.#minMs = 0;
    this.#maxMs = 0;
  }

  latency(): { readonly minMs: number; readonly averageMs: number; readonly maxMs: number } {
    const averageMs = this.#count === 0 ? 0 : this.#totalMs / this.#count;
    return { minMs: Math.floor(this.#minMs), averageMs, maxMs: Math.ceil(this.#maxMs) };
  }
}
