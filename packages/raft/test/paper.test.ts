import { describe, expect, test } from 'vitest';
import type { VoteRequest } from '../src/index.ts';
import { accepted, append, entriesOf, only, SingleMember } from './single-member.ts';

/** Tests named by the sections of "In Search of an Understandable Consensus Algorithm". */

function voteRequest(rest: Partial<VoteRequest>): VoteRequest {
  return {
    kind: 'vote',
    from: 2,
    to: 1,
    term: 1,
    preVote: false,
    transfer: false,
    lastIndex: 0,
    lastTerm: 0,
    incarnation: 1,
    campaign: 1,
    ...rest,
  };
}

const termsOf = (member: SingleMember) => {
  const terms: (number | undefined)[] = [];
  for (let i = 1; i <= member.log.lastIndex(); i++) terms.push(member.log.term(i));
  return terms;
};

describe('§5.1 terms', () => {
  test.each(['follower', 'candidate', 'leader'])('a %s adopts a later term and follows', (role) => {
    const member = new SingleMember();
    if (role !== 'follower') member.campaign();
    if (role === 'candidate') member.grant(2);
    if (role === 'leader') {
      member.grant(2);
      member.grant(2);
    }
    expect(member.raft.role).toBe(role);
    member.step(append({ term: 5 }));
    expect(member.raft).toMatchObject({ role: 'follower', term: 5, leader: 2 });
  });

  test('a request of an earlier term is refused and its sender told the present one', () => {
    const member = new SingleMember({ log: [1, 2], term: 3 });
    const answers = member.step(
      append({ term: 2, prevIndex: 2, prevTerm: 2, entries: entriesOf([2], 3) }),
    );
    expect(answers).toMatchObject([{ kind: 'heartbeat-response', to: 2, term: 3 }]);
    expect(member.raft.lastIndex).toBe(2);
  });
});

describe('§5.2 leader election', () => {
  test('a member begins as follower', () => {
    expect(new SingleMember().raft.role).toBe('follower');
  });

  test('a leader sends heartbeats to everybody else', () => {
    const member = new SingleMember();
    member.lead();
    const beats = only(member.tick(1), 'heartbeat');
    expect(beats.map(({ to }) => to)).toEqual([2, 3]);
  });

  test('a follower that hears nothing begins an election', () => {
    const member = new SingleMember();
    expect(member.tick(9)).toEqual([]);
    const requests = only(member.tick(1), 'vote');
    expect(requests.map(({ to, preVote }) => [to, preVote])).toEqual([
      [2, true],
      [3, true],
    ]);
  });

  test('a candidate raises its term, votes for itself and asks all others', () => {
    const member = new SingleMember({ term: 4 });
    member.campaign();
    const requests = only(member.grant(2), 'vote');
    expect(requests.map(({ to, term, preVote }) => [to, term, preVote])).toEqual([
      [2, 5, false],
      [3, 5, false],
    ]);
    expect(member.raft.status()).toMatchObject({ role: 'candidate', term: 5, vote: 1 });
  });

  test.each([
    [[1], [], 'leader'],
    [[1, 2, 3], [2], 'leader'],
    [[1, 2, 3], [], 'candidate'],
    [[1, 2, 3, 4, 5], [2], 'candidate'],
    [[1, 2, 3, 4, 5], [2, 3], 'leader'],
  ])('among %j the votes of %j make a %s', (voters, granting, role) => {
    const member = new SingleMember({ voters });
    member.campaign();
    if (voters.length > 1) member.grant(...voters.slice(1, Math.floor(voters.length / 2) + 1));
    member.grant(...granting);
    expect(member.raft.role).toBe(role);
  });

  test('a member votes for one candidate per term', () => {
    const member = new SingleMember();
    expect(member.step(voteRequest({ from: 2 }))).toMatchObject([{ to: 2, reject: false }]);
    expect(member.step(voteRequest({ from: 3 }))).toMatchObject([{ to: 3, reject: true }]);
    expect(member.step(voteRequest({ from: 2 }))).toMatchObject([{ to: 2, reject: false }]);
  });

  test('a candidate that hears of a leader of its term follows it', () => {
    const member = new SingleMember();
    member.campaign();
    member.grant(2);
    member.step(append({ term: 1, from: 3 }));
    expect(member.raft).toMatchObject({ role: 'follower', leader: 3, term: 1 });
  });

  test('election timeouts are drawn anew for each attempt', () => {
    const drawn: number[] = [];
    const timeouts = [3, 8, 5];
    const random = () => timeouts[drawn.length % timeouts.length]!;
    const member = new SingleMember({ settings: { random } });
    for (let attempt = 0; attempt < 3; attempt++) {
      let ticks = 1;
      while (only(member.tick(1), 'vote').length === 0) ticks++;
      drawn.push(ticks);
    }
    expect(new Set(drawn).size).toBeGreaterThan(1);
    for (const ticks of drawn) expect(ticks).toBeGreaterThanOrEqual(10);
    for (const ticks of drawn) expect(ticks).toBeLessThan(20);
  });
});

