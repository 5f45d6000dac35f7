import type { Clock, Timer } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import { reapCommand } from './procedures/changes.ts';
import { childrenIndex, findNode, NodeMode } from './tree.ts';

/** Nodes removed in one round at most. */
const ROUND_MAX = 10_000;

/**
 * Looks for containers without children and TTL nodes past their time, on the leader only. It
 * proposes; whether a node goes is decided again at its place in the log.
 */
export class Reaper {
  readonly #replica: Replica;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #timer: Timer;

  constructor(replica: Replica, clock: Clock, intervalMs: number) {
    this.#replica = replica;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#timer = this.#arm();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #arm(): Timer {
    return this.#clock.setTimer(this.#intervalMs, () => {
      this.#timer = this.#arm();
      this.#round();
    });
  }

  #round(): void {
    if (this.#replica.status().role !== 'leader') return;
    const { state } = this.#replica;
    let found = 0;
    for (const path of childrenIndex(state).reapable()) {
      const node = findNode(state, path);
      if (node === undefined || node.children > 0) continue;
      const unused = node.mode === NodeMode.Container && node.creates === 0;
      if (unused) continue;
      this.#replica.submit(reapCommand(path));
      if (++found >= ROUND_MAX) return;
    }
  }
}
