import type { Operation, Value } from './operation.ts';
import { viewOf } from './timeline.ts';

/** An operation as the search sees it: `end` is infinite while nobody knows that it happened. */
export interface Candidate {
  readonly operation: Operation;
  readonly start: number;
  readonly end: number;
  /**
   * Operations of one class are alike: which of them happened cannot be told, so that only the
   * earliest not yet used needs to be tried.
   */
  readonly alike: string | undefined;
}

/**
 * Prepares the operations of one object (raft.md 5.3). What failed for certain is left out, reads
 * without an answer too. A write of unknown outcome whose value somebody saw had happened when the
 * first of them was answered; one that nobody saw is left out, since no answer depends on it,
 * unless an answer says just "it was not what you expected", which anything can explain.
 */
export function candidates(operations: readonly Operation[]): Candidate[] {
  const firstSeen = new Map<Value, number>();
  const see = (value: Value, at: number): void => {
    firstSeen.set(value, Math.min(at, firstSeen.get(value) ?? at));
  };
  let blind = false;
  for (const operation of operations) {
    const view = viewOf(operation);
    if (view !== undefined) see(view.value, operation.return);
    if (operation.outcome !== 'ok') continue;
    if (operation.op === 'cas') {
      if (operation.result) see(operation.expected, operation.return);
      else if (operation.actual === undefined) blind = true;
    } else if (operation.op === 'delete') blind = true;
  }
  const list: Candidate[] = [];
  for (const operation of operations) {
    const { call: start, return: end, outcome } = operation;
    if (outcome === 'fail') continue;
    if (outcome === 'ok') list.push({ operation, start, end, alike: undefined });
    else if (operation.op === 'write' || operation.op === 'cas') {
      const seen = operation.value === null ? undefined : firstSeen.get(operation.value);
      if (seen !== undefined) list.push({ operation, start, end: seen, alike: undefined });
      else if (blind) {
        // Nobody saw which value it was: one stands for all.
        const unseen = { ...operation, value: UNSEEN };
        list.push({ operation: unseen, start, end: Infinity, alike: likeness(operation) });
      }
    } else if (operation.op === 'delete' || operation.op === 'add') {
      list.push({ operation, start, end: Infinity, alike: likeness(operation) });
    }
  }
  return list;
}

const UNSEEN = '(unseen)';

function likeness(operation: Operation): string {
  if (operation.op === 'add') return `add ${operation.value}`;
  if (operation.op === 'cas') return `cas ${operation.expected}`;
  return operation.op;
}
