import { randomFillSync } from 'node:crypto';
import type { Clock, Random, Scheduler, Timer } from '@lockstep/model';

/** The clock of this process: CLOCK_MONOTONIC for durations, the wall clock as data. */
export const nodeClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

const word = new Uint32Array(1);

export const nodeRandom: Random = {
  u32: () => randomFillSync(word)[0] ?? 0,
  fill: (bytes) => {
    randomFillSync(bytes);
  },
};

export const nodeScheduler: Scheduler = {
  post: (callback) => {
    setImmediate(callback);
  },
};
