import {
  type Incarnation,
  type LeaseHandle,
  LIMITS,
  LockstepError,
  type MemberId,
  type RenewalGroup,
} from '@lockstep/model';
import type { RenewalWaiter } from './contract.ts';

interface Renewal {
  readonly lease: LeaseHandle;
  readonly waiter: RenewalWaiter;
  readonly deadlineMs: number;
}

const LEASES_PER_GROUP_MAX = 100_000;

/**
 * Keep-alives of this member (design §6): gathered per turn, one group in flight. With none in
 * flight they leave at once; under load, that is when more were asked for while a group was in
 * flight, at most one group per interval. A renewal may be repeated without harm, so a group is
 * simply sent again when leader or link change.
 */
export class Renewals {
  readonly #member: MemberId;
  readonly #intervalMs: number;
  #incarnation: Incarnation;
  #gathered: Renewal[] = [];
  #inFlight: readonly Renewal[] = [];
  #group: RenewalGroup | undefined;
  #ticket = 0;
  #sent = false;
  #sentMs = Number.NEGATIVE_INFINITY;
  #startedMs = Number.NEGATIVE_INFINITY;
  /** Renewals came while the last group was in flight: the next one waits for the interval. */
  #crowded = false;

  constructor(member: MemberId, incarnation: Incarnation, intervalMs: number) {
    this.#member = member;
    this.#incarnation = incarnation;
    this.#intervalMs = intervalMs;
  }

  get count(): number {
    return this.#gathered.length + this.#inFlight.length;
  }

  /** False when too many wait. */
  add(lease: LeaseHandle, waiter: RenewalWaiter, deadlineMs: number): boolean {
    if (this.#gathered.length >= LIMITS.memberCommandsPendingMax) return false;
    this.#gathered.push({ lease, waiter, deadlineMs });
    return true;
  }

  /** The group to hand to the leader now, if any. */
  take(nowMs: number): RenewalGroup | undefined {
    if (this.#group === undefined) {
      if (this.#gathered.length === 0) return undefined;
      if (this.#waitMs(nowMs) > 0) return undefined;
      this.#form(nowMs);
    }
    if (this.#sent) return undefined;
    this.#sent = true;
    this.#sentMs = nowMs;
    return this.#group;
  }

  /** Milliseconds until `take` may have something; undefined when nothing is gathered. */
  delayMs(nowMs: number): number | undefined {
    if (this.#group !== undefined || this.#gathered.length === 0) return undefined;
    return this.#waitMs(nowMs);
  }

  #waitMs(nowMs: number): number {
    if (!this.#crowded) return 0;
    return Math.max(0, this.#startedMs + this.#intervalMs - nowMs);
  }

  #form(nowMs: number): void {
    this.#inFlight = this.#gathered.slice(0, LEASES_PER_GROUP_MAX);
    this.#gathered = this.#gathered.slice(LEASES_PER_GROUP_MAX);
    const leases = this.#inFlight.map(({ lease }) => lease);
    const { origin, incarnation } = { origin: this.#member, incarnation: this.#incarnation };
    this.#group = { origin, incarnation, ticket: ++this.#ticket, leases };
    this.#sent = false;
    this.#startedMs = nowMs;
  }

  /** Leader or link changed: the group in flight may be lost. */
  resend(): void {
    this.#sent = false;
  }

  /** A group of this member was applied; stale copies of former groups answer nobody. */
  renewed(group: RenewalGroup, alive: readonly boolean[]): void {
    if (group.incarnation !== this.#incarnation || group.ticket !== this.#group?.ticket) return;
    this.#crowded = this.#gathered.length > 0;
    const answered = this.#inFlight;
    this.#inFlight = [];
    this.#group = undefined;
    for (let i = 0; i < answered.length; i++) answered[i]!.waiter.renewed(alive[i] === true);
  }

  /** Tells those whose time is over; deadlines grow in the order of asking. */
  tick(nowMs: number, stuckMs: number): void {
    let over = 0;
    while (over < this.#gathered.length && this.#gathered[over]!.deadlineMs <= nowMs) over++;
    if (over > 0) {
      for (const { waiter } of this.#gathered.splice(0, over)) {
        waiter.failed(new LockstepError('NO_LEADER'));
      }
    }
    if (this.#group === undefined) return;
    if (nowMs >= this.#inFlight[0]!.deadlineMs) {
      const failed = this.#inFlight;
      this.#inFlight = [];
      this.#group = undefined;
      for (const { waiter } of failed) waiter.failed(new LockstepError('UNKNOWN_OUTCOME'));
    } else if (this.#sent && nowMs - this.#sentMs > stuckMs) {
      this.#sent = false;
    }
  }

  /** Answers everybody with an error; a new incarnation starts with nothing. */
  abandon(code: 'NOT_READY' | 'STOPPING' | 'UNKNOWN_OUTCOME', incarnation: Incarnation): void {
    const failed = [...this.#inFlight, ...this.#gathered];
    this.#inFlight = [];
    this.#gathered = [];
    this.#group = undefined;
    this.#incarnation = incarnation;
    for (const { waiter } of failed) waiter.failed(new LockstepError(code));
  }
}
