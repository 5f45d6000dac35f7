import { describe, expect, test } from 'vitest';
import {
  append,
  configurationOf,
  entriesOf,
  heartbeat,
  only,
  SingleMember,
} from './single-member.ts';

/** Members 1 to 4; the larger number is preferred. Timeouts are ten ticks, without chance. */
const settings = { priorityOf: (id: number) => id };
const voters = [1, 2, 3, 4];

describe('election priority', () => {
  test.each([
    [4, 10],
    [3, 20],
    [2, 30],
    [1, 40],
  ])('member %i of four campaigns after %i ticks, the most preferred first', (id, ticks) => {
    const member = new SingleMember({ voters, settings: { ...settings, id } });
    expect(member.tick(ticks - 1)).toEqual([]);
    expect(only(member.tick(1), 'vote')).toHaveLength(3);
  });

  test('counts voters only, and those of both halves', () => {
    const configuration = configurationOf([1, 2], { votersOutgoing: [1, 3], learners: [4] });
    const member = new SingleMember({ configuration, settings });
    expect(member.tick(29)).toEqual([]);
    expect(only(member.tick(1), 'vote')).toHaveLength(2);
  });

  test('is a matter of few ticks when the link to the leader is lost', () => {
    const member = new SingleMember({ voters, settings });
    member.step(heartbeat({ from: 2 }));
    member.raft.leaderLinkLost(2);
    expect(member.tick(6)).toEqual([]);
    expect(only(member.tick(1), 'vote')).toHaveLength(3);
  });

  test('is no reason to refuse a vote, nor a campaign that somebody asks for', () => {
    const member = new SingleMember({ voters, settings });
    expect(only(member.campaign(), 'vote')).toHaveLength(3);
    const preferred = new SingleMember({ voters, settings: { ...settings, id: 4 } });
    const request = { term: 1, preVote: true, transfer: false, lastIndex: 0, lastTerm: 0 };
    const answer = preferred.step({
      kind: 'vote',
      from: 1,
      to: 4,
      incarnation: 1,
      campaign: 1,
      ...request,
    });
    expect(answer).toMatchObject([{ kind: 'vote-response', reject: false }]);
  });
});

describe('a member that lags in applying', () => {
  const behind = () => {
    const member = new SingleMember({ settings: { applyLagMax: 2 } });
    member.slowApply = true;
    member.step(append({ entries: entriesOf([1, 1, 1]), commit: 3 }));
    return member;
  };

  test('lets all others try first, but wins in the end', () => {
    const member = behind();
    expect(member.tick(39)).toEqual([]);
    expect(only(member.tick(1), 'vote')).toHaveLength(2);
  });

  test('campaigns in time once it has caught up', () => {
    const member = behind();
    member.raft.appliedTo(1);
    expect(only(member.tick(10), 'vote')).toHaveLength(2);
  });

  test('does not take over at the request of the leader', () => {
    const member = behind();
    expect(member.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 })).toEqual([]);
    member.raft.appliedTo(1);
    expect(
      only(member.step({ kind: 'timeout-now', from: 2, to: 1, term: 1 }), 'vote'),
    ).toHaveLength(2);
  });
});
