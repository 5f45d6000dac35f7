import { LeaseKind } from '@lockstep/model';
import type { StateMachine } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { Contact } from '../src/contact.ts';
import { dueMemberRenewals } from '../src/member-lease.ts';

const TTL_MS = 3000;

function machineWith(...deadlines: number[]): StateMachine {
  const leases = deadlines.map((deadline, i) => ({
    handle: 10 + i,
    id: BigInt(i + 1),
    ttlMs: TTL_MS,
    deadline,
  }));
  return {
    leases: (kind: LeaseKind) => (kind === LeaseKind.Member ? leases : []),
  } as unknown as StateMachine;
}

describe('leases of members', () => {
  it('are renewed all together once one of them is half used, of those heard lately', () => {
    const contact = new Contact(1, 1000, 50);
    contact.heard(2, 9000);
    contact.heard(3, 5000);
    const due = (...deadlines: number[]) =>
      dueMemberRenewals(machineWith(...deadlines), contact, 1, 7, 10_000, 9500)?.leases;
    expect(due(12_900, 12_900, 12_900)).toBe(undefined);
    expect(due(12_900, 11_500, 12_900)).toEqual([10, 11]);
    // One that is not heard is neither renewed nor makes others be.
    expect(due(12_900, 12_900, 11_000)).toBe(undefined);
    expect(due(11_500, 12_900, 11_000)).toEqual([10, 11]);
  });
});
