import { mixNumber, mixText, Stream } from './seed.ts';

/** One life of a node's process. Events of a life that is over are dropped. */
export interface Life {
  readonly node: number;
  alive: boolean;
  /** Until then the process stands still; its events come in a burst when it goes on. */
  pausedUntilUs: number;
  /** Events that came due meanwhile. */
  readonly held: Scheduled[];
}

/** A new life that has just begun. */
export function beginLife(node: number): Life {
  return { node, alive: true, pausedUntilUs: 0, held: [] };
}

/** An event that may still be cancelled; a pause of its owner moves it. */
export interface Scheduled {
  atUs: number;
  readonly order: number;
  readonly owner: Life | undefined;
  readonly kind: string;
  run: (() => void) | undefined;
}

export interface Violation {
  readonly invariant: string;
  readonly message: string;
  readonly atUs: number;
}

/**
 * Virtual time (µs) and the events on it, a binary heap ordered by time and then by the order in
 * which they were scheduled. Nothing else moves anything, so one seed is one history.
 */
export class World {
  readonly seed: number;
  nowUs = 0;
  events = 0;
  /** Digest of all events so far: equal seeds must give equal digests. */
  digest = 0x811c9dc5;
  /** The first broken invariant; the run ends with it. */
  violation: Violation | undefined;
  /** Called after each event. */
  afterEvent: (owner: Life | undefined) => void = () => {};
  /** Called with each line of the trace; left out: no trace is made. */
  readonly tracer: ((line: string) => void) | undefined;
  /** Whose code runs now; undefined between processes, in clients and in the nemesis. */
  running: Life | undefined;
  readonly #heap: Scheduled[] = [];
  #order = 0;

  constructor(seed: number, tracer?: (line: string) => void) {
    this.seed = seed;
    this.tracer = tracer;
  }

  stream(label: string): Stream {
    return new Stream(this.seed, label);
  }

  get nowMs(): number {
    return this.nowUs / 1000;
  }

  /** Records the first violation. Never throws: production code would catch it. */
  fail(invariant: string, message: string): void {
    this.violation ??= { invariant, message, atUs: this.nowUs };
    this.trace(() => `VIOLATION ${invariant}: ${message}`);
  }

  trace(line: () => string): void {
    this.tracer?.(`${(this.nowUs / 1000).toFixed(3).padStart(11)} ${line()}`);
  }

  /** Folds something that happened into the digest. */
  note(text: string): void {
    this.digest = mixText(this.digest, text);
  }

  at(atUs: number, owner: Life | undefined, kind: string, run: () => void): Scheduled {
    const time = Math.max(this.nowUs, Math.round(atUs));
    const event: Scheduled = { atUs: time, order: this.#order++, owner, kind, run };
    this.#push(event);
    return event;
  }

  after(delayUs: number, owner: Life | undefined, kind: string, run: () => void): Scheduled {
    return this.at(this.nowUs + delayUs, owner, kind, run);
  }

  /** The process stands still for so long, or until `resume`. */
  pause(life: Life, us: number): void {
    life.pausedUntilUs = Math.max(life.pausedUntilUs, this.nowUs + us);
    this.after(us, undefined, 'resume', () => {
      if (this.nowUs >= life.pausedUntilUs) this.resume(life);
    });
  }

  /** The process goes on: all that came due meanwhile comes now, in its order. */
  resume(life: Life): void {
    life.pausedUntilUs = 0;
    for (const event of life.held.splice(0)) {
      event.atUs = this.nowUs;
      this.#push(event);
    }
  }

  /** Runs the next event; false when there is none before `endUs`. */
  step(endUs: number): boolean {
    for (;;) {
      const event = this.#heap[0];
      if (event === undefined || event.atUs > endUs) return false;
      this.#pop();
      const { owner, run } = event;
      if (run === undefined || owner?.alive === false) continue;
      if (owner !== undefined && owner.pausedUntilUs > event.atUs) {
        owner.held.push(event);
        continue;
      }
      this.nowUs = event.atUs;
      this.events += 1;
      this.digest = mixNumber(mixText(this.digest, event.kind), event.atUs + (owner?.node ?? 0));
      this.running = owner;
      run();
      this.running = undefined;
      this.afterEvent(owner);
      return true;
    }
  }

  /** Lets virtual time run to `endUs`, or until something is broken or `done` says so. */
  run(endUs: number, done: () => boolean = () => false): void {
    while (this.violation === undefined && !done()) {
      if (!this.step(endUs)) {
        this.nowUs = Math.max(this.nowUs, endUs);
        return;
      }
    }
  }

  #push(event: Scheduled): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}
