import type { Operation, Watch, WatchEvent } from './operation.ts';
import { effectOf } from './timeline.ts';
import type { Verdict, Violation } from './verdict.ts';

/** What one stream was given. */
interface Stream {
  readonly watch: Watch;
  readonly events: WatchEvent[];
  /** It has everything up to here, or can know that it has. */
  complete: number;
}

/**
 * Watches (raft.md 5.4): only what was asked for, in the order of revisions, nothing twice, nothing
 * missing between the first revision and the last that a stream has seen or was told to be
 * complete; all streams tell the same of one revision, and what they tell was written.
 */
export function checkWatches(operations: readonly Operation[]): Verdict {
  const violations: Violation[] = [];
  const streams = streamsOf(operations, violations);
  const truth = new Truth();
  for (const { events } of streams.values()) {
    for (const event of events) {
      const former = truth.event(event);
      if (former?.value === undefined || event.value === undefined) continue;
      if (former.value === event.value) continue;
      const why = `streams tell two values of ${event.subject} at revision ${event.revision}`;
      violations.push({ why, operations: [former, event] });
    }
  }
  const writes = writesOf(operations);
  let judged = 0;
  for (const stream of streams.values()) {
    judged += stream.events.length;
    violations.push(...checkSequence(stream), ...checkComplete(stream, writes, truth));
  }
  return { check: 'watches', judged, violations, undecided: [] };
}

function streamsOf(operations: readonly Operation[], violations: Violation[]): Map<string, Stream> {
  const streams = new Map<string, Stream>();
  for (const operation of operations) {
    if (operation.op === 'watch') {
      streams.set(operation.key, { watch: operation, events: [], complete: 0 });
    }
    if (operation.op !== 'event' && operation.op !== 'progress') continue;
    const stream = streams.get(operation.key);
    if (stream === undefined) {
      violations.push({ why: 'an event came before its stream was open', operations: [operation] });
      continue;
    }
    if (operation.op === 'event') {
      // A response may be followed by more events of its last revision.
      stream.complete = Math.max(stream.complete, operation.revision - 1);
      stream.events.push(operation);
    } else stream.complete = Math.max(stream.complete, operation.revision);
  }
  return streams;
}

/** What streams told, by door, key and revision. */
class Truth {
  readonly #events = new Map<string, WatchEvent>();
  readonly #ofDoor = new Map<string, WatchEvent[]>();
  readonly #sorted = new Set<string>();

  /** The event of the same key and revision that another stream told first. */
  event(event: WatchEvent): WatchEvent | undefined {
    const name = `${event.door} ${event.subject} ${event.revision}`;
    const former = this.#events.get(name);
    if (former !== undefined) return former;
    this.#events.set(name, event);
    const own = this.#ofDoor.get(event.door);
    if (own === undefined) this.#ofDoor.set(event.door, [event]);
    else own.push(event);
    return undefined;
  }

  ofDoor(door: string): readonly WatchEvent[] {
    const own = this.#ofDoor.get(door) ?? [];
    if (!this.#sorted.has(door)) {
      own.sort((a, b) => a.revision - b.revision);
      this.#sorted.add(door);
    }
    return own;
  }
}

/** Only what was asked for, in order, nothing twice. */
function checkSequence({ watch, events }: Stream): Violation[] {
  const violations: Violation[] = [];
  const seen = new Map<string, WatchEvent>();
  let last: WatchEvent | undefined;
  for (const event of events) {
    if (!event.subject.startsWith(watch.prefix) || event.revision < watch.from) {
      violations.push({ why: 'a stream told what was not asked for', operations: [watch, event] });
    }
    if (last !== undefined && event.revision < last.revision) {
      violations.push({ why: 'a stream went back', operations: [last, event] });
    }
    const name = `${event.revision} ${event.subject}`;
    const twice = seen.get(name);
    if (twice !== undefined) {
      violations.push({ why: 'a stream told one event twice', operations: [twice, event] });
    }
    seen.set(name, event);
    last = event;
  }
  return violations;
}

/** A change that a stream must tell: an acknowledged write, or what another stream told. */
interface Change {
  readonly door: string;
  readonly subject: string;
  readonly revision: number;
  readonly operation: Operation;
}

function writesOf(operations: readonly Operation[]): Change[] {
  const writes: Change[] = [];
  for (const operation of operations) {
    const { revision, outcome, door, key } = operation;
    if (outcome !== 'ok' || revision === undefined || effectOf(operation) === undefined) continue;
    writes.push({ door, subject: key, revision, operation });
  }
  return writes.sort((a, b) => a.revision - b.revision);
}

function checkComplete(stream: Stream, writes: readonly Change[], truth: Truth): Violation[] {
  const { watch, events, complete } = stream;
  const violations: Violation[] = [];
  const told = new Map(events.map((event) => [`${event.revision} ${event.subject}`, event]));
  const must = (change: Change): void => {
    const { door, subject, revision, operation } = change;
    if (door !== watch.door || !subject.startsWith(watch.prefix)) return;
    const event = told.get(`${revision} ${subject}`);
    if (event === undefined) {
      const last = events.findLast((other) => other.revision > revision);
      const why = `stream ${watch.key} missed ${subject} at revision ${revision}`;
      violations.push({ why, operations: [watch, operation, ...(last ? [last] : [])] });
    } else if (operation.op === 'event' || event.value === undefined) {
      return;
    } else if (event.value !== effectOf(operation)) {
      const why = `stream ${watch.key} told another value than was written`;
      violations.push({ why, operations: [operation, event] });
    }
  };
  for (const change of between(writes, watch.from, complete)) must(change);
  for (const event of between(truth.ofDoor(watch.door), watch.from, complete)) {
    const { door, subject, revision } = event;
    must({ door, subject, revision, operation: event });
  }
  return violations;
}

/** Those from `first` to `last` of a list sorted by revision. */
function between<T extends { readonly revision: number }>(
  sorted: readonly T[],
  first: number,
  last: number,
): readonly T[] {
  const start = lowerBound(sorted, first);
  return sorted.slice(start, lowerBound(sorted, last + 1));
}

function lowerBound(sorted: readonly { readonly revision: number }[], revision: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.revision ?? 0) < revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
