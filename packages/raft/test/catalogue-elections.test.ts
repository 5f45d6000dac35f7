import { describe, expect, test } from 'vitest';
import { EntryType, type Message, type VoteResponse } from '../src/index.ts';
import {
  append,
  entriesOf,
  heartbeat,
  kinds,
  NO_DATA,
  only,
  SingleMember,
  vote,
} from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('elections', () => {
  test('E-1: stepping down within a term keeps the vote', () => {
    const member = new SingleMember({ term: 4 });
    member.step(vote({ term: 5, from: 2 }));
    member.step(append({ term: 5, from: 3 }));
    expect(member.raft.status()).toMatchObject({ term: 5, vote: 2 });
    expect(member.step(vote({ term: 5, from: 3 }))).toMatchObject([{ reject: true }]);
  });

  test('E-1: the vote survives a restart', () => {
    const member = new SingleMember({ term: 5, vote: 2 });
    expect(member.step(vote({ term: 5, from: 3 }))).toMatchObject([{ reject: true }]);
  });

  test.each(['follower', 'pre-candidate', 'candidate'])(
    'E-5, E-6: a %s answers a pre-vote without changing term or vote',
    (role) => {
      const member = new SingleMember({ log: [1], term: 1 });
      if (role !== 'follower') member.campaign();
      if (role === 'candidate') member.grant(2);
      const before = member.raft.status();
      expect(before.role).toBe(role);
      const request = vote({ from: 3, term: before.term + 1, preVote: true });
      expect(member.step(request)).toMatchObject([{ reject: false, term: before.term + 1 }]);
      expect(member.raft.status()).toEqual(before);
    },
  );

  test('E-7: a member that turns pre-candidate forgets leader and former votes', () => {
    const member = new SingleMember({ log: [1] });
    member.step(heartbeat({}));
    expect(member.step(vote({ term: 2, preVote: true }))).toEqual([]);
    member.tick(10);
    expect(member.raft).toMatchObject({ role: 'pre-candidate', leader: 0 });
    expect(member.step(vote({ term: 2, preVote: true, from: 3 }))).toMatchObject([
      { reject: false },
    ]);
  });

  test('E-7: answers to an earlier round or an earlier life are dropped', () => {
    const member = new SingleMember();
    const [first] = only(member.campaign(), 'vote');
    member.campaign();
    const answer = (rest: Partial<VoteResponse>): VoteResponse => ({
      kind: 'vote-response',
      from: 2,
      to: 1,
      term: 1,
      preVote: true,
      reject: false,
      conditional: false,
      incarnation: 7,
      campaign: 2,
      ...rest,
    });
    member.step(answer({ campaign: first!.campaign }));
    member.step(answer({ incarnation: 6 }));
    expect(member.raft.role).toBe('pre-candidate');
    member.step(answer({}));
    expect(member.raft.role).toBe('candidate');
  });

  test('E-9: a refused pre-vote brings the term forward, without a vote', () => {
    const member = new SingleMember({ log: [1, 1, 1] });
    const [request] = only(member.campaign(), 'vote');
    const { incarnation, campaign } = request!;
    const answer = {
      from: 2,
      to: 1,
      term: 6,
      preVote: true,
      reject: true,
      conditional: false,
      incarnation,
      campaign,
    };
    member.step({ kind: 'vote-response', ...answer });
    expect(member.raft.status()).toMatchObject({ role: 'follower', term: 6, vote: 0 });
  });

  test('rule 7: requests for votes wait until term, vote and all entries are durable', () => {
    const member = new SingleMember({ log: [1] });
    member.slowDisk = true;
    member.step(append({ prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 2) }));
    member.raft.leaderLinkLost(1);
    expect(member.tick(1)).toEqual([]);
    expect(member.raft.role).toBe('pre-candidate');
    expect(kinds(member.persist())).toEqual(['append-response']);
    expect(kinds(member.persist())).toEqual(['vote', 'vote']);
    member.take();
    // A pre-vote needs no disk; the real one does.
    member.slowDisk = true;
    const sure = { reject: false, conditional: false };
    const answer = { term: 2, preVote: true, ...sure, incarnation: 7, campaign: 1 };
    member.raft.step({ kind: 'vote-response', from: 2, to: 1, ...answer });
    expect(member.take()).toEqual([]);
    expect(kinds(member.persist())).toEqual(['vote-response', 'vote', 'vote']);
  });

  test('no campaign with a committed configuration that is not applied', () => {
    const member = new SingleMember();
    member.slowApply = true;
    const change = { index: 1, term: 1, type: EntryType.Configuration, data: NO_DATA };
    member.step(append({ entries: [change], commit: 1 }));
    expect(member.tick(30)).toEqual([]);
    member.raft.applyConfiguration(undefined);
    member.raft.appliedTo(1);
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });

  test('no campaign of a member that must not', () => {
    let may = false;
    const member = new SingleMember({ settings: { mayCampaign: () => may } });
    expect(member.tick(30)).toEqual([]);
    may = true;
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });

  test('a damaged member grants on condition, pre-vote and vote, and refuses who holds less', () => {
    let whole = false;
    const member = new SingleMember({ log: [1], settings: { mayVote: () => whole } });
    const granted = { reject: false, conditional: true };
    expect(member.step(vote({ term: 2, preVote: true }))).toMatchObject([granted]);
    expect(member.step(vote({ term: 2 }))).toMatchObject([granted]);
    const less = { lastIndex: 0, lastTerm: 0 };
    expect(member.step(vote({ term: 3, ...less }))).toMatchObject([
      { reject: true, conditional: false },
    ]);
    whole = true;
    expect(member.step(vote({ term: 4 }))).toMatchObject([{ reject: false, conditional: false }]);
  });

  /** Answers a candidate's newest requests: `+` grants, `?` grants on condition, `-` refuses. */
  function answer(member: SingleMember, requests: readonly Message[], votes: string): Message[] {
    const said: Message[] = [];
    for (const [at, request] of only(requests, 'vote').entries()) {
      const sign = votes[at];
      if (sign === undefined) continue;
      const { to: from, preVote, incarnation, campaign } = request;
      const term = sign === '-' ? request.term - 1 : request.term;
      const told = { reject: sign === '-', conditional: sign === '?' };
      const response = { from, to: 1, term, preVote, ...told, incarnation, campaign };
      said.push(...member.step({ kind: 'vote-response', ...response }));
    }
    return said;
  }

  const five = { voters: [1, 2, 3, 4, 5] };

  test.each([
    ['++', 'candidate'],
    ['+?', 'pre-candidate'],
    ['+??', 'pre-candidate'],
    ['+??-', 'follower'],
    ['+?-+', 'candidate'],
    ['????', 'candidate'],
    ['?--', 'follower'],
  ])('a whole candidate among five that hears %s is %s', (votes, role) => {
    const member = new SingleMember({ log: [1], ...five });
    answer(member, member.campaign(), votes);
    expect(member.raft.role).toBe(role);
  });

  test.each([
    ['+++', 'pre-candidate'],
    ['+++-', 'follower'],
    ['-', 'follower'],
    ['++??', 'candidate'],
  ])('a damaged candidate among five that hears %s is %s', (votes, role) => {
    const member = new SingleMember({ log: [1], ...five, settings: { mayVote: () => false } });
    const requests = answer(member, member.campaign(), votes);
    expect(member.raft.role).toBe(role);
    if (role !== 'candidate') return;
    answer(member, requests, '+++');
    expect(member.raft.role).toBe('candidate');
    answer(member, only(requests, 'vote').slice(3), '?');
    expect(member.raft.role).toBe('leader');
  });

  test('a damaged member does not take over at the request of the leader', () => {
    const member = new SingleMember({ log: [1], settings: { mayVote: () => false } });
    member.step(heartbeat({}));
    expect(member.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 })).toEqual([]);
    expect(member.raft.role).toBe('follower');
  });

  test('a log whose last entry must come from disk does not campaign yet', () => {
    const member = new SingleMember({ log: [1] });
    member.log.pending = true;
    expect(member.tick(10)).toEqual([]);
    member.log.pending = false;
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });
});
