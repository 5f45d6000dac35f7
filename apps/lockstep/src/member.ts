import type { MemberAction, MemberRow, MemberTable } from '@lockstep/admin';
import { LockstepError } from '@lockstep/model';
import Table from 'cli-table3';
import colors from 'picocolors';
import { askMembers, sendAny } from './admin-client.ts';
import { accepted, checkValue, formatAddress, parseAddress } from './option-value.ts';

/** A change is answered when it is in force, which may take as long as members wait for it. */
const CHANGE_MS_MAX = 20_000;

/** Prints the members of the cluster and their parts in it. */
export async function printMembers(addresses: readonly string[], json: boolean): Promise<void> {
  const { members } = await askMembers(addresses);
  if (json) {
    console.log(JSON.stringify({ members }));
    return;
  }
  const table = new Table({
    head: ['id', 'name', 'role', 'peer', 'etcd', 'zookeeper', 'redis', 'admin'],
    style: { head: [], border: [], compact: true },
  });
  for (const member of members) {
    const { etcd = '-', zookeeper = '-', redis = '-', admin = '-' } = member.addresses;
    const { etcdId, peerAddress } = member;
    table.push([
      etcdId,
      nameOf(member),
      partOf(member),
      peerAddress,
      etcd,
      zookeeper,
      redis,
      admin,
    ]);
  }
  console.log(table.toString());
}

/** Adds a member that is not running yet and prints how to start it. */
export async function addMember(
  addresses: readonly string[],
  name: string,
  peer: string,
  learner: boolean,
): Promise<void> {
  // The one that is to start with this name would be refused.
  checkValue('name', { kind: 'name' }, name);
  const peerAddress = addressOf('--peer', peer);
  const before = await askMembers(addresses);
  if (before.members.some((member) => member.name === name)) {
    throw new LockstepError('INVALID_OPTION', 'name', `'${name}'`, 'another member has it');
  }
  const { members, changed } = await change(addresses, { action: 'add', peerAddress, learner });
  const added = members.find(({ id }) => id === changed);
  const others = members.filter(({ id, started }) => id !== changed && started);
  const cluster = [...others, { name, peerAddress }]
    .map((member) => `${member.name}=${member.peerAddress}`)
    .join(',');
  const lines = [
    `${name} is added as ${learner ? 'learner' : 'voter to be'} ${added?.etcdId}. Start it with:`,
    '',
    `  lockstep serve --name ${name} --data-dir DIR --listen-peer ${peerAddress} \\`,
    `    --initial-cluster ${cluster} \\`,
    '    --initial-cluster-state existing',
    '',
    'Add --listen-etcd, --listen-zookeeper, --listen-redis and --listen-admin as clients reach it;',
    'otherwise they are on 127.0.0.1 and the standard ports.',
    '',
    learner
      ? `When it has caught up: lockstep member promote ${name}`
      : 'It gets its vote by itself when it has caught up.',
  ];
  console.log(lines.join('\n'));
}

/** Gives a learner its vote. */
export async function promoteMember(addresses: readonly string[], which: string): Promise<void> {
  const member = await find(addresses, which);
  await change(addresses, { action: 'promote', member: member.id });
  console.log(`${nameOf(member)} votes`);
}

/** Takes a member out of the cluster for good; if it runs, it stops by itself. */
export async function removeMember(addresses: readonly string[], which: string): Promise<void> {
  const member = await find(addresses, which);
  await change(addresses, { action: 'remove', member: member.id });
  console.log(`${nameOf(member)} is removed; its data directory is of no further use`);
}

/** Tells the others where a member listens for them now. */
export async function updateMember(
  addresses: readonly string[],
  which: string,
  peer: string,
): Promise<void> {
  const peerAddress = addressOf('--peer', peer);
  const member = await find(addresses, which);
  await change(addresses, { action: 'update', member: member.id, peerAddress });
  console.log(`${nameOf(member)} is looked for at ${peerAddress}; it was ${member.peerAddress}`);
}

const change = (addresses: readonly string[], action: MemberAction): Promise<MemberTable> =>
  sendAny<MemberTable>(addresses, '/members', action, CHANGE_MS_MAX);

/** By name, by id as listed, or by peer address: one that has not started has no name yet. */
async function find(addresses: readonly string[], which: string): Promise<MemberRow> {
  const { members } = await askMembers(addresses);
  const found = members.find(
    ({ name, etcdId, peerAddress }) => [name, etcdId, peerAddress].includes(which) && which !== '',
  );
  if (found !== undefined) return found;
  const names = members.map(nameOf).join(', ');
  const unnamed = members.some(({ name }) => name === '');
  const note = unnamed ? '; until it is started, one goes by its id or peer address' : '';
  throw new LockstepError('INVALID_OPTION', 'member', `'${which}'`, `there are ${names}${note}`);
}

const nameOf = ({ name, peerAddress }: MemberRow): string => name || `(at ${peerAddress})`;

function partOf({ role, started, caughtUp }: MemberRow): string {
  if (role === 'leader') return colors.green('leader');
  if (role === 'voter') return role;
  const state = !started ? 'not started' : caughtUp ? 'caught up' : 'catching up';
  return `${role === 'learner' ? role : 'joining'}, ${state}`;
}

function addressOf(flag: string, text: string): string {
  const address = parseAddress(text);
  if (address !== undefined && address.port !== 0) return formatAddress(address);
  throw new LockstepError('INVALID_OPTION', flag, `'${text}'`, accepted({ kind: 'address' }));
}
