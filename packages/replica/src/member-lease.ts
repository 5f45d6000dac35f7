import { type LeaseHandle, LeaseKind, type MemberId, type RenewalGroup } from '@lockstep/model';
import type { StateMachine } from '@lockstep/state-machine';
import type { Contact } from './contact.ts';

/** Ticket of the leader's own renewals: no member waits for them. */
export const NO_TICKET = 0;

/**
 * The leader's care for the members' leases (design §4): a member heard from lately is renewed
 * through the log once half of its lease is used; the leader's own by itself. A member that is not
 * heard loses its incarnation, and with it its waiters and connection-bound locks.
 */
export function dueMemberRenewals(
  machine: StateMachine,
  contact: Contact,
  leader: MemberId,
  incarnation: number,
  clusterMs: number,
  nowMs: number,
): RenewalGroup | undefined {
  const heard: LeaseHandle[] = [];
  let isDue = false;
  for (const lease of machine.leases(LeaseKind.Member)) {
    const halfMs = lease.ttlMs / 2;
    const member = Number(lease.id);
    if (member !== leader && !contact.heardWithin(member, halfMs, nowMs)) continue;
    heard.push(lease.handle);
    if (lease.deadline - clusterMs <= halfMs) isDue = true;
  }
  // All in one entry: an idle cluster then writes its log once per half a lease, not per member.
  if (!isDue) return undefined;
  return { origin: leader, incarnation, ticket: NO_TICKET, leases: heard };
}
