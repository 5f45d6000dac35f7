import type { Random, Scheduler, Timer } from '@lockstep/model';

/** Deterministic scheduler and clock of the tests: `drain` runs everything that is due. */
export class Turns implements Scheduler {
  nowMs = 0;
  #queue: (() => void)[] = [];
  #timers: { at: number; callback: () => void }[] = [];

  post(callback: () => void): void {
    this.#queue.push(callback);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { at: this.nowMs + delayMs, callback };
    this.#timers.push(timer);
    const cancel = (): void => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
    return { cancel };
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  /** Runs posted callbacks until none is left; false when `max` did not suffice. */
  drain(max = 1_000_000): boolean {
    for (let i = 0; i < max; i++) {
      const next = this.#queue.shift();
      if (next === undefined) return true;
      next();
    }
    return false;
  }

  /** Lets time pass, running timers in order. */
  advance(ms: number): void {
    const end = this.nowMs + ms;
    this.drain();
    for (;;) {
      const due = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.splice(this.#timers.indexOf(due), 1);
      this.nowMs = due.at;
      due.callback();
      this.drain();
    }
    this.nowMs = end;
  }

  /** Forgets everything that waits: the process died. */
  clear(): void {
    this.#queue = [];
    this.#timers = [];
  }
}

/** Small seeded generator (xorshift), enough to vary crashes. */
export function seededRandom(seed: number): Random {
  let state = (seed * 2654435761 + 88172645) >>> 0 || 1;
  const u32 = (): number => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  for (let i = 0; i < 8; i++) u32();
  const fill = (bytes: Uint8Array): void => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = u32() & 255;
  };
  return { u32, fill };
}
