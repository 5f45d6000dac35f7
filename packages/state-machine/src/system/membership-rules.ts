import type { MemberId } from '@lockstep/model';
import type { MemberRecord } from '../contract.ts';
import type { UpdateMember } from './membership.ts';

/** Learners there may be at once: each costs the leader a whole log (etcd's default as well). */
export const LEARNERS_MAX = 1;

/** Why a change of membership is refused; nothing has changed then. */
export type MembershipRefusal =
  | 'unknown-member'
  | 'no-learner'
  | 'address-taken'
  | 'id-taken'
  | 'too-many-learners'
  | 'too-few-started';

/** It has said hello at least once. */
export const hasStarted = (record: MemberRecord): boolean => record.incarnation > 0;

const votersOf = (records: readonly MemberRecord[]): MemberRecord[] =>
  records.filter((record) => !record.learner);

function enoughStarted(voters: readonly MemberRecord[]): boolean {
  const started = voters.filter(hasStarted).length;
  return started >= Math.floor(voters.length / 2) + 1;
}

/**
 * What is checked before a member is added (etcd's strict reconfiguration check): a voter that has
 * not started yet must not cost the majority. The second member of a cluster of one is let in.
 */
export function addRefusal(
  records: readonly MemberRecord[],
  added: Pick<MemberRecord, 'etcdId' | 'peerAddress' | 'learner'>,
): MembershipRefusal | undefined {
  if (records.some(({ etcdId }) => etcdId === added.etcdId)) return 'id-taken';
  if (isTaken(records, added.peerAddress, 0)) return 'address-taken';
  const voters = votersOf(records);
  if (added.learner) {
    return records.length - voters.length >= LEARNERS_MAX ? 'too-many-learners' : undefined;
  }
  const started = voters.filter(hasStarted).length;
  if (voters.length === 1 && started === 1) return undefined;
  return started >= Math.floor((voters.length + 1) / 2) + 1 ? undefined : 'too-few-started';
}

/** A learner becomes a voter: enough of the voters there are then must have started. */
export function promoteRefusal(
  records: readonly MemberRecord[],
  member: MemberId,
): MembershipRefusal | undefined {
  const promoted = records.find(({ id }) => id === member);
  if (promoted === undefined) return 'unknown-member';
  if (!promoted.learner) return 'no-learner';
  return enoughStarted([...votersOf(records), promoted]) ? undefined : 'too-few-started';
}

/** Enough of those that stay must have started; the last voter is never removed. */
export function removeRefusal(
  records: readonly MemberRecord[],
  member: MemberId,
): MembershipRefusal | undefined {
  const removed = records.find(({ id }) => id === member);
  if (removed === undefined) return 'unknown-member';
  if (removed.learner) return undefined;
  const staying = votersOf(records).filter(({ id }) => id !== member);
  return enoughStarted(staying) ? undefined : 'too-few-started';
}

/** A member moves to another address, or is a learner from now on, or none any more. */
export function updateRefusal(
  records: readonly MemberRecord[],
  { member, peerAddress, learner }: UpdateMember,
): MembershipRefusal | undefined {
  if (!records.some(({ id }) => id === member)) return 'unknown-member';
  if (peerAddress !== undefined && isTaken(records, peerAddress, member)) return 'address-taken';
  if (learner === undefined) return undefined;
  return learner ? removeRefusal(records, member) : promoteRefusal(records, member);
}

function isTaken(records: readonly MemberRecord[], address: string, by: MemberId): boolean {
  return records.some(({ id, peerAddress }) => peerAddress === address && id !== by);
}
