import { endOf, LeaseTable } from './lease-time.ts';
import type { Acquire, Operation, Release } from './operation.ts';
import type { Violation } from './verdict.ts';

/** One time somebody had a lock. */
export interface Grant {
  readonly token: number;
  readonly acquire: Acquire;
  /** Until when nobody else may have been given it. */
  until: number;
  /** The answered release that ended it. */
  released: Release | undefined;
}

/** All grants of one lock, in the order of their tokens. */
export interface LockHistory {
  readonly grants: readonly Grant[];
  /** At each place: of this grant and those of greater tokens, the one that was answered first. */
  readonly earliest: readonly Grant[];
}

/** The locks of a history by door and name; a token that two owners were given is a violation. */
export function locksOf(
  operations: readonly Operation[],
  violations: Violation[],
): Map<string, LockHistory> {
  const byToken = new Map<string, Grant>();
  const leases = new LeaseTable(operations);
  for (const operation of operations) {
    if (operation.op !== 'acquire' || typeof operation.result !== 'number') continue;
    const name = nameOf(operation, operation.result);
    const former = byToken.get(name);
    if (former !== undefined && former.acquire.owner !== operation.owner) {
      const why = `token ${former.token} of lock ${operation.key} was given to two owners`;
      violations.push({ why, operations: [former.acquire, operation] });
    }
    byToken.set(name, {
      token: operation.result,
      acquire: operation,
      until: firstEnd(operation, leases),
      released: undefined,
    });
  }
  applyExtensions(operations, byToken);
  const byLock = new Map<string, Grant[]>();
  for (const grant of byToken.values()) {
    const lock = `${grant.acquire.door} ${grant.acquire.key}`;
    const own = byLock.get(lock);
    if (own === undefined) byLock.set(lock, [grant]);
    else own.push(grant);
  }
  return new Map([...byLock].map(([lock, grants]) => [lock, historyOf(grants)]));
}

const nameOf = ({ door, key }: Operation, token: number): string => `${door} ${key} ${token}`;

/** The end that lease and time to live give; without either a lock is held until its release. */
function firstEnd({ lease, ttlMs, call }: Acquire, leases: LeaseTable): number {
  const held = lease === undefined ? Number.POSITIVE_INFINITY : (leases.hold(lease)?.until ?? 0);
  const own = ttlMs === undefined ? Number.POSITIVE_INFINITY : endOf(call, ttlMs);
  return Math.min(held, own);
}

function applyExtensions(operations: readonly Operation[], byToken: Map<string, Grant>): void {
  const changes = operations.filter(({ op }) => op === 'extend' || op === 'release');
  for (const operation of changes) {
    if (operation.op !== 'extend' || operation.outcome !== 'ok' || !operation.result) continue;
    const grant = byToken.get(nameOf(operation, operation.token));
    if (grant === undefined) continue;
    grant.until = Math.max(grant.until, endOf(operation.call, operation.ttlMs));
  }
  for (const operation of changes) {
    if (operation.op !== 'release' || operation.outcome === 'fail') continue;
    const grant = byToken.get(nameOf(operation, operation.token));
    if (grant === undefined) continue;
    grant.until = Math.min(grant.until, operation.call);
    if (operation.result) grant.released = operation;
  }
}

function historyOf(unsorted: readonly Grant[]): LockHistory {
  const grants = [...unsorted].sort((a, b) => a.token - b.token);
  const earliest = [...grants];
  for (let i = grants.length - 2; i >= 0; i--) {
    const [grant, after] = [grants[i], earliest[i + 1]];
    if (grant === undefined || after === undefined) continue;
    if (after.acquire.return < grant.acquire.return) earliest[i] = after;
  }
  return { grants, earliest };
}

/** Index of the first grant whose token is greater. */
export function firstAfter(grants: readonly Grant[], token: number): number {
  let [low, high] = [0, grants.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((grants[middle]?.token ?? 0) <= token) low = middle + 1;
    else high = middle;
  }
  return low;
}
