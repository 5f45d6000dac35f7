import { describe, expect, test } from 'vitest';
import { configurationOf, kinds, NO_DATA, only, SingleMember } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('membership', () => {
  const change = Buffer.from('change');

  test('M-1: a change waits for an applied entry of this term and for the one before it', () => {
    const member = new SingleMember();
    member.slowApply = true;
    member.lead();
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.acknowledge(2, 1);
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.raft.appliedTo(1);
    expect(member.raft.proposeConfiguration(change)).toBe('ok');
    expect(member.raft.proposeConfiguration(change)).toBe('overloaded');
    member.take();
    member.acknowledge(2, 2);
    member.raft.applyConfiguration({ configuration: configurationOf([1, 2, 3, 4]) });
    member.raft.appliedTo(2);
    expect(member.raft.proposeConfiguration(change)).toBe('ok');
  });

  test('a new member is asked where its log stands, and counts', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.applyConfiguration({ configuration: configurationOf([1, 2, 3, 4]) });
    expect(only(member.take(), 'append')).toMatchObject([{ to: 4, prevIndex: 1 }]);
    member.propose('x');
    member.acknowledge(2, 2);
    expect(member.raft.commit).toBe(1);
    member.acknowledge(4, 2);
    expect(member.raft.commit).toBe(2);
  });

  test('M-6: a learner counts neither for commit nor for the check of the quorum', () => {
    const configuration = configurationOf([1, 2], { learners: [3] });
    const member = new SingleMember({ configuration });
    member.lead();
    member.acknowledge(3, 1);
    expect(member.raft.commit).toBe(0);
    member.tick(10);
    for (let i = 0; i < 10; i++) {
      member.tick(1);
      member.step({ kind: 'heartbeat-response', from: 3, to: 1, term: 1, readRound: 0 });
    }
    expect(member.raft.role).toBe('follower');
  });

  test('a smaller quorum commits at once what it now suffices for', () => {
    const member = new SingleMember({ voters: [1, 2] });
    member.lead();
    expect(member.raft.commit).toBe(0);
    member.raft.applyConfiguration({ configuration: configurationOf([1]) });
    expect(member.raft.commit).toBe(1);
  });

  test('M-7: a leader goes on leading while it is in either half of a joint configuration', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    const joint = configurationOf([2, 3], { votersOutgoing: [1, 2, 3] });
    member.raft.applyConfiguration({ configuration: joint });
    expect(member.raft.propose([NO_DATA])).toBe('ok');
  });

  test('M-9: a leader that is out hands over to a voter that has its whole log', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.propose('x');
    member.raft.applyConfiguration({ configuration: configurationOf([2, 3]) });
    expect(member.raft.propose([NO_DATA])).toBe('transferring');
    expect(kinds(member.acknowledge(2, 1))).not.toContain('timeout-now');
    // What it had taken is still committed, by the voters alone.
    expect(member.raft.commit).toBe(1);
    expect(only(member.acknowledge(2, 2), 'timeout-now')).toMatchObject([{ to: 2 }]);
    member.acknowledge(3, 2);
    expect(member.raft.commit).toBe(2);
  });

  test('M-9: a leader that is out and finds nobody to hand over to steps down', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.raft.applyConfiguration({ configuration: configurationOf([2, 3]) });
    for (let tick = 0; tick < 30; tick++) {
      member.tick(1);
      member.step({ kind: 'heartbeat-response', from: 3, to: 1, term: 1, readRound: 0 });
      member.step({ kind: 'heartbeat-response', from: 2, to: 1, term: 1, readRound: 0 });
    }
    expect(member.raft.role).toBe('follower');
  });

  test('M-9: a member that is no voter campaigns only when nobody has led for long', () => {
    const member = new SingleMember({ configuration: configurationOf([2, 3]), log: [1, 1] });
    member.raft.campaign();
    expect(member.tick(39)).toEqual([]);
    expect(only(member.tick(1), 'vote').map(({ to, preVote }) => [to, preVote])).toEqual([
      [2, true],
      [3, true],
    ]);
  });

  test('a vetoed change leaves the configuration', () => {
    const member = new SingleMember();
    expect(member.raft.applyConfiguration(undefined).voters).toEqual([1, 2, 3]);
  });
});
