import { invariant } from '@lockstep/model';
import type { AppendTask } from '@lockstep/raft';

export interface WaitingTask {
  readonly task: AppendTask;
  readonly done: (sequence: number) => void;
}

/** Accounted beside an entry's data for its header in the record. */
const ENTRY_OVERHEAD_BYTES = 16;

/** False for a task with nothing but a commit hint. */
export function needsSync(task: AppendTask): boolean {
  return task.mustSync || task.entries.length > 0 || task.snapshot !== undefined;
}

/** Tasks that wait while a record is in flight; together they are the next one. */
export class AppendQueue {
  #waiting: WaitingTask[] = [];
  #lastSequence = 0;

  get length(): number {
    return this.#waiting.length;
  }

  push(waiting: WaitingTask): void {
    const { sequence } = waiting.task;
    invariant(
      sequence > this.#lastSequence,
      () => `append task ${sequence} after ${this.#lastSequence}`,
    );
    this.#lastSequence = sequence;
    this.#waiting.push(waiting);
  }

  /** Takes the tasks from the head up to `bytesMax` of entries, at least one when any waits. */
  takeGroup(bytesMax: number): WaitingTask[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length) {
      for (const entry of this.#waiting[count]!.task.entries) {
        bytes += entry.data.length + ENTRY_OVERHEAD_BYTES;
      }
      if (count > 0 && bytes > bytesMax) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
