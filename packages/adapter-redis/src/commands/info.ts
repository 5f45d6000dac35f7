import type { ByteString } from '@lockstep/model';
import type { DoorSession } from '../door-session.ts';
import { keyspaceOf, redisKeyspaces, scriptKeyspace } from '../keyspaces.ts';
import type { Reply } from '../reply.ts';
import { LOCKSTEP_VERSION, REPORTED_VERSION } from '../version.ts';

type Fields = readonly (readonly [name: string, value: string | number])[];
type Section = (session: DoorSession) => Fields;

const server: Section = ({ door }) => {
  const uptime = Math.floor((door.clock.monotonicMs() - door.startedMs) / 1000);
  return [
    ['redis_version', REPORTED_VERSION],
    ['server_name', 'lockstep'],
    ['lockstep_version', LOCKSTEP_VERSION],
    ['redis_mode', 'standalone'],
    ['os', 'any'],
    ['arch_bits', 64],
    ['process_id', door.replica.member],
    ['run_id', door.runId],
    ['tcp_port', door.port],
    ['uptime_in_seconds', uptime],
    ['uptime_in_days', Math.floor(uptime / 86_400)],
    ['hz', 10],
    ['executable', 'lockstep'],
    ['config_file', ''],
  ];
};

const clients: Section = ({ door }) => [
  ['connected_clients', door.sessions.size],
  ['cluster_connections', 0],
  ['maxclients', door.settings.get('maxclients') ?? ''],
  ['blocked_clients', [...door.sessions.values()].filter((one) => one.blocked).length],
  ['tracking_clients', door.tracking.clients],
];

const memory: Section = ({ door }) => {
  const bytes = door.replica.state.liveBytes;
  return [
    ['used_memory', bytes],
    ['used_memory_human', `${(bytes / 1024).toFixed(2)}K`],
    ['used_memory_rss', bytes],
    ['maxmemory', 0],
    ['maxmemory_human', '0B'],
    ['maxmemory_policy', 'noeviction'],
    ['number_of_cached_scripts', door.replica.state.size(scriptKeyspace)],
  ];
};

/** The log is always on and always synced; there is no other file. */
const persistence: Section = ({ door }) => [
  ['loading', door.replica.serving ? 0 : 1],
  ['async_loading', 0],
  ['rdb_changes_since_last_save', 0],
  ['rdb_bgsave_in_progress', 0],
  ['rdb_last_bgsave_status', 'ok'],
  ['aof_enabled', 1],
  ['aof_rewrite_in_progress', 0],
  ['aof_last_write_status', 'ok'],
];

const statistics: Section = ({ door }) => [
  ['total_connections_received', door.statistics.connections],
  ['total_commands_processed', door.statistics.commands],
  ['rejected_connections', door.statistics.rejectedConnections],
  ['evicted_keys', 0],
  ['pubsub_channels', door.pubsub.names('channel').length],
  ['pubsub_patterns', door.pubsub.names('pattern').length],
  ['pubsubshard_channels', door.pubsub.names('shard').length],
  ['total_error_replies', door.statistics.errors],
];

/** Every member takes writes; other members are no replicas that a client should wait for. */
const replication: Section = ({ door }) => [
  ['role', 'master'],
  ['connected_slaves', 0],
  ['master_failover_state', 'no-failover'],
  ['master_replid', door.runId],
  ['master_repl_offset', door.replica.state.appliedIndex],
];

const raft: Section = ({ door }) => {
  const status = door.replica.status();
  return [
    ['raft_member', status.member],
    ['raft_role', status.role],
    ['raft_leader', status.leader],
    ['raft_term', status.term],
    ['raft_commit_index', status.commitIndex],
    ['raft_applied_index', status.appliedIndex],
    ['revision', status.revision],
    ['in_contact', door.replica.inContact ? 1 : 0],
    ['health', status.health],
  ];
};

const keyspace: Section = ({ door }) => {
  const { state } = door.replica;
  const rows: [string, string][] = [];
  redisKeyspaces.forEach((_, db) => {
    const keys = state.size(keyspaceOf(db));
    if (keys > 0) rows.push([`db${db}`, `keys=${keys},expires=0,avg_ttl=0`]);
  });
  return rows;
};

const sections: readonly (readonly [title: string, fields: Section])[] = [
  ['Server', server],
  ['Clients', clients],
  ['Memory', memory],
  ['Persistence', persistence],
  ['Stats', statistics],
  ['Replication', replication],
  ['CPU', () => []],
  ['Raft', raft],
  ['Errorstats', () => []],
  ['Cluster', () => [['cluster_enabled', 0]]],
  ['Keyspace', keyspace],
];

/** INFO [section …]: `default`, `all` and `everything` mean all of them. */
export function info(session: DoorSession, argv: readonly ByteString[]): Reply {
  const wanted = new Set(argv.slice(1).map((word) => word.toLowerCase()));
  const all =
    wanted.size === 0 || wanted.has('all') || wanted.has('default') || wanted.has('everything');
  const texts = sections
    .filter(([title]) => all || wanted.has(title.toLowerCase()))
    .map(([title, fields]) => {
      const lines = fields(session).map(([name, value]) => `${name}:${value}\r\n`);
      return `# ${title}\r\n${lines.join('')}`;
    });
  return { kind: 'verbatim', format: 'txt', text: texts.join('\r\n') };
}
