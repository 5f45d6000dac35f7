import type { LockstepError, Revision } from '@lockstep/model';
import type { BarrierWaiter, CommandWaiter } from '@lockstep/replica';
import type { CommandOutcome } from '@lockstep/state-machine';
import type { Request } from './codec.ts';
import { ErrorCode } from './errors.ts';
import type { Session } from './session.ts';

/**
 * A request in its connection's order. Waits while the log (or the barrier of a sync) has not
 * answered; those without an own wait are evaluated when everything before them is answered.
 */
export class Pending implements CommandWaiter, BarrierWaiter {
  readonly session: Session;
  readonly xid: number;
  readonly request: Request;
  readonly bytes: number;
  /** Its command; kept back while a sync before it is unfinished. */
  command: Uint8Array | undefined;
  /** Monotonic; undefined for requests without an own wait. */
  readonly arrivedMs: number | undefined;
  waiting: boolean;
  /** Waits, but was not handed to the log or the barrier yet. */
  held = false;
  /** Set when the log answered: its result, and the zxid at its place in the log. */
  result: unknown;
  zxid: Revision = 0;
  next: Pending | undefined;

  constructor(
    session: Session,
    xid: number,
    request: Request,
    bytes: number,
    arrivedMs: number | undefined,
  ) {
    this.session = session;
    this.xid = xid;
    this.request = request;
    this.bytes = bytes;
    this.arrivedMs = arrivedMs;
    this.waiting = arrivedMs !== undefined;
  }

  applied(outcome: CommandOutcome): void {
    if (outcome.kind === 'done') this.session.settle(this, outcome.result);
    else if (outcome.reason === 'budget') this.session.settle(this, { error: ErrorCode.ApiError });
    else this.session.close();
  }

  reached(): void {
    this.session.settle(this, undefined);
  }

  /** Failed or unknown: either way the client must ask again elsewhere, as after any lost
   * connection; no error code of the protocol says as much. */
  failed(_error: LockstepError): void {
    this.session.close();
  }
}

/**
 * Requests of one connection that are not answered yet, oldest first.
 *
 * What stands behind an unfinished sync is kept back: a read between the two must not see a write
 * that comes after it, and the log would not wait for the barrier.
 */
export class RequestQueue {
  #head: Pending | undefined;
  #tail: Pending | undefined;
  count = 0;
  bytes = 0;

  get isEmpty(): boolean {
    return this.#head === undefined;
  }

  push(pending: Pending): Pending {
    if (this.#tail === undefined) this.#head = pending;
    else this.#tail.next = pending;
    this.#tail = pending;
    this.count++;
    this.bytes += pending.bytes;
    return pending;
  }

  /** The oldest request that was kept back; undefined when everything is under way. */
  firstHeld(): Pending | undefined {
    let at = this.#head;
    while (at !== undefined && !at.held) at = at.next;
    return at;
  }

  /** Takes out the oldest if its turn to be answered has come. */
  shiftReady(): Pending | undefined {
    const first = this.#head;
    if (first === undefined || first.waiting) return undefined;
    this.#head = first.next;
    if (first.next === undefined) this.#tail = undefined;
    this.count--;
    this.bytes -= first.bytes;
    return first;
  }

  /** Forgets all; returns how many there were. */
  clear(): number {
    const { count } = this;
    this.#head = undefined;
    this.#tail = undefined;
    this.count = 0;
    this.bytes = 0;
    return count;
  }
}
