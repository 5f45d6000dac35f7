import { type Operation, objectOf } from './operation.ts';
import type { Verdict, Violation } from './verdict.ts';

/** Operations whose client does not wait for them, or that only note what somebody saw. */
const NOTES = new Set(['event', 'progress', 'gone', 'watch']);

/**
 * Checks the test rather than the cluster: calls come before returns, no client has two operations
 * under way, no value is written twice, none by more than one operation. What follows is
 * worth nothing when this fails.
 */
export function checkAssumptions(operations: readonly Operation[]): Verdict {
  const violations: Violation[] = [];
  const written = new Map<string, Operation>();
  const lastOf = new Map<string, Operation>();
  const byCall = operations
    .filter((operation) => !NOTES.has(operation.op))
    .sort((a, b) => a.call - b.call);
  for (const operation of byCall) {
    if (operation.return < operation.call) {
      violations.push({
        why: 'an operation returned before it was called',
        operations: [operation],
      });
    }
    const last = lastOf.get(operation.client);
    if (last !== undefined && last.return > operation.call) {
      const why = `client ${operation.client} had two operations under way at once`;
      violations.push({ why, operations: [last, operation] });
    }
    lastOf.set(operation.client, operation);
    if (operation.op !== 'write' && operation.op !== 'cas' && operation.op !== 'guarded') continue;
    if (operation.value === null) continue;
    const name = `${objectOf(operation)} ${operation.value}`;
    const former = written.get(name);
    if (former !== undefined) {
      const why = `${operation.value} was written twice to ${operation.key}; values must be unique`;
      violations.push({ why, operations: [former, operation] });
    }
    written.set(name, operation);
  }
  return { check: 'assumptions', judged: byCall.length, violations, undecided: [] };
}
