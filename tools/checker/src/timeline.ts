import type { Operation, Value } from './operation.ts';

/** What one operation made of an object at a revision. */
export interface Mutation {
  readonly revision: number;
  readonly value: Value;
  /** Undefined: from before the history. */
  readonly operation: Operation | undefined;
}

/** What an operation wrote to its object; undefined when nothing. */
export function effectOf(operation: Operation): Value | undefined {
  switch (operation.op) {
    case 'write':
      return operation.value;
    case 'cas':
    case 'guarded':
      return operation.result ? operation.value : undefined;
    case 'delete':
      return operation.result ? null : undefined;
    case 'add':
      return operation.result;
    default:
      return undefined;
  }
}

/** What an operation was told of its object's state; undefined when nothing. */
export interface View {
  readonly value: Value;
  readonly mod: number | undefined;
  readonly weak: boolean;
}

export function viewOf(operation: Operation): View | undefined {
  if (operation.outcome !== 'ok') return undefined;
  if (operation.op === 'read') {
    const { result = null, mod, weak = false } = operation;
    return { value: result, mod, weak };
  }
  if (operation.op === 'cas' && operation.result === false && operation.actual !== undefined) {
    return { value: operation.actual, mod: operation.mod, weak: false };
  }
  return undefined;
}

/** The writes of one object by revision: the order that the cluster claims. */
export class Timeline {
  readonly #byRevision = new Map<number, Mutation>();
  /** Writes whose outcome or revision nobody told, by the value they would have left. */
  readonly #untold = new Map<Value, Operation>();
  #sorted: Mutation[] | undefined;
  /** The object may be absent without an operation that says so. */
  mayVanish = false;

  /** Adds what was told; gives the mutation that has the revision already, if another has. */
  add(mutation: Mutation): Mutation | undefined {
    const former = this.#byRevision.get(mutation.revision);
    if (former !== undefined) return former.operation === mutation.operation ? undefined : former;
    this.#byRevision.set(mutation.revision, mutation);
    this.#sorted = undefined;
    return undefined;
  }

  /** A write that may have happened: it gets its revision from whoever sees its value. */
  addUntold(value: Value, operation: Operation): void {
    this.#untold.set(value, operation);
    if (value === null) this.mayVanish = true;
  }

  /** Somebody saw the value at that revision: the untold write happened, and there. */
  adopt(value: Value, revision: number): Mutation | undefined {
    const operation = this.#untold.get(value);
    if (operation === undefined || value === null) return undefined;
    this.#untold.delete(value);
    const mutation = { revision, value, operation };
    this.add(mutation);
    return mutation;
  }

  at(revision: number): Mutation | undefined {
    return this.#byRevision.get(revision);
  }

  /** The newest known mutation at or before the revision. */
  last(revision: number): Mutation | undefined {
    const sorted = this.sorted();
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return sorted[low - 1];
  }

  sorted(): readonly Mutation[] {
    this.#sorted ??= [...this.#byRevision.values()].sort((a, b) => a.revision - b.revision);
    return this.#sorted;
  }
}

/** The timelines of all objects of a history. */
export class Timelines {
  readonly #timelines = new Map<string, Timeline>();

  of(object: string): Timeline {
    let timeline = this.#timelines.get(object);
    if (timeline === undefined) {
      timeline = new Timeline();
      this.#timelines.set(object, timeline);
    }
    return timeline;
  }

  has(object: string): boolean {
    return this.#timelines.has(object);
  }

  entries(): IterableIterator<[string, Timeline]> {
    return this.#timelines.entries();
  }
}