describe('§5.3 log replication', () => {
  test('the leader appends a proposal and sends it to all in parallel', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.acknowledge(3, 1);
    const appends = only(member.propose('x'), 'append');
    expect(appends.map(({ to, prevIndex, prevTerm }) => [to, prevIndex, prevTerm])).toEqual([
      [2, 1, 1],
      [3, 1, 1],
    ]);
    // Entry arrays are shared, not copied.
    expect(appends[0]!.entries).toBe(appends[1]!.entries);
  });

  test('an entry is committed once a majority holds it, with all before it', () => {
    const member = new SingleMember({ log: [1, 2] });
    member.lead();
    member.propose('x');
    expect(member.raft.commit).toBe(0);
    member.acknowledge(2, 4);
    expect(member.raft.commit).toBe(4);
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2, 3, 4]);
  });

  test('the leader tells the commit index in later messages', () => {
    const member = new SingleMember();
    member.lead();
    const appends = only(member.acknowledge(2, 1), 'append');
    expect(appends).toMatchObject([{ to: 2, prevIndex: 1, entries: [], commit: 1 }]);
  });

  test('a follower commits and applies what the leader says, in order', () => {
    const member = new SingleMember();
    member.step(append({ entries: entriesOf([1, 1, 1]), commit: 2 }));
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2]);
  });

  test.each([
    // prevIndex, prevTerm, accepted
    [0, 0, true],
    [1, 1, true],
    [2, 2, true],
    [1, 2, false],
    [2, 1, false],
    [3, 3, false],
  ])(
    'an append behind (%i, %i) passes the consistency check: %s',
    (prevIndex, prevTerm, passes) => {
      const member = new SingleMember({ log: [1, 2], term: 3 });
      const answers = member.step(append({ term: 3, prevIndex, prevTerm }));
      expect(only(answers, 'append-response')).toMatchObject([
        { index: prevIndex, reject: !passes },
      ]);
    },
  );

  test.each([
    // prev, entries' terms, log afterwards
    [2, 2, [3], [1, 2, 3]],
    [1, 1, [3, 4], [1, 3, 4]],
    [0, 0, [1], [1, 2]],
    [0, 0, [3], [3]],
  ])('an append behind (%i, %i) with %j leaves %j', (prevIndex, prevTerm, terms, log) => {
    const member = new SingleMember({ log: [1, 2] });
    const entries = entriesOf(terms, prevIndex + 1);
    member.step(append({ term: 4, prevIndex, prevTerm, entries }));
    expect(termsOf(member)).toEqual(log);
  });

  test.each([
    // Figure 7: the logs (a) to (f), brought in line with the leader's.
    [[1, 1, 1, 4, 4, 5, 5, 6, 6]],
    [[1, 1, 1, 4]],
    [[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6]],
    [[1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7]],
    [[1, 1, 1, 4, 4, 4, 4]],
    [[1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]],
  ])("figure 7: the log %j comes to equal the leader's", (terms) => {
    const leader = new SingleMember({ log: [1, 1, 1, 4, 4, 5, 5, 6, 6, 6], term: 7 });
    const follower = new SingleMember({ log: terms, term: 7, settings: { id: 2 } });
    let messages = leader.lead(3).filter(({ to }) => to === 2);
    let appends = 0;
    while (messages.length > 0) {
      appends += only(messages, 'append').length;
      const answers = messages.flatMap((message) => follower.step(message));
      messages = answers.flatMap((answer) => leader.step(answer)).filter(({ to }) => to === 2);
    }
    expect(termsOf(follower)).toEqual(termsOf(leader));
    // A conflict costs about a message per term, not one per entry.
    expect(appends).toBeLessThanOrEqual(5);
  });
});

