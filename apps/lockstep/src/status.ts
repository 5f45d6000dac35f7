import type { ClusterStatus, MemberStatus } from '@lockstep/admin';
import Table from 'cli-table3';
import colors from 'picocolors';
import { askAny, askStatus } from './admin-client.ts';

/** Prints one row per member of the cluster, asking each for its own view. */
export async function printStatus(addresses: readonly string[], json: boolean): Promise<void> {
  const { self, members } = await askStatus(addresses);
  const rows = await Promise.all(
    members.map(async (member) => {
      if (member.id === self.id) return self;
      if (member.admin === '') return undefined;
      const answer = await askAny<ClusterStatus>([member.admin], '/status').catch(() => undefined);
      return answer?.self;
    }),
  );
  if (json) {
    console.log(JSON.stringify({ members: members.map((m, i) => ({ ...m, status: rows[i] })) }));
    return;
  }
  const table = new Table({
    head: [
      'member',
      'role',
      'term',
      'applied',
      'revision',
      'state hash',
      'etcd',
      'zookeeper',
      'redis',
      'health',
    ],
    style: { head: [], border: [], compact: true },
  });
  members.forEach((member, i) => {
    const row = rows[i];
    table.push(row === undefined ? silentRow(member.name) : statusRow(row));
  });
  console.log(table.toString());
  if (rows.some((row) => row === undefined)) process.exitCode = 1;
}

function statusRow(row: MemberStatus): string[] {
  const health = row.health === 'ok' && !row.leader ? 'no leader' : row.health;
  const role = row.role === 'leader' ? colors.green('leader') : row.role;
  const { etcd = '-', zookeeper = '-', redis = '-' } = row.addresses;
  return [
    row.name,
    role,
    String(row.term),
    `${row.appliedIndex}/${row.commitIndex}`,
    String(row.revision),
    row.stateHash,
    etcd,
    zookeeper,
    redis,
    health === 'ok' ? health : colors.red(health),
  ];
}

const silentRow = (name: string): string[] => [
  name,
  colors.red('no answer'),
  ...Array<string>(8).fill('-'),
];
