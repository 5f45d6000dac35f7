import { describe, expect, test } from 'vitest';
import type { Message } from '../src/index.ts';
import { heartbeat, only, SingleMember, vote } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('elections', () => {
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
