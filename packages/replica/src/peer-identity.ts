import { mark } from '@lockstep/model';
import type { MemberRecord } from '@lockstep/state-machine';
import type { Handshake } from '@lockstep/transport';

/**
 * Why a peer is refused although it names a known member (design §10): its first hello bound the
 * member to one data directory. Undefined when it is welcome. For the mesh's `verify`.
 */
export function directoryRefusal(
  members: readonly MemberRecord[],
  theirs: Pick<Handshake, 'member' | 'dataDirectory'>,
): string | undefined {
  const bound = members.find((record) => record.id === theirs.member)?.dataDirectory ?? '';
  if (bound === '' || bound === theirs.dataDirectory) return undefined;
  mark('other data directory refused');
  return `member ${theirs.member} is bound to another data directory: remove it and add it again`;
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
