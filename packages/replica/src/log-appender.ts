import type { Clock } from '@lockstep/model';
import type { AppendTask, Message } from '@lockstep/raft';
import type { LogStore } from '@lockstep/storage';

/** An append task that the log has made durable, with the promises that may now be given. */
export interface AppendedTask {
  readonly sequence: number;
  readonly after: readonly Message[];
}

/** Hands append tasks to the log and gathers what became durable until the next turn. */
export class LogAppender {
  readonly #log: LogStore;
  readonly #clock: Clock;
  readonly #wake: () => void;
  #done: AppendedTask[] = [];
  /** Starts of the tasks that must be synced and are not yet durable, oldest first. */
  #syncing: { readonly sequence: number; readonly startMs: number }[] = [];

  constructor(log: LogStore, clock: Clock, wake: () => void) {
    this.#log = log;
    this.#clock = clock;
    this.#wake = wake;
  }

  /** How long the oldest append has been waiting for the disk. */
  stuckMs(nowMs: number): number {
    const oldest = this.#syncing[0];
    return oldest === undefined ? 0 : nowMs - oldest.startMs;
  }

  append(task: AppendTask): void {
    const { sequence, after } = task;
    if (task.mustSync) this.#syncing.push({ sequence, startMs: this.#clock.monotonicMs() });
    this.#log.append(task, () => {
      if (this.#syncing[0]?.sequence === sequence) this.#syncing.shift();
      this.#done.push({ sequence, after });
      this.#wake();
    });
  }

  /** Tasks that became durable since the last call, in order. */
  take(): readonly AppendedTask[] {
    const done = this.#done;
    if (done.length > 0) this.#done = [];
    return done;
  }
}
