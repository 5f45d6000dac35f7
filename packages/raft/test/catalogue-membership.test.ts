import { describe, expect, test } from 'vitest';
import { configurationOf, only, SingleMember } from './single-member.ts';

/** Bugs of other implementations, by their ids in the catalogue: none may come back here. */

describe('membership', () => {
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

  test('a smaller quorum commits at once what it now suffices for', () => {
    const member = new SingleMember({ voters: [1, 2] });
    member.lead();
    expect(member.raft.commit).toBe(0);
    member.raft.applyConfiguration({ configuration: configurationOf([1]) });
    expect(member.raft.commit).toBe(1);
  });

  test('a vetoed change leaves the configuration', () => {
    const member = new SingleMember();
    expect(member.raft.applyConfiguration(undefined).voters).toEqual([1, 2, 3]);
  });
});
