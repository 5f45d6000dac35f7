import { BinaryWriter } from '@lockstep/model';
import type { Replica } from '@lockstep/replica';
import type { Waiter } from '@lockstep/state-machine';
import { describe, expect, it } from 'vitest';
import { LoggedSlot } from '../src/slot.ts';
import { type BlockedSession, WaitTable } from '../src/wait-table.ts';

describe('the table of waiting commands', () => {
  it('forgets after a snapshot install who is in no queue any more, and nobody else', () => {
    const queued = [{ origin: 1, incarnation: 3, request: 8 }] as unknown as Waiter[];
    const replica = {
      member: 1,
      incarnation: 3,
      state: { waiters: (_: unknown, key: string) => (key === 'kept' ? queued : []) },
    } as unknown as Replica;
    const waits = new WaitTable(replica, new BinaryWriter());
    const session = { closed: false } as BlockedSession;
    const slotOf = (sequence: number, key: string): LoggedSlot =>
      Object.assign(Object.create(LoggedSlot.prototype), {
        sequence,
        db: 0,
        argv: ['LOCK', 'ACQUIRE', key, 'me'],
      });
    waits.add(slotOf(7, 'gone'), session);
    waits.add(slotOf(8, 'kept'), session);
    waits.skipped();
    expect(waits.size).toBe(1);
    waits.add(slotOf(9, 'kept'), session);
    waits.skipped();
    expect(waits.size).toBe(1);
  });
});
