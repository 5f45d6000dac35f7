import { type Configuration, MemoryLog } from '../src/index.ts';

/** What recovery leaves of a log whose last `lost` entries are behind a bad record. */
export function damagedLog(log: MemoryLog, lost: number, configuration: Configuration): MemoryLog {
  const left = new MemoryLog(configuration);
  const first = log.firstIndex();
  const last = Math.max(first - 1, log.lastIndex() - lost);
  const task = { sequence: 0, entries: [], mustSync: true, after: [] };
  if (first > 1) {
    const snapshot = { index: first - 1, term: log.term(first - 1)!, configuration };
    left.write({ ...task, hardState: undefined, snapshot });
  }
  const { hardState } = log.initialState();
  const entries = log.entries(first, last + 1, Number.MAX_SAFE_INTEGER);
  if (typeof entries === 'string') throw new Error(`the log is ${entries}`);
  const commit = Math.min(hardState.commit, last);
  left.write({ ...task, entries, hardState: { ...hardState, commit }, snapshot: undefined });
  return left;
}
