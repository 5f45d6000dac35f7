import type { MemberId } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { MemberRecord } from '@lockstep/state-machine';

/**
 * The next step from a configuration to the one that the records want; undefined when there is
 * none, or none yet. Whoever is new begins as learner and becomes a voter when it `isReady`
 * (thesis §4.2.1), whatever its record says. One voter more is a change of its own; several at
 * once, and every voter that goes, is a joint configuration (§4.3) that ends by the step after it,
 * whoever leads then (M-2). A voter that goes is a learner first and leaves when that is applied:
 * as long as somebody may need its vote it is there (M-4). The last voter stays. While the feature
 * level forbids joint configurations (`mayBeJoint`) voters come and go one at a time.
 */
export function nextConfiguration(
  configuration: Configuration,
  records: readonly MemberRecord[],
  isReady: (id: MemberId) => boolean,
  mayBeJoint = true,
): Configuration | undefined {
  const { voters, votersOutgoing, learners } = configuration;
  if (votersOutgoing.length > 0) return leaveJoint(configuration);
  if (records.length === 0) return undefined;
  const wanted = new Map(
    records.map(({ id, learner }) => [id, learner ? 'learner' : 'voter'] as const),
  );
  const newcomers = [...wanted.keys()].filter((id) => !isMember(configuration, id));
  if (newcomers.length > 0) {
    return { ...configuration, learners: sorted([...learners, ...newcomers]) };
  }
  const promoted = learners.filter((id) => wanted.get(id) === 'voter' && isReady(id));
  const leaving = voters.filter((id) => wanted.get(id) !== 'voter');
  const staying = sorted([...without(voters, leaving), ...promoted]);
  if (promoted.length + leaving.length > 0 && staying.length > 0) {
    const rest = without(learners, promoted);
    if (promoted.length === 1 && leaving.length === 0) {
      return { ...configuration, voters: staying, learners: rest };
    }
    if (!mayBeJoint) return oneVoter(configuration, promoted[0], leaving);
    return {
      voters: staying,
      votersOutgoing: voters,
      learners: rest,
      learnersNext: leaving,
      autoLeave: true,
    };
  }
  const gone = learners.filter((id) => !wanted.has(id));
  return gone.length === 0 ? undefined : { ...configuration, learners: without(learners, gone) };
}

function leaveJoint({ voters, learners, learnersNext }: Configuration): Configuration {
  return {
    voters,
    votersOutgoing: [],
    learners: sorted([...learners, ...learnersNext]),
    learnersNext: [],
    autoLeave: false,
  };
}

/**
 * The same one voter at a time: members of the first release would not leave a joint configuration
 * when one of them comes to lead. Whoever comes does so before another goes, and whoever goes is a
 * learner first here too, else it may be gone while somebody still needs its vote (M-4).
 */
function oneVoter(
  configuration: Configuration,
  promoted: MemberId | undefined,
  [leaving]: readonly MemberId[],
): Configuration {
  const { voters, learners } = configuration;
  if (promoted !== undefined) {
    const more = sorted([...voters, promoted]);
    return { ...configuration, voters: more, learners: without(learners, [promoted]) };
  }
  const gone = leaving === undefined ? [] : [leaving];
  return {
    ...configuration,
    voters: without(voters, gone),
    learners: sorted([...learners, ...gone]),
  };
}

/** What the records want, where nothing stands in the way. */
export function wantedConfiguration(records: readonly MemberRecord[]): Configuration {
  const ids = (learners: boolean): MemberId[] =>
    records.filter(({ learner }) => learner === learners).map(({ id }) => id);
  const [voters, learners] = [ids(false), ids(true)];
  return { voters, votersOutgoing: [], learners, learnersNext: [], autoLeave: false };
}

/** In any role; while it is, others may need it. */
export function isMember(configuration: Configuration, id: MemberId): boolean {
  const { voters, votersOutgoing, learners } = configuration;
  return voters.includes(id) || votersOutgoing.includes(id) || learners.includes(id);
}

/** Nobody else votes, so nobody else is sure to have the state. */
export function isOnlyVoter({ voters, votersOutgoing }: Configuration, id: MemberId): boolean {
  return [...voters, ...votersOutgoing].every((voter) => voter === id);
}

/** Votes in either half. */
export function isVoter({ voters, votersOutgoing }: Configuration, id: MemberId): boolean {
  return voters.includes(id) || votersOutgoing.includes(id);
}

const sorted = (ids: readonly MemberId[]): MemberId[] => [...ids].sort((a, b) => a - b);
const without = (ids: readonly MemberId[], gone: readonly MemberId[]): MemberId[] =>
  ids.filter((id) => !gone.includes(id));
