import type { Index, MemberId } from '@lockstep/model';

/** The voters of a configuration; both halves must agree while `votersOutgoing` is not empty. */
export interface VoterSets {
  readonly voters: readonly MemberId[];
  readonly votersOutgoing: readonly MemberId[];
}

export type VoteResult = 'won' | 'lost' | 'pending';

/** Sorted in place on each call; the core is single-threaded, so one buffer serves all. */
let scratch = new Float64Array(16);

/**
 * The largest index that a majority of `voters` has acknowledged. An empty majority agrees to
 * everything (Infinity), which makes the joint rule a plain minimum.
 */
export function majorityIndex(
  voters: readonly MemberId[],
  acknowledged: (id: MemberId) => Index,
): Index {
  const count = voters.length;
  if (count === 0) return Number.POSITIVE_INFINITY;
  if (count > scratch.length) scratch = new Float64Array(count * 2);
  for (let filled = 0; filled < count; filled++) {
    const value = acknowledged(voters[filled]!);
    let at = filled;
    for (; at > 0 && scratch[at - 1]! > value; at--) scratch[at] = scratch[at - 1]!;
    scratch[at] = value;
  }
  // Ascending, so the majority's lowest member stands `floor(count / 2) + 1` from the end.
  return scratch[count - (Math.floor(count / 2) + 1)]!;
}

/** Joint consensus: agreement needs a majority of each half (thesis §4.3). */
export function quorumIndex(sets: VoterSets, acknowledged: (id: MemberId) => Index): Index {
  const incoming = majorityIndex(sets.voters, acknowledged);
  if (sets.votersOutgoing.length === 0) return incoming;
  return Math.min(incoming, majorityIndex(sets.votersOutgoing, acknowledged));
}

/** Outcome of an election in one half; `undefined` is a vote not yet received. */
export function majorityVote(
  voters: readonly MemberId[],
  voteOf: (id: MemberId) => boolean | undefined,
): VoteResult {
  if (voters.length === 0) return 'won';
  let granted = 0;
  let missing = 0;
  for (const id of voters) {
    const vote = voteOf(id);
    if (vote === undefined) missing++;
    else if (vote) granted++;
  }
  const needed = Math.floor(voters.length / 2) + 1;
  if (granted >= needed) return 'won';
  return granted + missing >= needed ? 'pending' : 'lost';
}

/** Joint consensus: lost when either half is lost, won when both are won (thesis §4.3). */
export function quorumVote(
  sets: VoterSets,
  voteOf: (id: MemberId) => boolean | undefined,
): VoteResult {
  const incoming = majorityVote(sets.voters, voteOf);
  const outgoing = majorityVote(sets.votersOutgoing, voteOf);
  if (incoming === 'lost' || outgoing === 'lost') return 'lost';
  return incoming === 'won' && outgoing === 'won' ? 'won' : 'pending';
}

/** Won when every voter of both halves has granted, lost when one has refused. */
export function unanimousVote(
  sets: VoterSets,
  voteOf: (id: MemberId) => boolean | undefined,
): VoteResult {
  let result: VoteResult = 'won';
  for (const voters of [sets.voters, sets.votersOutgoing]) {
    for (const id of voters) {
      const vote = voteOf(id);
      if (vote === false) return 'lost';
      if (vote === undefined) result = 'pending';
    }
  }
  return result;
}
