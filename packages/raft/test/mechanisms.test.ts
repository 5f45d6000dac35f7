import { describe, expect, test } from 'vitest';
import { ScenarioCluster } from './scenario-cluster.ts';
import { append, configurationOf, entriesOf, kinds, SingleMember, vote } from './single-member.ts';

/**
 * One named test for each mechanism that safety or availability rests on: taken out, that test
 * fails. The README of this package says how each was tried.
 */

function threeMembers(): ScenarioCluster {
  const cluster = new ScenarioCluster(configurationOf([1, 2, 3]));
  cluster.member(1).raft.campaign();
  cluster.process(1);
  cluster.settle();
  expect(cluster.member(1).raft.role).toBe('leader');
  return cluster;
}

/** The members tick together; messages arrive at once. */
function passTicks(cluster: ScenarioCluster, ticks: number): void {
  for (let tick = 0; tick < ticks; tick++) {
    for (const { id, raft } of cluster.members.values()) {
      raft.tick();
      cluster.process(id);
    }
    cluster.settle();
  }
}

describe('pre-vote', () => {
  test('a member that was cut off for long comes back without unseating the leader', () => {
    const cluster = threeMembers();
    cluster.cut.add(3);
    passTicks(cluster, 200);
    expect(cluster.member(3).raft).toMatchObject({ role: 'pre-candidate', term: 1 });
    cluster.cut.delete(3);
    passTicks(cluster, 50);
    expect(cluster.member(1).raft).toMatchObject({ role: 'leader', term: 1 });
    expect(cluster.member(3).raft).toMatchObject({ role: 'follower', leader: 1, term: 1 });
  });
});

describe('check-quorum', () => {
  test('a leader that reaches no majority steps down, before the others have elected', () => {
    const cluster = threeMembers();
    // The others time out late, so that nothing but its own check can tell it.
    cluster.cut.add(2).add(3);
    for (let tick = 0; tick < 20; tick++) {
      cluster.member(1).raft.tick();
      cluster.process(1);
    }
    expect(cluster.member(1).raft).toMatchObject({ role: 'follower', leader: 0, term: 1 });
    expect(cluster.member(1).raft.propose([Buffer.from('x')])).toBe('not-leader');
  });
});

describe('durable before promise', () => {
  const slow = (log: readonly number[] = []) => {
    const member = new SingleMember({ log });
    member.slowDisk = true;
    return member;
  };

  test('a vote leaves only when it is on disk', () => {
    const member = slow();
    expect(member.step(vote({ term: 5 }))).toEqual([]);
    expect(member.log.initialState().hardState).toMatchObject({ term: 0, vote: 0 });
    expect(kinds(member.persist())).toEqual(['vote-response']);
    expect(member.log.initialState().hardState).toMatchObject({ term: 5, vote: 2 });
  });

  test('entries are acknowledged only when they are on disk', () => {
    const member = slow([1]);
    const sent = member.step(append({ prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 2) }));
    expect(kinds(sent)).toEqual([]);
    expect(kinds(member.persist())).toEqual(['append-response']);
    expect(member.log.lastIndex()).toBe(2);
  });

  test('entries that are being written are not acknowledged by a repeated append', () => {
    const member = slow([1]);
    const request = append({ prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 2) });
    expect([...member.step(request), ...member.step(request)]).toEqual([]);
    expect(kinds(member.persist())).toEqual(['append-response']);
  });

  test('a leader counts itself only when its own disk says so', () => {
    const member = new SingleMember({ voters: [1, 2, 3, 4, 5] });
    member.lead(2, 3);
    for (const from of [2, 3]) member.acknowledge(from, 1);
    member.slowDisk = true;
    member.propose('x');
    for (const from of [2, 3]) {
      member.acknowledge(from, 2);
      expect(member.raft.commit).toBe(1);
    }
    member.persist();
    expect(member.raft.commit).toBe(2);
  });

  test('a candidate asks for votes only when its term and its own vote are on disk', () => {
    const member = slow();
    member.campaign();
    const answer = {
      preVote: true,
      reject: false,
      conditional: false,
      incarnation: 7,
      campaign: 1,
    };
    member.step({ kind: 'vote-response', from: 2, to: 1, term: 1, ...answer });
    expect(member.raft.role).toBe('candidate');
    expect(member.take()).toEqual([]);
    expect(kinds(member.persist())).toEqual(['vote-response', 'vote', 'vote']);
    expect(member.log.initialState().hardState).toMatchObject({ term: 1, vote: 1 });
  });
});
