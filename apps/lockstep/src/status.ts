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
      'version',
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
    const version = member.version === '' ? '-' : `${member.version} (${member.featureLevel})`;
    // One that has not started yet has no name.
    const name = member.name || `member ${member.id}, not started`;
    const role = member.learner ? 'learner' : (row?.role ?? '');
    table.push(row === undefined ? silentRow(name, version) : statusRow(row, version, role));
  });
  console.log(table.toString());
  console.log(levelLine(self, members));
  if (rows.some((row) => row === undefined)) process.exitCode = 1;
}

/** At which feature level the cluster is, and whom a higher one waits for. */
function levelLine(self: MemberStatus, members: ClusterStatus['members']): string {
  const newest = Math.max(...members.map((member) => member.featureLevel));
  const line = `feature level ${self.featureLevel}`;
  if (newest <= self.featureLevel) return line;
  const older = members.filter((member) => member.featureLevel < newest).map(({ name }) => name);
  return `${line}; ${newest} follows once ${older.join(', ') || 'the leader'} is upgraded`;
}

function statusRow(row: MemberStatus, version: string, part: string): string[] {
  const health = row.health === 'ok' && !row.leader ? 'no leader' : row.health;
  const role = row.role === 'leader' ? colors.green('leader') : part;
  const { etcd = '-', zookeeper = '-', redis = '-' } = row.addresses;
  return [
    row.name,
    version,
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

const silentRow = (name: string, version: string): string[] => [
  name,
  version,
  colors.red('no answer'),
  ...Array<string>(8).fill('-'),
];
