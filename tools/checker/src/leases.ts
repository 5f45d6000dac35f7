import { LeaseTable } from './lease-time.ts';
import type { Operation } from './operation.ts';
import type { Verdict, Violation } from './verdict.ts';

/**
 * No lease ends early: nobody sees it ended before its holder, by a clock that is slow by ρ, may
 * think so (raft.md 5.3 and 8.2). Late is allowed.
 */
export function checkLeases(operations: readonly Operation[]): Verdict {
  const leases = new LeaseTable(operations);
  const violations: Violation[] = [];
  let judged = 0;
  for (const operation of operations) {
    if (operation.outcome !== 'ok') continue;
    const refused = operation.op === 'renew' && operation.result === false;
    if (operation.op !== 'gone' && !refused) continue;
    judged++;
    const hold = leases.hold(operation.key);
    if (hold === undefined || operation.return >= hold.until) continue;
    const early = ((hold.until - operation.return) / 1e6).toFixed(1);
    const why = `lease ${operation.key} ended ${early} ms or more before its time`;
    violations.push({ why, operations: [hold.renewal, operation] });
  }
  return { check: 'leases', judged, violations, undecided: [] };
}
