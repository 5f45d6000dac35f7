import { type Operation, objectOf, type Value } from './operation.ts';
import { checkRealTime } from './real-time.ts';
import { effectOf, type Mutation, type Timeline, Timelines, viewOf } from './timeline.ts';
import type { Verdict, Violation } from './verdict.ts';

/**
 * Checks the order that the cluster claims (raft.md 5.2). Every change carries its revision, every
 * read the revision of what it found: sorted by it, each read must find the last write before it,
 * each compare-and-set the write it was conditioned on, no two writes one revision, whichever doors
 * they came by; and the order must agree with real time. A history that passes is
 * linearizable, since its revisions are the linearization. O(n log n), no search.
 */
export function checkRevisions(operations: readonly Operation[]): Verdict {
  const violations: Violation[] = [];
  const timelines = new Timelines();
  const judged = operations.filter((operation) => {
    const view = operation.op === 'read' || operation.op === 'cas' || operation.op === 'guarded';
    return view || operation.op === 'write' || operation.op === 'delete' || operation.op === 'add';
  });
  collect(judged, timelines, violations);
  adoptSeen(operations, timelines, violations);
  for (const operation of judged) {
    const timeline = timelines.of(objectOf(operation));
    const violation = checkView(operation, timeline) ?? checkCondition(operation, timeline);
    if (violation !== undefined) violations.push(violation);
  }
  const witnessed = judged.filter(
    (operation) => operation.revision !== undefined || viewOf(operation)?.mod !== undefined,
  ).length;
  violations.push(...checkRealTime(operations, timelines));
  return { check: 'revisions', judged: witnessed, violations, undecided: [] };
}

/** Puts all that was told or may have happened on the timelines; no revision is given twice. */
function collect(judged: readonly Operation[], timelines: Timelines, violations: Violation[]) {
  const givers = new Map<number, Operation>();
  for (const operation of judged) {
    const timeline = timelines.of(objectOf(operation));
    if (operation.op === 'write' && operation.lease !== undefined) timeline.mayVanish = true;
    if (operation.outcome === 'fail' || operation.op === 'read') continue;
    const { revision, outcome } = operation;
    const value = outcome === 'ok' ? effectOf(operation) : wouldWrite(operation);
    if (value === undefined) continue;
    if (outcome === 'unknown' || revision === undefined) {
      timeline.addUntold(value, operation);
      continue;
    }
    const former = givers.get(revision);
    if (former !== undefined) {
      const why = `two writes were given revision ${revision}`;
      violations.push({ why, operations: [former, operation] });
      continue;
    }
    givers.set(revision, operation);
    timeline.add({ revision, value, operation });
  }
}

/** What an operation of unknown outcome leaves if it happened. */
function wouldWrite(operation: Operation): Mutation['value'] | undefined {
  switch (operation.op) {
    case 'write':
    case 'cas':
    case 'guarded':
      return operation.value;
    case 'delete':
      return null;
    default:
      return undefined;
  }
}

/** Reads and events tell the fate of writes whose answer was lost, and what was there before. */
function adoptSeen(
  operations: readonly Operation[],
  timelines: Timelines,
  violations: Violation[],
): void {
  let first = Number.POSITIVE_INFINITY;
  for (const [, timeline] of timelines.entries()) {
    first = Math.min(first, timeline.sorted()[0]?.revision ?? first);
  }
  for (const operation of operations) {
    const seen = seenBy(operation);
    if (seen === undefined) continue;
    const { object, value, revision } = seen;
    // What only streams show, such as keys of locks, the watch check has.
    if (!timelines.has(object)) continue;
    const timeline = timelines.of(object);
    const known = timeline.at(revision);
    if (known !== undefined) {
      if (known.value !== value) violations.push(contradiction(known, operation));
      continue;
    }
    const adopted = timeline.adopt(value, revision);
    if (adopted?.operation !== undefined) {
      if (adopted.operation.call > operation.return) {
        const why = 'a value was seen before anybody asked to write it';
        violations.push({ why, operations: [operation, adopted.operation] });
      }
    } else if (revision < first) {
      timeline.add({ revision, value, operation: undefined });
    } else {
      const why = `nobody wrote that value at revision ${revision}`;
      const writer = violations.length > 0 ? undefined : writerOf(operations, object, value);
      violations.push({
        why,
        operations: writer === undefined ? [operation] : [operation, writer],
      });
    }
  }
}

/** Found by looking at everything: for the first violation only. */
function writerOf(operations: readonly Operation[], object: string, value: Value) {
  return operations.find(
    (other) => 'value' in other && other.value === value && objectOf(other) === object,
  );
}

function contradiction(known: Mutation, operation: Operation): Violation {
  const why = `revision ${known.revision} of one key has two values`;
  const operations = known.operation === undefined ? [operation] : [known.operation, operation];
  return { why, operations };
}

function seenBy(operation: Operation) {
  if (operation.op === 'event') {
    const { door, subject, value, revision } = operation;
    if (value === null || value === undefined) return undefined;
    return { object: `${door} ${subject}`, value, revision };
  }
  const view = viewOf(operation);
  if (view === undefined || view.value === null || view.mod === undefined) return undefined;
  return { object: objectOf(operation), value: view.value, revision: view.mod };
}

/** A read at revision r finds the last write at or before r. */
function checkView(operation: Operation, timeline: Timeline): Violation | undefined {
  const view = viewOf(operation);
  const { revision } = operation;
  if (view === undefined || revision === undefined) return undefined;
  const last = timeline.last(revision);
  if (view.mod !== undefined && view.mod > revision) {
    const why = 'a read found a write from after the state it read';
    return { why, operations: [operation] };
  }
  if (last?.operation === undefined) return undefined;
  if (view.value === null) {
    if (last.value === null || timeline.mayVanish) return undefined;
    return {
      why: 'a read found nothing where a write was',
      operations: [last.operation, operation],
    };
  }
  if (view.mod === undefined || last.revision <= view.mod) return undefined;
  const why = `a read at revision ${revision} missed the write at revision ${last.revision}`;
  return { why, operations: [last.operation, operation] };
}

/** A compare-and-set that wrote at r replaced the write it expected: the last one before r. */
function checkCondition(operation: Operation, timeline: Timeline): Violation | undefined {
  if (operation.op !== 'cas' || !operation.result || operation.outcome !== 'ok') return undefined;
  const { revision, expected, expectedMod } = operation;
  if (revision === undefined) return undefined;
  const last = timeline.last(revision - 1);
  if (last?.operation === undefined || last.value === expected) return undefined;
  if (expected === null && timeline.mayVanish) return undefined;
  // The write that was expected may itself be one whose revision nobody told.
  const expectedAt =
    expectedMod ?? timeline.sorted().find(({ value }) => value === expected)?.revision;
  if (expected !== null && (expectedAt === undefined || expectedAt > last.revision))
    return undefined;
  const why = 'a compare-and-set wrote although another write had come between';
  return { why, operations: [last.operation, operation] };
}
