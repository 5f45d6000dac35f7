import { type MemberId, mark, NO_MEMBER } from '@lockstep/model';
import type { StateReader } from '@lockstep/state-machine';
import type { Handshake } from '@lockstep/transport';
import type { Replica } from './contract.ts';

/**
 * Why a peer is refused although its cluster fits (design §10): it was removed, or its first hello
 * bound the member to another data directory, or its directory is that of a removed member.
 * `isPeer`: the configuration has it, so that its vote may be needed although its record is gone.
 * One that is not known here is welcome when it may have been added since this state, and no other
 * leader is followed (`isLed`): it may lead itself, or need this member's vote to do so (Raft
 * reference §2.2, rule 12).
 * Undefined when nothing speaks against it. For the mesh's `verify`.
 */
export function peerRefusal(
  state: Pick<StateReader, 'members' | 'removedMembers' | 'lastMember'>,
  theirs: Pick<Handshake, 'member' | 'dataDirectory'>,
  isPeer: boolean,
  isLed: boolean,
): string | undefined {
  const { member, dataDirectory } = theirs;
  const removed = state.removedMembers();
  const tombstone = removed.find(({ id }) => id === member);
  if (tombstone !== undefined) {
    // Its vote may still be needed: that of its own disk, not of an empty one in its place.
    const known = tombstone.dataDirectory === '' || tombstone.dataDirectory === dataDirectory;
    if (isPeer && known) return undefined;
    mark('removed member refused');
    return `member ${member} was removed from the cluster: add it again with an empty directory`;
  }
  const record = state.members().find(({ id }) => id === member);
  if (!isPeer && (isLed || (record === undefined && member <= state.lastMember))) {
    mark('unknown member refused');
    return `member ${member} is not known here`;
  }
  const bound = record?.dataDirectory ?? '';
  if (bound !== '' && bound !== dataDirectory) {
    mark('other data directory refused');
    return `member ${member} is bound to another data directory: remove it and add it again`;
  }
  const former = removed.find((each) => each.dataDirectory === dataDirectory);
  if (former === undefined || dataDirectory === '') return undefined;
  return `the data directory is that of member ${former.id}, which was removed: use an empty one`;
}

/** Whether that member would only disturb: this one follows another leader, with a live quorum. */
export function isLedByAnother(
  replica: Pick<Replica, 'inContact' | 'status'>,
  member: MemberId,
): boolean {
  const { leader } = replica.status();
  return replica.inContact && leader !== NO_MEMBER && leader !== member;
}

/**
 * Why a peer's software does not fit the cluster's feature level (design §2), and what to do;
 * undefined when it does. For the mesh's `verify`.
 */
export function levelRefusal(
  featureLevel: number,
  { member, levels }: Pick<Handshake, 'member' | 'levels'>,
): string | undefined {
  const { oldest, newest } = levels;
  const place = `the cluster is at ${featureLevel}`;
  if (newest < featureLevel) {
    mark('older software refused');
    return `member ${member} knows feature level ${newest}, ${place}: upgrade it`;
  }
  if (oldest <= featureLevel) return undefined;
  return `member ${member} needs feature level ${oldest}, ${place}: upgrade the others first`;
}
