import { endOf, LeaseTable } from './lease-time.ts';
import type { Acquire, GuardedWrite, Operation } from './operation.ts';
import type { Verdict, Violation } from './verdict.ts';

/** One time somebody had a lock. */
interface Grant {
  readonly token: number;
  readonly acquire: Acquire;
  /** Until when nobody else may have been given it. */
  until: number;
  /** Of this grant and those of greater tokens, the one that was answered first. */
  earliest: Grant;
}

/** Index of the first grant whose token is greater. */
function firstAfter(own: readonly Grant[], token: number): number {
  let [low, high] = [0, own.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((own[middle]?.token ?? 0) <= token) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Locks and fencing (raft.md 5.3). Of each lock: a token has one owner; tokens grow in real time;
 * nobody is given it while another certainly holds it, which ends with the call of the release or
 * with the lease. Of what it guards: a write under a token is accepted only before a greater token
 * was given (`held`) or seen (`mark`), by revision where there is one, by real time always.
 */
export function checkLocks(operations: readonly Operation[]): Verdict {
  const violations: Violation[] = [];
  const grants = grantsOf(operations, violations);
  for (const own of grants.values()) {
    violations.push(...checkOrder(own), ...checkOverlap(own));
  }
  const guarded = operations.filter(
    (operation): operation is GuardedWrite =>
      operation.op === 'guarded' && operation.outcome === 'ok',
  );
  for (const write of guarded) {
    const violation = checkGuard(write, grants.get(`${write.door} ${write.lock}`) ?? []);
    if (violation !== undefined) violations.push(violation);
  }
  violations.push(...checkMarks(guarded));
  let judged = guarded.length;
  for (const own of grants.values()) judged += own.length;
  return { check: 'locks and fencing', judged, violations, undecided: [] };
}

function newGrant(token: number, acquire: Acquire, until: number): Grant {
  const grant = { token, acquire, until } as Grant;
  grant.earliest = grant;
  return grant;
}

/** Grants by lock, in the order of their tokens. */
function grantsOf(operations: readonly Operation[], violations: Violation[]): Map<string, Grant[]> {
  const leases = new LeaseTable(operations);
  const byToken = new Map<string, Grant>();
  for (const operation of operations) {
    if (operation.op !== 'acquire' || operation.outcome !== 'ok') continue;
    const { result: token, lease, ttlMs, door, key } = operation;
    if (token === null || token === undefined) continue;
    const name = `${door} ${key} ${token}`;
    const former = byToken.get(name);
    if (former !== undefined && former.acquire.owner !== operation.owner) {
      const why = `token ${token} of lock ${key} was given to two owners`;
      violations.push({ why, operations: [former.acquire, operation] });
    }
    const held = lease === undefined ? Number.POSITIVE_INFINITY : (leases.hold(lease)?.until ?? 0);
    const own = ttlMs === undefined ? Number.POSITIVE_INFINITY : endOf(operation.call, ttlMs);
    byToken.set(name, newGrant(token, operation, Math.min(held, own)));
  }
  for (const operation of operations) {
    if (operation.op !== 'extend' || operation.outcome !== 'ok' || !operation.result) continue;
    const grant = byToken.get(`${operation.door} ${operation.key} ${operation.token}`);
    if (grant === undefined) continue;
    grant.until = Math.max(grant.until, endOf(operation.call, operation.ttlMs));
  }
  for (const operation of operations) {
    if (operation.op !== 'release' || operation.outcome === 'fail') continue;
    const grant = byToken.get(`${operation.door} ${operation.key} ${operation.token}`);
    if (grant !== undefined) grant.until = Math.min(grant.until, operation.call);
  }
  const grants = new Map<string, Grant[]>();
  for (const grant of byToken.values()) {
    const lock = `${grant.acquire.door} ${grant.acquire.key}`;
    const own = grants.get(lock);
    if (own === undefined) grants.set(lock, [grant]);
    else own.push(grant);
  }
  for (const own of grants.values()) own.sort((a, b) => a.token - b.token);
  return grants;
}

/** What was asked for after a token had been given gets a greater one. */
function checkOrder(own: readonly Grant[]): Violation[] {
  const violations: Violation[] = [];
  for (let i = own.length - 1; i >= 0; i--) {
    const [grant, after] = [own[i], own[i + 1]];
    if (grant === undefined || after === undefined) continue;
    const { earliest } = after;
    if (earliest.acquire.return < grant.acquire.call) {
      const why = `lock ${grant.acquire.key} was given a token smaller than one given before`;
      violations.push({ why, operations: [earliest.acquire, grant.acquire] });
    }
    if (earliest.acquire.return < grant.acquire.return) grant.earliest = earliest;
  }
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

/** Under `held`: accepted while the token is the lock's; refused only when it is not. */
function checkGuard(write: GuardedWrite, own: readonly Grant[]): Violation | undefined {
  if (write.guard !== 'held') return undefined;
  const next = firstAfter(own, write.token);
  const mine = own[next - 1]?.token === write.token ? own[next - 1] : undefined;
  if (!write.result) {
    if (mine === undefined || mine.acquire.return > write.call) return undefined;
    if (write.return >= mine.until) return undefined;
    const why = `a write to ${write.key} was refused though its token held`;
    return { why, operations: [mine.acquire, write] };
  }
  const after = own[next];
  if (after === undefined) return undefined;
  const sinceToken = !after.acquire.queued && after.token <= (write.revision ?? 0);
  const byRevision = sinceToken ? after : undefined;
  const byTime = after.earliest.acquire.return < write.call ? after.earliest : undefined;
  const stale = byRevision ?? byTime;
  if (stale === undefined) return undefined;
  const why = `a stale write to ${write.key} was accepted under token ${write.token}`;
  return { why, operations: [stale.acquire, write] };
}

/** After a write under a token was accepted, none under a smaller one is. */
function checkMarks(guarded: readonly GuardedWrite[]): Violation[] {
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
