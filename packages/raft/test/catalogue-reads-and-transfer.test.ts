import { describe, expect, test } from 'vitest';
import { append, heartbeat, kinds, NO_DATA, only, SingleMember } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('reads', () => {
  const readAt = (counter: number) => ({ member: 1, incarnation: 7, counter });
  const confirm = (from: number, readRound: number) =>
    ({ kind: 'heartbeat-response', from, to: 1, term: 1, readRound }) as const;

  test('R-1: a new leader holds reads until an entry of its term is committed', () => {
    const member = new SingleMember({ log: [1], term: 0 });
    member.lead();
    member.raft.readIndex(readAt(1));
    expect(member.take()).toEqual([]);
    const { term } = member.raft;
    member.step({ ...confirm(2, 9), term });
    expect(member.readStates).toEqual([]);
    member.acknowledge(2, 2);
    member.step({ ...confirm(2, 1), term });
    expect(member.readStates).toMatchObject([{ index: 2 }]);
  });

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

  test('R-6: a single voter answers nothing before all of its log is committed', () => {
    const member = new SingleMember({ voters: [1], log: [1, 1, 1], commit: 1 });
    member.slowDisk = true;
    member.raft.readIndex(readAt(1));
    member.take();
    expect(member.readsDropped).toEqual([1]);
    member.raft.campaign();
    member.take();
    member.persist();
    member.raft.readIndex(readAt(2));
    member.take();
    expect(member.readStates).toEqual([]);
    member.persist();
    member.process();
    expect(member.readStates).toMatchObject([{ index: 4 }]);
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

describe('transfer', () => {
  test('T-1: proposals are refused, and the target is told only when it has them all', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('x');
    member.raft.transferLeader(2);
    expect(member.raft.propose([NO_DATA])).toBe('transferring');
    expect(member.raft.proposeConfiguration(NO_DATA)).toBe('transferring');
    expect(kinds(member.take())).not.toContain('timeout-now');
    expect(only(member.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2 }]);
  });

  test('T-2: given up after an election timeout', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.transferLeader(2);
    member.tick(9);
    expect(member.raft.status().transferTarget).toBe(2);
    member.tick(1);
    expect(member.raft.propose([NO_DATA])).toBe('ok');
  });

  test('T-2: a target that has turned pre-candidate meanwhile is still told', () => {
    const target = new SingleMember({ log: [1] });
    target.step(heartbeat({}));
    target.tick(10);
    expect(target.raft.role).toBe('pre-candidate');
    target.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 });
    expect(target.raft).toMatchObject({ role: 'candidate', term: 2 });
  });

  test('T-3: asked of a member without a leader, or for nobody, nothing happens', () => {
    const member = new SingleMember();
    member.raft.transferLeader(2);
    expect(member.take()).toEqual([]);
    member.campaign();
    member.raft.transferLeader(2);
    expect(member.take()).toEqual([]);
  });

  test('the first entry of the term knows whether the leadership was handed over', () => {
    const told: [number | undefined, boolean][] = [];
    const settings = {
      termStart: (last: { index: number } | undefined, transferred: boolean) => {
        told.push([last?.index, transferred]);
        return NO_DATA;
      },
    };
    const member = new SingleMember({ log: [1, 1], settings });
    member.step(heartbeat({}));
    const requests = only(member.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 }), 'vote');
    const { term, incarnation, campaign } = requests[0]!;
    const answer = {
      term,
      preVote: false,
      reject: false,
      conditional: false,
      incarnation,
      campaign,
    };
    member.step({ kind: 'vote-response', from: 3, to: 1, ...answer });
    expect(told).toEqual([[2, true]]);
    const other = new SingleMember({ settings });
    other.lead();
    expect(told[1]).toEqual([undefined, false]);
  });
});
