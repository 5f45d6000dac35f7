import { createHash } from 'node:crypto';
import { LockstepError, type MemberId } from '@lockstep/model';
import { formatAddress, parseAddress, parseCluster } from './option-value.ts';
import type { Settings } from './settings.ts';

/** A member of a new cluster, the same on every member that forms it; or of the cluster joined. */
export interface FoundingMember {
  readonly id: MemberId;
  readonly name: string;
  readonly etcdId: bigint;
  readonly peerAddress: string;
}

export interface Formation {
  readonly clusterId: bigint;
  /** In ascending order of name, which gives the ids 1, 2, 3 … */
  readonly members: readonly FoundingMember[];
  readonly self: FoundingMember;
  /** Members as `name=host:port`, in order of id, separated by commas. */
  readonly text: string;
  readonly token: string;
  /** Joined a cluster that others have formed: their ids and its own, in the order of the text. */
  readonly ids?: readonly MemberId[];
}

/** How the token of a cluster that `lockstep recover` made begins. */
export const RECOVERED_TOKEN = 'recovered-';

/** First 64 bits of a digest; never 0, which clients take for "none". */
function hash64(...parts: readonly string[]): bigint {
  const digest = createHash('sha256').update(parts.join('\n')).digest();
  return digest.readBigUInt64BE(0) || 1n;
}

/**
 * What `--initial-cluster` and the token mean (design §10). Without it the member is alone.
 * Throws INVALID_OPTION when this member's name is not in it, or an address is no place at which
 * others could reach a member.
 */
export function formationOf(settings: Settings): Formation {
  const { name } = settings;
  const text = settings['initial-cluster'] || `${name}=${alonePeerAddress(settings)}`;
  const formation = formationFrom(text, settings['initial-cluster-token'], name);
  const { members, self } = formation;
  if (self === undefined) {
    const names = members.map((member) => member.name).join(', ');
    throw new LockstepError('INVALID_OPTION', '--name', `'${name}'`, `the cluster has ${names}`);
  }
  const nowhere = members.find((member) => isUnspecified(member.peerAddress));
  if (nowhere !== undefined) {
    const given = `'${nowhere.name}=${nowhere.peerAddress}'`;
    throw new LockstepError('INVALID_OPTION', '--initial-cluster', given, REACHABLE);
  }
  return { ...formation, self };
}

/** The formation of first members written as `name=host:port,…`; `self` is the one of that name. */
export function formationFrom(
  text: string,
  token: string,
  name: string,
  ids?: readonly MemberId[],
): Omit<Formation, 'self'> & { readonly self: FoundingMember | undefined } {
  const addresses = [...(parseCluster(text) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  const listed = addresses.map(([member, address]) => `${member}=${formatAddress(address)}`);
  const clusterId = hash64(token, ...listed);
  const members = addresses.map(([member, address], i) => ({
    id: ids?.[i] ?? i + 1,
    name: member,
    etcdId: hash64(token, `${member}=${formatAddress(address)}`),
    peerAddress: formatAddress(address),
  }));
  const self = members.find((member) => member.name === name);
  const joined = ids === undefined ? {} : { ids };
  return { clusterId, members, self, text: listed.join(','), token, ...joined };
}

/** `0.0.0.0` is never published (design §10), also not by a member that is alone for now. */
function alonePeerAddress(settings: Settings): string {
  const advertised = settings['advertise-peer'];
  const listened = settings['listen-peer'];
  if (!isUnspecified(advertised || listened)) return advertised || listened;
  const flag = advertised === '' ? '--listen-peer' : '--advertise-peer';
  const given = `'${advertised || listened}'`;
  throw new LockstepError('INVALID_OPTION', flag, given, REACHABLE);
}

/** True for the address that listens everywhere and is nowhere. */
export function isUnspecified(text: string): boolean {
  const host = parseAddress(text)?.host;
  return host !== undefined && (/^[0:.]+$/.test(host) || host === '');
}

const REACHABLE = 'name the address at which others reach this member with --advertise-peer';

/**
 * What an existing data directory knows better than the flags it was started with, one line each.
 */
export function overruledFlags(
  settings: Settings,
  { self, token, ids }: Formation,
  known = self.peerAddress,
): string[] {
  const lines: string[] = [];
  const address = settings['advertise-peer'] || settings['listen-peer'];
  const parsed = parseAddress(address);
  const given = parsed === undefined ? address : formatAddress(parsed);
  if (!isUnspecified(given) && given !== known) {
    const flag = settings['advertise-peer'] === '' ? '--listen-peer' : '--advertise-peer';
    lines.push(`${flag} is ${given}, but the cluster knows this member at ${known}`);
  }
  // One that joined took its cluster's token, and a recovered cluster made its own.
  if (token.startsWith(RECOVERED_TOKEN)) {
    const ignored = '--initial-cluster is of the former one and is ignored';
    if (settings['initial-cluster'] !== '') {
      lines.push(`this member was recovered into a cluster of its own: ${ignored}`);
    }
  } else if (ids === undefined && settings['initial-cluster-token'] !== token) {
    lines.push(`--initial-cluster-token is not that of the data directory, '${token}'`);
  }
  return lines;
}

/** A 64-bit id as 16 hex digits. */
export const hex64 = (id: bigint): string => id.toString(16).padStart(16, '0');
