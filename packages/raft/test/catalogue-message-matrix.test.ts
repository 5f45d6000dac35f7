import { describe, expect, test } from 'vitest';
import type { Message } from '../src/index.ts';
import { accepted, append, entriesOf, heartbeat, SingleMember, vote } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('E-12: every message in every role', () => {
  const context = { member: 2, incarnation: 1, counter: 1 };
  const messages = (term: number): Message[] => [
    append({ term, prevIndex: 1, prevTerm: 1 }),
    append({ term, prevIndex: 9, prevTerm: 9, entries: entriesOf([9], 10) }),
    // Gaps and entries of a later term than the message's: no correct member sends them.
    append({ term, prevIndex: 1, prevTerm: 1, entries: entriesOf([1], 3) }),
    append({ term, prevIndex: 1, prevTerm: 1, entries: entriesOf([term + 1], 2) }),
    accepted(2, term, 1),
    accepted(2, term, 99),
    { ...accepted(2, term, 1), reject: true, hintIndex: 50, hintTerm: 50 },
    heartbeat({ term }),
    heartbeat({ term, commit: 99 }),
    { kind: 'heartbeat-response', from: 2, to: 1, term, readRound: 99 },
    vote({ term, preVote: true }),
    vote({ term, transfer: true }),
    vote({ term, lastIndex: 0, lastTerm: 0 }),
    { ...vote({ term }), kind: 'vote-response', reject: true, conditional: false },
    {
      ...vote({ term, preVote: true, incarnation: 7 }),
      kind: 'vote-response',
      reject: false,
      conditional: true,
    },
    { kind: 'read-index', from: 2, to: 1, term, context },
    { kind: 'read-index-response', from: 2, to: 1, term, context, index: 1 },
    { kind: 'transfer', from: 2, to: 1, term, target: 3 },
    { kind: 'timeout-now', from: 2, to: 1, term },
  ];
  const roles = {
    follower: () => new SingleMember({ log: [1] }),
    'pre-candidate': () => {
      const member = new SingleMember({ log: [1] });
      member.campaign();
      return member;
    },
    candidate: () => {
      const member = new SingleMember({ log: [1] });
      member.campaign();
      member.grant(2);
      return member;
    },
    leader: () => {
      const member = new SingleMember({ log: [1] });
      member.lead();
      return member;
    },
  };

  test.each(Object.keys(roles) as (keyof typeof roles)[])('a %s takes them all', (role) => {
    for (const ahead of [-1, 0, 1, 3]) {
      for (const from of [2, 3, 99]) {
        const { term } = roles[role]().raft;
        for (const message of messages(term + ahead)) {
          const member = roles[role]();
          expect(member.raft.role).toBe(role);
          const fromLeader = message.kind === 'append' || message.kind === 'heartbeat';
          // Two leaders of one term: a broken invariant, checked below.
          if (role === 'leader' && ahead === 0 && fromLeader) continue;
          member.step({ ...message, from });
          member.tick(1);
          expect(member.raft.term).toBeGreaterThanOrEqual(term);
        }
      }
    }
  });

  test('a second leader of one term stops the member', () => {
    const leader = roles.leader();
    const { term } = leader.raft;
    expect(() => leader.step(append({ term, from: 3 }))).toThrow('two leaders in term');
    const follower = new SingleMember();
    follower.step(append({ from: 2 }));
    expect(() => follower.step(append({ from: 3 }))).toThrow('two leaders in term');
  });

  test('responses of strangers count for nothing, requests are served', () => {
    const member = new SingleMember();
    member.campaign();
    const { incarnation, campaign } = { incarnation: 7, campaign: 1 };
    const answer = {
      term: 9,
      preVote: false,
      reject: true,
      conditional: false,
      incarnation,
      campaign,
    };
    member.step({ kind: 'vote-response', from: 99, to: 1, ...answer });
    expect(member.raft).toMatchObject({ role: 'pre-candidate', term: 0 });
    member.step({ ...accepted(2, 9, 1), from: 99 });
    member.step({ kind: 'heartbeat-response', from: 99, to: 1, term: 9, readRound: 0 });
    expect(member.raft.term).toBe(0);
    expect(member.step(vote({ term: 3, from: 99 }))).toMatchObject([{ to: 99, reject: false }]);
  });
});
