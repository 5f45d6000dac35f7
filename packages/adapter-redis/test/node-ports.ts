import { randomFillSync } from 'node:crypto';
import type { Clock, Random, Scheduler } from '@lockstep/model';

/** The ports over Node, for tests with real sockets. */
export const nodeClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

export const nodeScheduler: Scheduler = { post: (callback) => setImmediate(callback) };

export const nodeRandom: Random = {
  u32: () => randomFillSync(new Uint32Array(1))[0]!,
  fill: (bytes) => {
    randomFillSync(bytes);
  },
};

/** A clock that stands still until a test moves it; timers fire while it moves. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #startWallMs = 1_800_000_000_000;
  #timers: { dueMs: number; callback: () => void }[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#startWallMs + this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((one) => one !== timer);
      },
    };
  }

  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers.filter(({ dueMs }) => dueMs <= endMs);
      const next = due.sort((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
    }
    this.#nowMs = endMs;
  }
}
