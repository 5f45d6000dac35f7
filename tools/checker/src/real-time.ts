import { type Door, type Operation, objectOf } from './operation.ts';
import { effectOf, type Timelines, viewOf } from './timeline.ts';
import type { Violation } from './verdict.ts';

/** The greatest revision that somebody had been told by some moment, and who. */
class Floor {
  revision = 0;
  teller: Operation | undefined;

  raise(revision: number, teller: Operation): void {
    if (revision <= this.revision) return;
    this.revision = revision;
    this.teller = teller;
  }
}

/** Floors of everybody, of one door, one object, one client. */
class Floors {
  readonly all = new Floor();
  readonly #some = new Map<string, Floor>();

  of(name: string): Floor {
    let floor = this.#some.get(name);
    if (floor === undefined) {
      floor = new Floor();
      this.#some.set(name, floor);
    }
    return floor;
  }
}

const doorFloor = (door: Door): string => `door ${door}`;
const objectFloor = (operation: Operation): string => `object ${objectOf(operation)}`;
const clientFloor = (operation: Operation): string => `client ${operation.client}`;

/**
 * What anybody had been told before an operation began is older than what the operation did: writes
 * get greater revisions, linearizable reads see at least that much. Weak reads owe it only to
 * their own client.
 */
export function checkRealTime(operations: readonly Operation[], timelines: Timelines): Violation[] {
  const violations: Violation[] = [];
  const floors = new Floors();
  const revisionOf = revisions(timelines);
  const byCall = [...operations].sort((a, b) => a.call - b.call);
  const byReturn = operations
    .filter((operation) => operation.outcome === 'ok')
    .sort((a, b) => a.return - b.return);
  let returned = 0;
  for (const operation of byCall) {
    for (; ; returned++) {
      const before = byReturn[returned];
      if (before === undefined || before.return >= operation.call) break;
      raise(floors, before);
    }
    const violation = checkFloors(floors, operation, revisionOf);
    if (violation !== undefined) violations.push(violation);
  }
  return violations;
}

/** Of writes: told, or known from those who saw them. */
function revisions(timelines: Timelines): (operation: Operation) => number | undefined {
  const adopted = new Map<Operation, number>();
  for (const [, timeline] of timelines.entries()) {
    for (const { operation, revision } of timeline.sorted()) {
      if (operation !== undefined && operation.revision === undefined) {
        adopted.set(operation, revision);
      }
    }
  }
  return (operation) => operation.revision ?? adopted.get(operation);
}

function raise(floors: Floors, operation: Operation): void {
  const { revision, door } = operation;
  if (revision !== undefined) {
    floors.all.raise(revision, operation);
    floors.of(doorFloor(door)).raise(revision, operation);
    floors.of(clientFloor(operation)).raise(revision, operation);
  }
  if (operation.op === 'acquire' && typeof operation.result === 'number') {
    floors.all.raise(operation.result, operation);
  }
  const object = floors.of(objectFloor(operation));
  if (revision !== undefined && effectOf(operation) !== undefined)
    object.raise(revision, operation);
  const mod = viewOf(operation)?.mod;
  if (mod !== undefined) object.raise(mod, operation);
}

function checkFloors(
  floors: Floors,
  operation: Operation,
  revisionOf: (operation: Operation) => number | undefined,
): Violation | undefined {
  const told = (floor: Floor, why: string): Violation => ({
    why,
    operations: floor.teller === undefined ? [operation] : [floor.teller, operation],
  });
  const view = viewOf(operation);
  if (view === undefined) {
    const revision = isChange(operation) ? revisionOf(operation) : undefined;
    if (revision === undefined || revision > floors.all.revision) return undefined;
    return told(floors.all, 'a later write was given a revision that is not greater');
  }
  const { revision, door } = operation;
  if (view.weak) {
    const own = floors.of(clientFloor(operation));
    if (revision === undefined || revision >= own.revision) return undefined;
    return told(own, 'a client was shown an older state than it had seen');
  }
  // ZooKeeper's zxid counts the revisions that changed something ZooKeeper shows.
  const floor = door === 'zookeeper' ? floors.of(doorFloor(door)) : floors.all;
  if (revision !== undefined && revision < floor.revision) {
    return told(floor, 'a linearizable read saw a state older than what had been told before');
  }
  const object = floors.of(objectFloor(operation));
  if (view.mod === undefined || view.mod >= object.revision) return undefined;
  return told(object, 'a linearizable read missed a write that had been told before');
}

function isChange(operation: Operation): boolean {
  if (operation.outcome === 'fail') return false;
  if (operation.outcome === 'unknown') return operation.op !== 'read';
  return effectOf(operation) !== undefined;
}
