import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory on the real disk, and its removal. */
export async function temporaryDirectory(): Promise<{ path: string; dispose(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'lockstep-storage-'));
  return { path, dispose: () => rm(path, { recursive: true, force: true }) };
}

/** Real time for the ports. */
export const realClock = {
  monotonicMs: () => performance.now(),
  setTimer: (delayMs: number, callback: () => void) => {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

export const realScheduler = { post: (callback: () => void) => void setImmediate(callback) };
