import { describe, expect, test } from 'vitest';
import { type Configuration, kindOfChange } from '../src/index.ts';
import { configurationOf, SingleMember } from './single-member.ts';

const joint = (voters: number[], votersOutgoing: number[], rest: Partial<Configuration> = {}) =>
  configurationOf(voters, { votersOutgoing, ...rest });

describe('a step from one configuration to the next', () => {
  test.each([
    ['same', configurationOf([1, 2]), configurationOf([2, 1])],
    ['same', configurationOf([1], { learners: [2] }), configurationOf([1], { learners: [3, 4] })],
    ['one-voter', configurationOf([1, 2, 3]), configurationOf([1, 2, 3, 4])],
    ['one-voter', configurationOf([1, 2, 3]), configurationOf([1, 3], { learners: [2] })],
    ['one-voter', configurationOf([1], { learners: [2] }), configurationOf([1, 2])],
    ['enter-joint', configurationOf([1, 2, 3]), joint([1, 4, 5], [1, 2, 3])],
    ['enter-joint', configurationOf([1, 2]), joint([1, 2], [1, 2], { autoLeave: true })],
    ['enter-joint', configurationOf([1, 2]), joint([1, 3], [1, 2], { learnersNext: [2] })],
    ['leave-joint', joint([1, 4], [1, 2]), configurationOf([1, 4])],
    [
      'leave-joint',
      joint([1, 4], [1, 2], { learners: [5], learnersNext: [2] }),
      configurationOf([1, 4], { learners: [2, 5] }),
    ],
    ['same', joint([1, 4], [1, 2]), joint([1, 4], [1, 2])],
  ])('%s', (kind, from, to) => {
    expect(kindOfChange(from, to)).toBe(kind);
  });

  test.each([
    ['two voters at once', configurationOf([1, 2, 3]), configurationOf([1, 4])],
    ['a voter for another', configurationOf([1, 2]), configurationOf([1, 3])],
    ['nobody votes', configurationOf([1]), configurationOf([])],
    ['a voter listed twice', configurationOf([1]), configurationOf([1, 1])],
    ['a voter that learns', configurationOf([1]), configurationOf([1], { learners: [1] })],
    ['outgoing voters are others', configurationOf([1, 2, 3]), joint([1, 4], [1, 2])],
    ['from one joint into another', joint([1, 4], [1, 2]), joint([1, 5], [1, 4])],
    ['leaving to the outgoing half', joint([1, 4], [1, 2]), configurationOf([1, 2])],
    ['leaving loses the next learner', joint([1], [1, 2], { learnersNext: [2] }), joint([1], [])],
    ['next learners without joint', configurationOf([1]), joint([1], [], { learnersNext: [2] })],
    [
      'next learner goes on voting',
      configurationOf([1, 2]),
      joint([2], [1, 2], { learnersNext: [2] }),
    ],
    ['auto-leave without joint', configurationOf([1, 2]), joint([1], [], { autoLeave: true })],
  ])('none: %s', (_, from, to) => {
    expect(kindOfChange(from, to)).toBeUndefined();
  });

  test('any two quorums of neighbours have a voter in common, for all of four members', () => {
    const all = everyConfiguration([1, 2, 3, 4]).map((part) => ({ part, quorums: quorums(part) }));
    let steps = 0;
    for (const from of all) {
      for (const to of all) {
        if (kindOfChange(from.part, to.part) === undefined) continue;
        steps++;
        const apart = from.quorums.some((one) => to.quorums.some((other) => (one & other) === 0));
        expect(apart, JSON.stringify([from.part, to.part])).toBe(false);
      }
    }
    expect(steps).toBeGreaterThan(500);
  });

  test('anything else stops the member that applies it, with both configurations', () => {
    const member = new SingleMember();
    const apply = () => member.raft.applyConfiguration({ configuration: configurationOf([1, 4]) });
    expect(apply).toThrow('no step from voters 1 2 3 to voters 1 4');
    expect(member.raft.status().configuration.voters).toEqual([1, 2, 3]);
  });
});

function subsets(ids: readonly number[]): number[][] {
  const all: number[][] = [];
  for (let bits = 0; bits < 1 << ids.length; bits++)
    all.push(ids.filter((_, at) => bits & (1 << at)));
  return all;
}

function everyConfiguration(ids: readonly number[]): Configuration[] {
  const all: Configuration[] = [];
  for (const voters of subsets(ids)) {
    if (voters.length === 0) continue;
    for (const outgoing of subsets(ids)) all.push(joint(voters, outgoing));
  }
  return all;
}

/** All sets of voters, as bits, that are a majority of each half; by the definition. */
function quorums({ voters, votersOutgoing }: Configuration): number[] {
  const found: number[] = [];
  for (let bits = 0; bits < 32; bits++) {
    const has = (id: number) => (bits >> id) & 1;
    const half = (ids: readonly number[]) =>
      ids.length === 0 || ids.filter(has).length * 2 > ids.length;
    if (half(voters) && half(votersOutgoing)) found.push(bits);
  }
  return found;
}
