import { type Judgement, linearize } from './just-in-time.ts';
import { type Operation, objectOf } from './operation.ts';
import { isSequential } from './sequential-model.ts';
import type { Verdict, Violation } from './verdict.ts';

/** Answers judged per object: a sample, taken from its beginning; the witness judges all. */
const ANSWERS_MAX = 100_000;

/**
 * Checks each register and counter by itself (a history is linearizable if each object's is) and
 * without revisions, so that an error in the revisions themselves cannot hide.
 */
export function checkLinearizability(operations: readonly Operation[]): Verdict {
  const objects = new Map<string, Operation[]>();
  for (const operation of operations) {
    if (!isSequential(operation)) continue;
    const object = objectOf(operation);
    const own = objects.get(object);
    if (own === undefined) objects.set(object, [operation]);
    else own.push(operation);
  }
  const violations: Violation[] = [];
  const undecided: string[] = [];
  let judged = 0;
  for (const [object, own] of objects) {
    // A key that goes with its lease is written by time as well: the lease check has it.
    if (own.some((operation) => operation.op === 'write' && operation.lease !== undefined))
      continue;
    const judgement = linearize(own, ANSWERS_MAX);
    judged += judgement.judged;
    if (judgement.gaveUp) {
      undecided.push(`${object}: too many operations of unknown outcome at once`);
    }
    if (judgement.stuck !== undefined) violations.push(explain(own, judgement.stuck));
  }
  return { check: 'linearizability', judged, violations, undecided };
}

/** The shortest story: the answer nobody can explain, and what led to it as far as needed. */
function explain(
  own: readonly Operation[],
  { operation, states }: NonNullable<Judgement['stuck']>,
): Violation {
  const shortest = shorten(own.filter((other) => other.call <= operation.return));
  const stuck = linearize(shortest, ANSWERS_MAX).stuck;
  const held = (stuck?.states ?? states).map((state) =>
    state === null ? 'nothing' : `'${state}'`,
  );
  const only = held.join(' or ');
  const why = `no order explains an answer: ${operation.key} can only have held ${only}`;
  return { why, operations: shortest.slice(-TOLD_MAX) };
}

/** Of a story that cannot be made shorter, its end. */
const TOLD_MAX = 12;

/** Taking this many away one by one is enough to make it readable. */
const SHORTEN_TRIES = 400;

/**
 * Leaves out what is not needed for the contradiction: answers of any kind, and writes that no
 * remaining answer tells of. A history without them would be linearizable if the whole was.
 */
function shorten(operations: readonly Operation[]): Operation[] {
  let rest = lastPart(operations);
  const fails = (some: readonly Operation[]): boolean =>
    linearize(some, ANSWERS_MAX).stuck !== undefined;
  for (let piece = rest.length >> 1, tries = 0; piece >= 1; piece >>= 1) {
    for (let at = 0; at < rest.length && tries < SHORTEN_TRIES; tries++) {
      const without = [...rest.slice(0, at), ...rest.slice(at + piece)];
      if (closed(without, rest.slice(at, at + piece)) && fails(without)) rest = without;
      else at += piece;
    }
  }
  return rest;
}

/** The last few operations, when they contradict each other already. */
function lastPart(operations: readonly Operation[]): Operation[] {
  for (let size = 16; size < operations.length; size *= 4) {
    const first = Math.max(0, operations.length - size);
    for (let start = first; start > Math.max(0, first - 50); start--) {
      const part = operations.slice(start);
      if (!closed(part, operations.slice(0, start))) continue;
      if (linearize(part, ANSWERS_MAX).stuck !== undefined) return part;
    }
  }
  return [...operations];
}

/** Whether nothing that remains tells of what was taken away. */
function closed(rest: readonly Operation[], taken: readonly Operation[]): boolean {
  const values = new Set(taken.flatMap((operation) => valuesWritten(operation)));
  if (values.has(ANY) || (values.size > 0 && rest.some(tellsOfAny))) return false;
  return !rest.some((operation) => valuesTold(operation).some((value) => values.has(value)));
}

const ANY = Symbol('any');

/** Answers that any write may have led to. */
function tellsOfAny(operation: Operation): boolean {
  if (operation.outcome !== 'ok') return false;
  if (operation.op === 'delete') return true;
  return operation.op === 'cas' && !operation.result && operation.actual === undefined;
}

function valuesWritten(operation: Operation): unknown[] {
  switch (operation.op) {
    case 'write':
      return [operation.value];
    case 'cas':
      return operation.outcome === 'ok' && !operation.result ? [] : [operation.value];
    case 'delete':
    case 'add':
      return [ANY];
    default:
      return [];
  }
}

function valuesTold(operation: Operation): unknown[] {
  if (operation.outcome !== 'ok') return [];
  if (operation.op === 'read') return [operation.result ?? null];
  if (operation.op === 'cas') return [operation.expected, operation.actual];
  return [];
}
