import { describe, expect, test } from 'vitest';
import { append, only, SingleMember } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('reads', () => {
  const readAt = (counter: number) => ({ member: 1, incarnation: 7, counter });
  const confirm = (from: number, readRound: number) =>
    ({ kind: 'heartbeat-response', from, to: 1, term: 1, readRound }) as const;

  test('R-2: a confirmation of an earlier round answers no later read', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.readIndex(readAt(1));
    member.take();
    member.step(confirm(2, 1));
    expect(member.readStates).toHaveLength(1);
    member.raft.readIndex(readAt(2));
    member.take();
    member.step(confirm(3, 1));
    member.step(confirm(2, 1));
    // Nor does a round that was never begun.
    member.step(confirm(3, 3));
    expect(member.readStates).toHaveLength(1);
    member.step(confirm(3, 2));
    expect(member.readStates).toHaveLength(2);
  });

  test('R-2: a context is never used twice', () => {
    const member = new SingleMember();
    member.step(append({}));
    member.raft.readIndex(readAt(1));
    expect(() => member.raft.readIndex(readAt(1))).toThrow('used twice');
  });

  test('R-8: reads end when the leader does, here and at the member that asked', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.readIndex(readAt(1));
    const context = { member: 3, incarnation: 1, counter: 5 };
    member.step({ kind: 'read-index', from: 3, to: 1, term: 1, context });
    const refused = member.step(append({ term: 2, prevIndex: 1, prevTerm: 1 }));
    expect(member.readsDropped).toEqual([1]);
    expect(only(refused, 'read-index-response')).toMatchObject([{ to: 3, context, index: 0 }]);
  });
});
