import { firstAfter, type LockHistory } from './grants.ts';
import type { GuardedWrite } from './operation.ts';
import type { Violation } from './verdict.ts';

/** Under `held`: accepted while the token is the lock's; refused only when it is not. */
export function checkGuard(
  write: GuardedWrite,
  { grants, earliest }: LockHistory,
): Violation | undefined {
  if (write.guard !== 'held') return undefined;
  const next = firstAfter(grants, write.token);
  const mine = grants[next - 1]?.token === write.token ? grants[next - 1] : undefined;
  if (!write.result) {
    if (mine === undefined || mine.acquire.return > write.call) return undefined;
    if (write.return >= mine.until) return undefined;
    const why = `a write to ${write.key} was refused though its token held`;
    return { why, operations: [mine.acquire, write] };
  }
  const why = `a stale write to ${write.key} was accepted under token ${write.token}`;
  const released = mine?.released;
  if (released !== undefined && released.return < write.call) {
    return { why, operations: [released, write] };
  }
  const [after, first] = [grants[next], earliest[next]];
  if (after === undefined || first === undefined) return undefined;
  const sinceToken = !after.acquire.queued && after.token <= (write.revision ?? 0);
  const byRevision = sinceToken ? after : undefined;
  const byTime = first.acquire.return < write.call ? first : undefined;
  const stale = byRevision ?? byTime;
  return stale && { why, operations: [stale.acquire, write] };
}

/** After a write under a token was accepted, none under a smaller one is. */
export function checkMarks(guarded: readonly GuardedWrite[]): Violation[] {
  const violations: Violation[] = [];
  const accepted = new Map<string, GuardedWrite[]>();
  for (const write of guarded) {
    if (!write.result) continue;
    const resource = `${write.door} ${write.lock} ${write.key}`;
    const own = accepted.get(resource);
    if (own === undefined) accepted.set(resource, [write]);
    else own.push(write);
  }
  const tell = (former: GuardedWrite, write: GuardedWrite): void => {
    const why = `a write to ${write.key} was accepted under a token smaller than one before it`;
    violations.push({ why, operations: [former, write] });
  };
  for (const own of accepted.values()) {
    const byToken = [...own].sort((a, b) => b.token - a.token);
    let earliest: GuardedWrite | undefined;
    for (const write of byToken) {
      const before = earliest;
      if (before !== undefined && before.token > write.token && before.return < write.call) {
        tell(before, write);
      }
      if (before === undefined || write.return < before.return) earliest = write;
    }
    const byRevision = own
      .filter(({ revision }) => revision !== undefined)
      .sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0));
    let highest: GuardedWrite | undefined;
    for (const write of byRevision) {
      if (highest !== undefined && highest.token > write.token) tell(highest, write);
      if (highest === undefined || write.token > highest.token) highest = write;
    }
  }
  return violations;
}
