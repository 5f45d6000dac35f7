import type { ClusterTimeMs } from '@lockstep/model';

/**
 * Cluster time at the leader (design §6, reference raft.md §8.2): begins at the stamp of the last
 * entry of its log when it was elected and advances with the monotonic clock, but only while it
 * leads with a live quorum, and by at most one heartbeat interval per turn. Late is allowed,
 * early never.
 */
export class ClusterClock {
  readonly #stepMsMax: number;
  #nowMs = 0;
  #lastMonotonicMs = 0;

  constructor(stepMsMax: number) {
    this.#stepMsMax = stepMsMax;
  }

  /** A term was won: time goes on from there. */
  begin(baseMs: ClusterTimeMs, monotonicMs: number): void {
    this.#nowMs = baseMs;
    this.#lastMonotonicMs = monotonicMs;
  }

  /** Once per turn. `running`: this member leads and a majority heard it lately. */
  advance(monotonicMs: number, running: boolean): void {
    const elapsedMs = monotonicMs - this.#lastMonotonicMs;
    this.#lastMonotonicMs = monotonicMs;
    if (running) this.#nowMs += Math.min(Math.max(0, elapsedMs), this.#stepMsMax);
  }

  /** Whole milliseconds, never decreasing within a term. */
  get now(): ClusterTimeMs {
    return Math.floor(this.#nowMs);
  }
}