describe('§5.4.1 election restriction', () => {
  test.each([
    // own log, candidate's last (index, term), granted
    [[1], 1, 1, true],
    [[1], 2, 1, true],
    [[1, 1], 1, 1, false],
    [[1], 1, 2, true],
    [[1, 1], 1, 2, true],
    [[2], 1, 1, false],
    [[2], 2, 1, false],
    [[1, 1], 1, 1, false],
  ])(
    'a voter with %j answers a candidate with (%i, %i): %s',
    (log, lastIndex, lastTerm, granted) => {
      for (const preVote of [true, false]) {
        const member = new SingleMember({ log, term: 3 });
        const request = voteRequest({ term: 4, lastIndex, lastTerm, preVote });
        expect(member.step(request)).toMatchObject([{ reject: !granted, preVote }]);
      }
    },
  );
});

describe('§5.4.2 committing entries of earlier terms', () => {
  test('figure 8: an entry of an earlier term is not committed by counting (B-1)', () => {
    const member = new SingleMember({ log: [1, 2], term: 3 });
    member.lead();
    member.acknowledge(2, 2);
    expect(member.raft.commit).toBe(0);
    member.acknowledge(2, 3);
    expect(member.raft.commit).toBe(3);
  });
});

describe('§5.5 follower crashes', () => {
  test('a repeated append changes nothing and is acknowledged again', () => {
    const member = new SingleMember();
    const request = append({ entries: entriesOf([1, 1]), commit: 1 });
    const first = only(member.step(request), 'append-response');
    const second = only(member.step(request), 'append-response');
    expect(first).toMatchObject([{ index: 2 }]);
    // What is committed counts as acknowledged; the rest is found by going on from there.
    expect(second).toMatchObject([{ index: 1, reject: false }]);
    expect(termsOf(member)).toEqual([1, 1]);
  });
});

describe('thesis §3.10 leadership transfer', () => {
  test('the target campaigns at once, without a pre-vote and past stickiness', () => {
    const target = new SingleMember({ log: [1] });
    target.step(append({ term: 1, prevIndex: 1, prevTerm: 1 }));
    const requests = only(target.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 }), 'vote');
    expect(requests).toMatchObject([
      { to: 2, term: 2, preVote: false, transfer: true },
      { to: 3, term: 2, preVote: false, transfer: true },
    ]);
    const voter = new SingleMember({ log: [1] });
    voter.step(append({ from: 3, term: 1, prevIndex: 1, prevTerm: 1 }));
    const sticky = voteRequest({ term: 2, lastIndex: 1, lastTerm: 1 });
    expect(voter.step(sticky)).toEqual([]);
    expect(voter.step({ ...sticky, transfer: true })).toMatchObject([{ reject: false }]);
  });
});

describe('thesis §4.3 joint consensus', () => {
  test('commits only what a majority of both configurations holds', () => {
    const configuration = {
      voters: [1, 2, 3],
      votersOutgoing: [1, 4, 5],
      learners: [],
      learnersNext: [],
      autoLeave: false,
    };
    const member = new SingleMember({ configuration });
    member.campaign();
    member.grant(2);
    expect(member.raft.role).toBe('pre-candidate');
    member.grant(4);
    expect(member.raft.role).toBe('candidate');
    member.grant(2, 4);
    expect(member.raft.role).toBe('leader');
    member.step(accepted(2, 1, 1));
    member.step(accepted(3, 1, 1));
    expect(member.raft.commit).toBe(0);
    member.step(accepted(5, 1, 1));
    expect(member.raft.commit).toBe(1);
  });
});

describe('thesis §6.4 read-only queries', () => {
  test('one round confirms all reads of a turn', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    for (const counter of [1, 2, 3]) {
      member.raft.readIndex({ member: 1, incarnation: 7, counter });
    }
    const beats = only(member.take(), 'heartbeat');
    expect(beats.map(({ to, readRound }) => [to, readRound])).toEqual([
      [2, 1],
      [3, 1],
    ]);
    member.step({ kind: 'heartbeat-response', from: 3, to: 1, term: 1, readRound: 1 });
    expect(member.readStates.map(({ context, index }) => [context.counter, index])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
  });
});

describe('thesis §10.2.1 writing to disk in parallel', () => {
  test('the leader sends before its own disk is done, and may commit without it', () => {
    const member = new SingleMember();
    member.lead();
    member.acknowledge(2, 1);
    member.acknowledge(3, 1);
    member.slowDisk = true;
    expect(only(member.propose('x'), 'append')).toHaveLength(2);
    member.acknowledge(2, 2);
    expect(member.raft.commit).toBe(1);
    member.acknowledge(3, 2);
    expect(member.raft.commit).toBe(2);
    // Committed, but not applied before this disk holds it too.
    expect(member.committed.map(({ index }) => index)).toEqual([1]);
    member.persist();
    member.process();
    expect(member.committed.map(({ index }) => index)).toEqual([1, 2]);
  });
});
