import type { Value } from './option-value.ts';

/** One setting of `serve`. Flags, `LOCKSTEP_*` variables, YAML keys and help come from it. */
export interface Option {
  /** Flag without dashes; also the YAML key. */
  readonly name: string;
  readonly type: Value;
  readonly default: string;
  /** Member settings may differ; cluster settings seed the cluster at formation (design §10). */
  readonly scope: 'member' | 'cluster';
  readonly doc: string;
}

const address: Value = { kind: 'address' };
const closable: Value = { kind: 'address', closable: true };

export const OPTIONS = [
  {
    name: 'name',
    type: { kind: 'name' },
    default: 'n1',
    scope: 'member',
    doc: 'name of this member, unique in the cluster',
  },
  {
    name: 'data-dir',
    type: { kind: 'path' },
    default: './lockstep-data',
    scope: 'member',
    doc: 'where log and state are kept; one directory per member',
  },
  {
    name: 'initial-cluster',
    type: { kind: 'cluster' },
    default: '',
    scope: 'cluster',
    doc: 'name=host:port of the peer listener of each first member; empty: this member alone',
  },
  {
    name: 'initial-cluster-state',
    type: { kind: 'choice', choices: ['new', 'existing'] },
    default: 'new',
    scope: 'member',
    doc: 'new forms the cluster; existing joins one, after `lockstep member add`',
  },
  {
    name: 'initial-cluster-token',
    type: { kind: 'name' },
    default: 'lockstep-cluster',
    scope: 'cluster',
    doc: 'keeps clusters with the same members apart',
  },
  {
    name: 'listen-peer',
    type: address,
    default: '127.0.0.1:2380',
    scope: 'member',
    doc: 'member to member',
  },
  {
    name: 'listen-etcd',
    type: closable,
    default: '127.0.0.1:2379',
    scope: 'member',
    doc: 'etcd v3 gRPC, /health and /metrics',
  },
  {
    name: 'listen-zookeeper',
    type: closable,
    default: '127.0.0.1:2181',
    scope: 'member',
    doc: 'ZooKeeper wire protocol and four-letter words',
  },
  {
    name: 'listen-redis',
    type: closable,
    default: '127.0.0.1:6379',
    scope: 'member',
    doc: 'Redis RESP2 and RESP3',
  },
  {
    name: 'listen-admin',
    type: closable,
    default: '127.0.0.1:7070',
    scope: 'member',
    doc: 'HTTP: status, locks, metrics',
  },
  ...(['peer', 'etcd', 'zookeeper', 'redis', 'admin'] as const).map((door) => ({
    name: `advertise-${door}` as const,
    type: { kind: 'address', optional: true } as const,
    default: '',
    scope: 'member' as const,
    doc: `address that others are told for ${door}; default: the listener's`,
  })),
  {
    name: 'heartbeat-interval',
    type: { kind: 'duration', min: 10, max: 10_000 },
    default: '100ms',
    scope: 'cluster',
    doc: 'how often the leader shows that it lives',
  },
  {
    name: 'election-timeout',
    type: { kind: 'duration', min: 100, max: 60_000 },
    default: '1s',
    scope: 'cluster',
    doc: 'silence after which followers elect a new leader; at least 5 heartbeats',
  },
  {
    name: 'request-timeout',
    type: { kind: 'duration', min: 100, max: 600_000 },
    default: '7s',
    scope: 'member',
    doc: 'how long a request waits for its answer',
  },
  {
    name: 'redis-password',
    type: { kind: 'text' },
    default: '',
    scope: 'member',
    doc: 'what AUTH must give on the Redis door; empty: no password',
  },
  {
    name: 'log-level',
    type: { kind: 'choice', choices: ['debug', 'info', 'warn', 'error'] },
    default: 'info',
    scope: 'member',
    doc: 'least severe line that is logged',
  },
  {
    name: 'log-format',
    type: { kind: 'choice', choices: ['text', 'json'] },
    default: 'text',
    scope: 'member',
    doc: 'text for people, json for collectors',
  },
] as const satisfies readonly Option[];

/** `listen-etcd` as `LOCKSTEP_LISTEN_ETCD`. */
export function variableOf(option: Option): string {
  return `LOCKSTEP_${option.name.toUpperCase().replaceAll('-', '_')}`;
}
