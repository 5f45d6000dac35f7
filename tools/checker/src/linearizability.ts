import { linearize, type Stuck } from './just-in-time.ts';
import { type Operation, objectOf, type Value } from './operation.ts';
import { isSequential } from './sequential-model.ts';
import { effectOf, viewOf } from './timeline.ts';
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

/**
 * The answer nobody can explain, what was under way with it, and why the object can only have held
 * what it held: who wrote that, and whose answer says first that it was there.
 */
function explain(own: readonly Operation[], stuck: Stuck): Violation {
  const { operation, pending, states } = stuck;
  const before = own.filter((other) => other.call <= operation.return && other !== operation);
  const story = new Set<Operation>(pending);
  for (const value of [...states, viewOf(operation)?.value]) {
    if (value === undefined) continue;
    for (const other of evidence(before, value)) story.add(other);
  }
  const held = states.map((state) => (state === null ? 'nothing' : `'${state}'`)).join(' or ');
  const why = `no order explains an answer: ${operation.key} can only have held ${held}`;
  const told = [...story].sort((a, b) => a.call - b.call).slice(-TOLD_MAX);
  return { why, operations: [...told, operation] };
}

const TOLD_MAX = 12;

/** Who wrote the value last, and the first answer that shows it. */
function evidence(before: readonly Operation[], value: Value): Operation[] {
  const writer = before.findLast((other) => writes(other) === value);
  const showing = before
    .filter((other) => other.outcome === 'ok' && other.return >= (writer?.call ?? 0))
    .filter((other) => effectOf(other) === value || viewOf(other)?.value === value)
    .sort((a, b) => a.return - b.return)[0];
  return [writer, showing].filter((each) => each !== undefined);
}

const writes = (operation: Operation): Value | undefined =>
  operation.outcome === 'ok'
    ? effectOf(operation)
    : operation.op === 'write' || operation.op === 'cas'
      ? operation.value
      : undefined;
