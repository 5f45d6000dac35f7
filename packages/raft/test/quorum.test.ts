import { describe, expect, test } from 'vitest';
import {
  majorityIndex,
  majorityVote,
  quorumIndex,
  quorumVote,
  unanimousVote,
} from '../src/quorum.ts';

/** By definition: the greatest value that more than half of the values reach. */
function bruteForceIndex(values: readonly number[]): number {
  if (values.length === 0) return Number.POSITIVE_INFINITY;
  let best = 0;
  for (const value of values) {
    const reached = values.filter((other) => other >= value).length;
    if (reached > values.length / 2) best = Math.max(best, value);
  }
  return best;
}

/** By definition: won if every completion wins, lost if none does, else pending. */
function bruteForceVote(votes: readonly (boolean | undefined)[]): 'won' | 'lost' | 'pending' {
  const granted = votes.filter((vote) => vote === true).length;
  const missing = votes.filter((vote) => vote === undefined).length;
  const wins = (yes: number) => votes.length === 0 || yes > votes.length / 2;
  if (wins(granted)) return 'won';
  return wins(granted + missing) ? 'pending' : 'lost';
}

/** Every list of `length` out of `choices`. */
function* lists<T>(choices: readonly T[], length: number): Generator<T[]> {
  const total = choices.length ** length;
  for (let code = 0; code < total; code++) {
    const list: T[] = [];
    for (let rest = code, at = 0; at < length; at++) {
      list.push(choices[rest % choices.length]!);
      rest = Math.floor(rest / choices.length);
    }
    yield list;
  }
}

const ids = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe('a majority', () => {
  test('of nobody agrees to everything, so that the joint rule is a minimum', () => {
    expect(majorityIndex([], () => 0)).toBe(Number.POSITIVE_INFINITY);
    expect(majorityVote([], () => undefined)).toBe('won');
  });

  test.each([1, 2, 3, 4, 5, 6, 7])('of %i voters commits what more than half hold', (count) => {
    const voters = ids(count);
    for (const matches of lists([0, 1, 2, 5], count)) {
      const index = majorityIndex(voters, (id) => matches[id - 1]!);
      if (index !== bruteForceIndex(matches)) expect(index).toBe(bruteForceIndex(matches));
    }
  });

  test.each([1, 2, 3, 4, 5, 6, 7])('of %i voters decides a vote as soon as it can', (count) => {
    const voters = ids(count);
    for (const votes of lists([true, false, undefined], count)) {
      const result = majorityVote(voters, (id) => votes[id - 1]);
      if (result !== bruteForceVote(votes)) expect(result, `${votes}`).toBe(bruteForceVote(votes));
    }
  });

  test('E-4: of four voters is three, not two', () => {
    expect(majorityIndex([1, 2, 3, 4], (id) => (id <= 2 ? 9 : 0))).toBe(0);
    expect(majorityIndex([1, 2, 3, 4], (id) => (id <= 3 ? 9 : 0))).toBe(9);
  });
});

describe('a unanimous vote', () => {
  test('is won by every voter of both halves, and lost by one refusal', () => {
    const sets = { voters: [1, 2], votersOutgoing: [2, 3] };
    for (const votes of lists([true, false, undefined], 3)) {
      const lost = votes.includes(false);
      const result = lost ? 'lost' : votes.includes(undefined) ? 'pending' : 'won';
      expect(unanimousVote(sets, (id) => votes[id - 1])).toBe(result);
    }
  });
});

describe('a joint quorum', () => {
  /** Every pair of overlapping and disjoint halves over six members, up to four in each. */
  function* halves(): Generator<{ voters: number[]; votersOutgoing: number[] }> {
    const members = ids(6);
    for (let incoming = 1; incoming < 64; incoming++) {
      for (let outgoing = 0; outgoing < 64; outgoing++) {
        const voters = members.filter((id) => incoming & (1 << (id - 1)));
        const votersOutgoing = members.filter((id) => outgoing & (1 << (id - 1)));
        if (voters.length > 4 || votersOutgoing.length > 4) continue;
        yield { voters, votersOutgoing };
      }
    }
  }

  test('commits what a majority of each half holds', () => {
    for (const sets of halves()) {
      for (const matches of lists([0, 3], 6)) {
        const index = quorumIndex(sets, (id) => matches[id - 1]!);
        const expected = Math.min(
          bruteForceIndex(sets.voters.map((id) => matches[id - 1]!)),
          bruteForceIndex(sets.votersOutgoing.map((id) => matches[id - 1]!)),
        );
        if (index !== expected) expect(index, JSON.stringify({ sets, matches })).toBe(expected);
      }
    }
  });

  test('elects whom both halves elect, and gives up when either is lost', () => {
    for (const sets of halves()) {
      if (sets.voters.length > 3 || sets.votersOutgoing.length > 3) continue;
      for (const votes of lists([true, false, undefined], 6)) {
        const result = quorumVote(sets, (id) => votes[id - 1]);
        const both = [sets.voters, sets.votersOutgoing].map((half) =>
          bruteForceVote(half.map((id) => votes[id - 1])),
        );
        let expected = 'pending';
        if (both.includes('lost')) expected = 'lost';
        else if (both.every((one) => one === 'won')) expected = 'won';
        if (result !== expected) expect(result, JSON.stringify({ sets, votes })).toBe(expected);
      }
    }
  });
});
