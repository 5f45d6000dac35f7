import type { Timer } from '@lockstep/model';
import type { Door } from './door.ts';

/** Election timeouts without a leader after which streams that asked for one are cut. */
const TIMEOUTS_WITHOUT_LEADER = 3;

/**
 * Cuts the streams of clients that said `hasleader` once the cluster has had no leader for three
 * election timeouts: such a client would rather try another member than sit on silence.
 */
export class LeaderMonitor {
  readonly #door: Door;
  readonly #cuts = new Set<() => void>();
  readonly #stop: () => void;
  #timer: Timer | undefined;

  constructor(door: Door) {
    this.#door = door;
    this.#stop = door.hub.onChanged(() => this.#look());
  }

  /** Calls `cut` when the leader has been missing for too long; returns the undo. */
  watch(cut: () => void): () => void {
    this.#cuts.add(cut);
    return () => this.#cuts.delete(cut);
  }

  close(): void {
    this.#stop();
    this.#timer?.cancel();
    this.#cuts.clear();
  }

  #look(): void {
    if (this.#door.hasLeader) {
      this.#timer?.cancel();
      this.#timer = undefined;
      return;
    }
    if (this.#timer !== undefined) return;
    const delay = TIMEOUTS_WITHOUT_LEADER * this.#door.settings.electionTimeoutMs;
    this.#timer = this.#door.ports.clock.setTimer(delay, () => {
      this.#timer = undefined;
      if (this.#door.hasLeader) return;
      for (const cut of [...this.#cuts]) cut();
      this.#cuts.clear();
    });
  }
}
