import {
  type Incarnation,
  LeaseKind,
  type MemberId,
  type RenewalGroup,
  type Sequence,
} from '@lockstep/model';
import type { AppliedTransaction, ApplySink, CommandOutcome } from '@lockstep/state-machine';
import type { Forwarder } from './forwarder.ts';
import type { Loop } from './loop.ts';
import type { Renewals } from './renewals.ts';
import type { Subscribers } from './subscribers.ts';

export interface ApplySinkOptions {
  readonly member: MemberId;
  readonly forwarder: Forwarder;
  readonly renewals: Renewals;
  readonly subscribers: Subscribers;
  readonly nowMs: () => number;
  /** This member's incarnation is void: its lease expired, or another life said hello. */
  expired(incarnation: Incarnation): void;
}

export function doorSinkOf(loop: Loop): DoorSink {
  const { forwarder, renewals, subscribers } = loop;
  return new DoorSink({
    member: loop.settings.member,
    ...{ forwarder, renewals, subscribers },
    nowMs: () => loop.nowMs,
    expired: (incarnation) => loop.expired(incarnation),
  });
}

/** Sorts what apply reports: events to the doors, outcomes to whoever waits here. */
export class DoorSink implements ApplySink {
  readonly #options: ApplySinkOptions;
  readonly #member: MemberId;
  readonly #forwarder: Forwarder;

  constructor(options: ApplySinkOptions) {
    this.#options = options;
    this.#member = options.member;
    this.#forwarder = options.forwarder;
  }

  wanted(origin: MemberId, incarnation: Incarnation, sequence: Sequence): boolean {
    if (!this.#isOwn(origin, incarnation)) return false;
    return this.#forwarder.pending.get(sequence)?.waiter !== undefined;
  }

  transaction(transaction: AppliedTransaction): void {
    this.#options.subscribers.transaction(transaction);
    for (const event of transaction.events) {
      if (event.kind !== 'lease-ended' || event.lease.kind !== LeaseKind.Member) continue;
      const { id, incarnation } = event.lease;
      if (id === BigInt(this.#member)) this.#options.expired(incarnation);
    }
  }

  result(
    origin: MemberId,
    incarnation: Incarnation,
    sequence: Sequence,
    outcome: CommandOutcome,
  ): void {
    if (sequence === 0 || !this.#isOwn(origin, incarnation)) return;
    if (outcome.kind === 'void' && outcome.reason === 'old-incarnation') {
      this.#options.expired(incarnation);
      return;
    }
    this.#forwarder.result(sequence, outcome, this.#options.nowMs());
  }

  renewed(group: RenewalGroup, alive: readonly boolean[]): void {
    if (group.origin === this.#member) this.#options.renewals.renewed(group, alive);
  }

  #isOwn(origin: MemberId, incarnation: Incarnation): boolean {
    return origin === this.#member && incarnation === this.#forwarder.incarnation;
  }
}
