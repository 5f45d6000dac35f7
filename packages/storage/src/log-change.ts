import type { Index, Term } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { AppendTask, Configuration, Entry, HardState, SnapshotMeta } from '@lockstep/raft';

/** What a group of append tasks amounts to once all of them are done: at most one of each. */
export interface LogChange {
  readonly hardState: HardState | undefined;
  /** Applied before the entries. */
  readonly snapshot: SnapshotMeta | undefined;
  /** Contiguous; the first one cuts what the log holds from its index on. */
  readonly entries: readonly Entry[];
}

/**
 * Merges tasks in order: later entries replace earlier ones from their index on, a snapshot drops
 * the entries before it, the newest hard state stands.
 */
export function mergeTasks(tasks: readonly AppendTask[]): LogChange {
  if (tasks.length === 1) return tasks[0]!;
  let hardState: HardState | undefined;
  let snapshot: SnapshotMeta | undefined;
  let entries: Entry[] = [];
  for (const task of tasks) {
    hardState = task.hardState ?? hardState;
    if (task.snapshot !== undefined) {
      snapshot = task.snapshot;
      entries = [];
    }
    const first = task.entries[0];
    if (first === undefined) continue;
    const keep = entries.length === 0 ? 0 : first.index - entries[0]!.index;
    // A suffix that begins before the group's first entry replaces all of the group.
    if (keep < entries.length) entries.length = Math.max(0, keep);
    for (const entry of task.entries) entries.push(entry);
  }
  return { hardState, snapshot, entries };
}

/** Position behind which a log begins. */
export interface LogBase {
  readonly index: Index;
  readonly term: Term;
  readonly configuration: Configuration;
}

/** Checks a change against the log it is applied to; a gap is a programmer error. */
export function checkChange(change: LogChange, base: Index, last: Index): void {
  const start = change.snapshot?.index ?? last;
  const floor = change.snapshot?.index ?? base;
  const first = change.entries[0];
  if (first === undefined) return;
  invariant(
    first.index > floor && first.index <= start + 1,
    () => `entry ${first.index} does not meet a log of ${floor + 1} to ${start}`,
  );
  for (let i = 1; i < change.entries.length; i++) {
    const entry = change.entries[i]!;
    invariant(
      entry.index === first.index + i && entry.term >= change.entries[i - 1]!.term,
      () => `entry ${entry.index} of term ${entry.term} does not follow in a group`,
    );
  }
}
