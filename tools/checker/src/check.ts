import { checkAssumptions } from './assumptions.ts';
import { checkLeases } from './leases.ts';
import { checkLinearizability } from './linearizability.ts';
import { checkLocks } from './locks.ts';
import type { Operation } from './operation.ts';
import { checkRevisions } from './revisions.ts';
import type { Verdict } from './verdict.ts';
import { checkWatches } from './watches.ts';

/**
 * Every check on one history. When the history breaks what the checks assume, only that is told:
 * the rest would be noise.
 */
export function checkHistory(operations: readonly Operation[]): Verdict[] {
  const assumptions = checkAssumptions(operations);
  if (assumptions.violations.length > 0) return [assumptions];
  return [
    assumptions,
    checkRevisions(operations),
    checkLinearizability(operations),
    checkLocks(operations),
    checkWatches(operations),
    checkLeases(operations),
  ];
}

export const holds = (verdicts: readonly Verdict[]): boolean =>
  verdicts.every(({ violations }) => violations.length === 0);

/** How many operations of which door and outcome a history holds, in one line. */
export function summarize(operations: readonly Operation[]): string {
  const counts = new Map<string, { ok: number; fail: number; unknown: number }>();
  for (const { door, outcome } of operations) {
    const own = counts.get(door) ?? { ok: 0, fail: 0, unknown: 0 };
    own[outcome]++;
    counts.set(door, own);
  }
  const doors = [...counts].map(
    ([door, { ok, fail, unknown }]) =>
      `${door} ${(ok + fail + unknown).toLocaleString('en')} (${fail} refused, ${unknown} unknown)`,
  );
  return `${operations.length.toLocaleString('en')} operations: ${doors.join(', ')}`;
}
