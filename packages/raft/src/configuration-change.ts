import type { MemberId } from '@lockstep/model';
import type { Configuration } from './contract.ts';

/** `same` names also changes of learners only: who votes does not change. */
export type ChangeKind = 'same' | 'one-voter' | 'enter-joint' | 'leave-joint';

/**
 * Which of the allowed steps leads from one configuration to the next; undefined when none does.
 * After each of them any quorum of the old one and any of the new one have a voter in common
 * (thesis §4.1 for one voter, §4.3 for joint ones), on which safety rests. `from` is taken to be
 * well-formed.
 */
export function kindOfChange(from: Configuration, to: Configuration): ChangeKind | undefined {
  if (!isWellFormed(to)) return undefined;
  const outgoing = to.votersOutgoing;
  if (from.votersOutgoing.length > 0) {
    if (outgoing.length > 0) return equal(from, to) ? 'same' : undefined;
    const learners = [...from.learners, ...from.learnersNext];
    const leaves = sameSet(from.voters, to.voters) && sameSet(learners, to.learners);
    return leaves ? 'leave-joint' : undefined;
  }
  if (outgoing.length > 0) {
    // A learner that is dropped, or becomes a voter, leaves the list; others stay what they are.
    return sameSet(from.voters, outgoing) ? 'enter-joint' : undefined;
  }
  const changed = missing(from.voters, to.voters) + missing(to.voters, from.voters);
  if (changed === 0) return 'same';
  return changed === 1 ? 'one-voter' : undefined;
}

/** Somebody votes, nobody has a role twice, and the parts of a joint configuration fit together. */
export function isWellFormed(configuration: Configuration): boolean {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  for (const ids of [voters, votersOutgoing, learners, learnersNext]) {
    if (new Set(ids).size !== ids.length) return false;
  }
  if (voters.length === 0) return false;
  if (learners.some((id) => voters.includes(id) || votersOutgoing.includes(id))) return false;
  if (votersOutgoing.length === 0) return learnersNext.length === 0 && !autoLeave;
  return learnersNext.every((id) => votersOutgoing.includes(id) && !voters.includes(id));
}

/** The parts with their members, for messages. */
export function describeConfiguration(configuration: Configuration): string {
  const { voters, votersOutgoing, learners, learnersNext } = configuration;
  const parts = [`voters ${voters.join(' ')}`];
  if (votersOutgoing.length > 0) parts.push(`outgoing ${votersOutgoing.join(' ')}`);
  if (learners.length > 0) parts.push(`learners ${learners.join(' ')}`);
  if (learnersNext.length > 0) parts.push(`next learners ${learnersNext.join(' ')}`);
  return parts.join(', ');
}

function equal(a: Configuration, b: Configuration): boolean {
  return (
    sameSet(a.voters, b.voters) &&
    sameSet(a.votersOutgoing, b.votersOutgoing) &&
    sameSet(a.learners, b.learners) &&
    sameSet(a.learnersNext, b.learnersNext)
  );
}

/** How many of `ids` are not in `others`. */
function missing(ids: readonly MemberId[], others: readonly MemberId[]): number {
  let count = 0;
  for (const id of ids) if (!others.includes(id)) count++;
  return count;
}

function sameSet(a: readonly MemberId[], b: readonly MemberId[]): boolean {
  return a.length === b.length && missing(a, b) === 0;
}
