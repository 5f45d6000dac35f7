import { LockstepError, type MemberId } from '@lockstep/model';
import { type Formation, formationFrom, formationOf, hex64 } from './formation.ts';
import { askPeers, type ClusterDescription } from './introduction.ts';
import { formatAddress, parseCluster } from './option-value.ts';
import type { Settings } from './settings.ts';

/** A member that joins asks so often, once a second, before it gives up. */
const ASKS_MAX = 30;

/**
 * What a fresh data directory begins with. A new cluster is formed only when no member that answers
 * knows better; one that exists is joined as what its `member add` says (design §10). Throws
 * INVALID_OPTION for flags that form no cluster, and what `joiningFrom` and `formingRefusal` say.
 */
export async function formOrJoin(
  settings: Settings,
  say: (text: string) => void,
): Promise<Formation> {
  const formation = formationOf(settings);
  const { members, self } = formation;
  const others = members.filter(({ id }) => id !== self.id).map((member) => member.peerAddress);
  if (settings['initial-cluster-state'] === 'new') {
    const refusal = formingRefusal(formation, await askPeers(others));
    if (refusal !== undefined) throw refusal;
    return formation;
  }
  for (let asked = 0; asked < ASKS_MAX; asked++) {
    const [description] = newestFirst(await askPeers(others));
    if (description !== undefined) return joiningFrom(settings, formation, description);
    if (asked === 0) say(`${self.name} joins a cluster: it waits for ${others.join(' or ')}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new LockstepError('NO_PEER_ANSWERS', others.join(', ') || "'--initial-cluster'");
}

/** Members are only added and removed, and ids only grow: the larger counts know more. */
function newestFirst(descriptions: readonly ClusterDescription[]): ClusterDescription[] {
  const knows = ({ members, removed }: ClusterDescription): number =>
    Math.max(0, ...members.map(({ id }) => id), ...removed) + removed.length;
  return [...descriptions].sort((a, b) => knows(b) - knows(a));
}

/** Why a member must not form the cluster that its flags describe: there is one already. */
export function formingRefusal(
  { clusterId, self, members }: Formation,
  descriptions: readonly ClusterDescription[],
): LockstepError | undefined {
  const cluster = hex64(clusterId);
  for (const description of descriptions) {
    if (description.cluster !== cluster) {
      const others = members.filter(({ id }) => id !== self.id).map(({ name }) => name);
      return new LockstepError('CLUSTER_EXISTS', others.join(' or '), description.cluster);
    }
    const verdict = standingRefusal(description, self.id, '');
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/**
 * Why a member may not take part any more, by what another says of it: it was removed, or its place
 * is bound to another data directory than this one, which then was lost. Undefined when it may.
 */
export function standingRefusal(
  { members, removed }: ClusterDescription,
  member: MemberId,
  dataDirectory: string,
): LockstepError | undefined {
  if (removed.includes(member)) return new LockstepError('MEMBER_REMOVED');
  const record = members.find(({ id }) => id === member);
  const bound = record?.dataDirectory ?? '';
  if (bound === '' || bound === dataDirectory) return undefined;
  return new LockstepError('MEMBER_HAS_OTHER_DIRECTORY');
}

/** The place that `member add` has made for this member, found by its peer address. */
export function joiningFrom(
  settings: Settings,
  { self }: Formation,
  { cluster, token, members }: ClusterDescription,
): Formation {
  const place = members.find(({ peerAddress }) => peerAddress === self.peerAddress);
  if (place === undefined) {
    const [name, address] = [self.name, self.peerAddress];
    throw new LockstepError('NOT_ADDED', othersOf(settings), address, name, address);
  }
  if (place.dataDirectory !== '') throw new LockstepError('MEMBER_HAS_OTHER_DIRECTORY');
  // Members that have not started yet have no name, and nothing to tell either.
  const named = members
    .map(({ id, name, peerAddress }) => ({ id, peerAddress, name: id === place.id ? '' : name }))
    .map((member) => (member.id === place.id ? { ...member, name: self.name } : member))
    .filter(({ name }) => name !== '')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = named.map(({ name, peerAddress }) => `${name}=${peerAddress}`).join(',');
  const ids = named.map(({ id }) => id);
  return joinedFormation(text, token, self.name, ids, cluster);
}

/** The formation of a member that joined, as its data directory remembers it. */
export function joinedFormation(
  text: string,
  token: string,
  name: string,
  ids: readonly MemberId[],
  cluster: string,
): Formation {
  const { self, ...known } = formationFrom(text, token, name, ids);
  if (self === undefined) {
    throw new LockstepError('INVALID_OPTION', '--name', `'${name}'`, `another member has it`);
  }
  return { ...known, self, clusterId: BigInt(`0x${cluster}`) };
}

function othersOf(settings: Settings): string {
  const listed = [...(parseCluster(settings['initial-cluster']) ?? [])];
  const others = listed.filter(([name]) => name !== settings.name);
  return others.map(([, address]) => formatAddress(address)).join(', ');
}
