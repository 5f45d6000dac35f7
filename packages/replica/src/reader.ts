import {
  type Incarnation,
  type Index,
  LIMITS,
  LockstepError,
  type MemberId,
} from '@lockstep/model';
import type { Raft, ReadContext, ReadState } from '@lockstep/raft';
import type { BarrierWaiter } from './contract.ts';

interface Barrier {
  readonly waiter: BarrierWaiter;
  readonly deadlineMs: number;
}

interface Times {
  readonly clusterMs: number;
  readonly wallMs: number;
}

/** Barriers whose index is known; they wait for apply to reach it. */
interface Reached {
  readonly index: Index;
  readonly times: Times;
  readonly barriers: readonly Barrier[];
}

const CONTEXTS_IN_FLIGHT_MAX = 8;

/**
 * Linearizable barriers (thesis §6.4). Those of one turn share one read index; a context is never
 * used twice, not even on retry. A dropped read is asked again at the next tick or with the
 * next leader, until its time is over.
 */
export class Reader {
  readonly #member: MemberId;
  readonly #incarnation: Incarnation;
  #gathered: Barrier[] = [];
  readonly #asked = new Map<number, readonly Barrier[]>();
  #reached: Reached[] = [];
  #dropped: Barrier[] = [];
  #counter = 0;

  /** `incarnation` of the process: contexts of a former life must not come true in this one. */
  constructor(member: MemberId, incarnation: Incarnation) {
    this.#member = member;
    this.#incarnation = incarnation;
  }

  get count(): number {
    let count = this.#gathered.length + this.#dropped.length;
    for (const barriers of this.#asked.values()) count += barriers.length;
    for (const { barriers } of this.#reached) count += barriers.length;
    return count;
  }

  /** False when too many wait. */
  add(waiter: BarrierWaiter, deadlineMs: number): boolean {
    if (this.#gathered.length >= LIMITS.memberCommandsPendingMax) return false;
    this.#gathered.push({ waiter, deadlineMs });
    return true;
  }

  /** Once per turn: asks for what was gathered, as long as not too many questions are open. */
  ask(raft: Raft): void {
    if (this.#gathered.length === 0 || this.#asked.size >= CONTEXTS_IN_FLIGHT_MAX) return;
    const barriers = this.#gathered;
    this.#gathered = [];
    const counter = ++this.#counter;
    this.#asked.set(counter, barriers);
    raft.readIndex({ member: this.#member, incarnation: this.#incarnation, counter });
  }

  /** The index is known; `times` are the leader's. */
  state(state: ReadState, times: Times): void {
    const barriers = this.#take(state.context);
    if (barriers === undefined) return;
    this.#reached.push({ index: state.index, times, barriers });
  }

  /** The leader was lost: ask again, at the next tick. */
  drop(context: ReadContext): void {
    const barriers = this.#take(context);
    // Not spread into one call: there may be more of them than a call takes arguments.
    if (barriers !== undefined) this.#dropped = this.#dropped.concat(barriers);
  }

  #take(context: ReadContext): readonly Barrier[] | undefined {
    if (context.member !== this.#member || context.incarnation !== this.#incarnation) {
      return undefined;
    }
    const barriers = this.#asked.get(context.counter);
    this.#asked.delete(context.counter);
    return barriers;
  }

  /** Lets through what apply has reached. */
  applied(index: Index): void {
    if (this.#reached.length === 0) return;
    const ready = this.#reached.filter((reached) => reached.index <= index);
    if (ready.length === 0) return;
    this.#reached = this.#reached.filter((reached) => reached.index > index);
    for (const { barriers, times } of ready) {
      for (const { waiter } of barriers) waiter.reached(times);
    }
  }

  /** Dropped reads are asked again. */
  retry(): void {
    if (this.#dropped.length === 0) return;
    this.#gathered = [...this.#dropped, ...this.#gathered];
    this.#dropped = [];
  }

  tick(nowMs: number): void {
    this.#gathered = this.#expire(this.#gathered, nowMs);
    this.#dropped = this.#expire(this.#dropped, nowMs);
    for (const [counter, barriers] of this.#asked) {
      const left = this.#expire(barriers, nowMs);
      if (left.length === barriers.length) continue;
      if (left.length === 0) this.#asked.delete(counter);
      else this.#asked.set(counter, left);
    }
    this.#reached = this.#reached.map((reached) => ({
      ...reached,
      barriers: this.#expire(reached.barriers, nowMs),
    }));
    this.retry();
  }

  #expire<T extends readonly Barrier[]>(barriers: T, nowMs: number): T | Barrier[] {
    // Deadlines are given in order: the first tells whether any is over.
    if (barriers.every((barrier) => barrier.deadlineMs > nowMs)) return barriers;
    const left: Barrier[] = [];
    for (const barrier of barriers) {
      if (barrier.deadlineMs > nowMs) left.push(barrier);
      else barrier.waiter.failed(new LockstepError('NO_LEADER'));
    }
    return left;
  }

  abandon(): void {
    const asked = [...this.#asked.values(), ...this.#reached.map(({ barriers }) => barriers)];
    const all = [this.#gathered, this.#dropped, ...asked].flat();
    this.#gathered = [];
    this.#dropped = [];
    this.#asked.clear();
    this.#reached = [];
    for (const { waiter } of all) waiter.failed(new LockstepError('STOPPING'));
  }
}
