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
