import type { Clock, Scheduler, Timer } from '@lockstep/model';

interface Due {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * Virtual clock and scheduler of a test world. Posted call-backs run first, in order; when there
 * are none, time jumps to the next timer. One seedless order: a test replays exactly.
 */
export class VirtualTime implements Clock, Scheduler {
  #nowMs = 0;
  #order = 0;
  #timers: Due[] = [];
  #posted: (() => void)[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + Math.floor(this.#nowMs);
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const due = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    let at = this.#timers.length;
    while (at > 0 && this.#timers[at - 1]!.atMs > due.atMs) at--;
    this.#timers.splice(at, 0, due);
    return {
      cancel: () => {
        const found = this.#timers.indexOf(due);
        if (found >= 0) this.#timers.splice(found, 1);
      },
    };
  }

  post(callback: () => void): void {
    this.#posted.push(callback);
  }

  /** Runs the call-backs posted so far, not those they post; or the next timer when none are. */
  step(): void {
    if (this.#posted.length === 0) {
      const due = this.#timers.shift();
      if (due === undefined) return;
      this.#nowMs = due.atMs;
      due.callback();
      return;
    }
    const posted = this.#posted;
    this.#posted = [];
    for (const callback of posted) callback();
  }

  /** Runs posted call-backs, those they post too, until there are none; time stands still. */
  settle(): void {
    for (let turn = 0; this.#posted.length > 0; turn++) {
      if (turn > 1_000_000) throw new Error('the world does not come to rest');
      const posted = this.#posted;
      this.#posted = [];
      for (const callback of posted) callback();
    }
  }

  /** Lets that much virtual time pass. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    this.settle();
    for (;;) {
      const due = this.#timers[0];
      if (due === undefined || due.atMs > endMs) break;
      this.#timers.shift();
      this.#nowMs = due.atMs;
      due.callback();
      this.settle();
    }
    this.#nowMs = endMs;
  }

  /** Lets time pass in steps of a millisecond until the condition holds; fails after `limitMs`. */
  until(what: string, condition: () => boolean, limitMs = 30_000): void {
    for (let ms = 0; ms < limitMs; ms++) {
      this.settle();
      if (condition()) return;
      this.advance(1);
    }
    throw new Error(`still not after ${limitMs} ms of virtual time: ${what}`);
  }
}
