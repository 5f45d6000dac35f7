import { checkGuard, checkMarks } from './fencing.ts';
import { type Grant, type LockHistory, locksOf } from './grants.ts';
import type { GuardedWrite, Operation } from './operation.ts';
import type { Verdict, Violation } from './verdict.ts';

/**
 * Locks and fencing (raft.md 5.3). Of each lock: a token has one owner; tokens grow in real time;
 * nobody is given it while another certainly holds it, which ends with the call of the release or
 * with the lease. Of what it guards: a write under a token is accepted only before a greater token
 * was given (`held`) or seen (`mark`), by revision where there is one, by real time always.
 */
export function checkLocks(operations: readonly Operation[]): Verdict {
  const violations: Violation[] = [];
  const locks = locksOf(operations, violations);
  let judged = 0;
  for (const lock of locks.values()) {
    judged += lock.grants.length;
    violations.push(...checkOrder(lock), ...checkOverlap(lock.grants));
  }
  const guarded = operations.filter(
    (operation): operation is GuardedWrite =>
      operation.op === 'guarded' && operation.outcome === 'ok',
  );
  for (const write of guarded) {
    const lock = locks.get(`${write.door} ${write.lock}`);
    const violation = lock && checkGuard(write, lock);
    if (violation !== undefined) violations.push(violation);
  }
  violations.push(...checkMarks(guarded));
  judged += guarded.length;
  return { check: 'locks and fencing', judged, violations, undecided: [] };
}

/** What was asked for after a token had been given gets a greater one. */
function checkOrder({ grants, earliest }: LockHistory): Violation[] {
  const violations: Violation[] = [];
  grants.forEach(({ acquire }, i) => {
    const first = earliest[i + 1];
    if (first === undefined || first.acquire.return >= acquire.call) return;
    const why = `lock ${acquire.key} was given a token smaller than one given before`;
    violations.push({ why, operations: [first.acquire, acquire] });
  });
  return violations;
}

/** A grant that was answered while an earlier one certainly held. */
function checkOverlap(own: readonly Grant[]): Violation[] {
  const violations: Violation[] = [];
  let longest: Grant | undefined;
  for (const grant of own) {
    if (longest !== undefined && grant.acquire.return < longest.until) {
      const ms = ((longest.until - grant.acquire.return) / 1e6).toFixed(1);
      const why = `lock ${grant.acquire.key} had two holders for ${ms} ms or more`;
      violations.push({ why, operations: [longest.acquire, grant.acquire] });
    }
    if (longest === undefined || grant.until > longest.until) longest = grant;
  }
  return violations;
}
