import { createHash } from 'node:crypto';
import { LockstepError, type MemberId } from '@lockstep/model';
import { formatAddress, parseCluster } from './option-value.ts';
import type { Settings } from './settings.ts';

/** A member of a new cluster, the same on every member that forms it. */
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
}

/** First 64 bits of a digest; never 0, which clients take for "none". */
function hash64(...parts: readonly string[]): bigint {
  const digest = createHash('sha256').update(parts.join('\n')).digest();
  return digest.readBigUInt64BE(0) || 1n;
}

/**
 * What `--initial-cluster` and the token mean (design §10). Without it the member is alone.
 * Throws INVALID_OPTION when this member's name is not in it.
 */
export function formationOf(settings: Settings): Formation {
  const { name } = settings;
  const text = settings['initial-cluster'];
  const advertised = settings['advertise-peer'] || settings['listen-peer'];
  const parsed = parseCluster(text === '' ? `${name}=${advertised}` : text);
  const addresses = [...(parsed ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  const token = settings['initial-cluster-token'];
  const listed = addresses.map(([member, address]) => `${member}=${formatAddress(address)}`);
  const clusterId = hash64(token, ...listed);
  const members = addresses.map(([member, address], i) => ({
    id: i + 1,
    name: member,
    etcdId: hash64(token, `${member}=${formatAddress(address)}`),
    peerAddress: formatAddress(address),
  }));
  const self = members.find((member) => member.name === name);
  if (self === undefined) {
    const names = members.map((member) => member.name).join(', ');
    throw new LockstepError('INVALID_OPTION', '--name', `'${name}'`, `the cluster has ${names}`);
  }
  return { clusterId, members, self };
}

/** A 64-bit id as 16 hex digits. */
export const hex64 = (id: bigint): string => id.toString(16).padStart(16, '0');
