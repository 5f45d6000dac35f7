import { LeaseKind } from '@lockstep/model';
import type { Door } from './door.ts';
import { Session } from './session.ts';
import { childrenIndex, nodeCount, pathOfNodeKey } from './tree.ts';
import type { Watcher } from './watches.ts';

type Word = (door: Door) => string;

/** Answered whatever the state of the member. */
const ALWAYS: ReadonlySet<string> = new Set(['ruok', 'conf', 'envi', 'isro', 'dirs']);

/**
 * The answer to a four-letter word on a fresh connection; undefined when it is none, so that its
 * bytes count as a frame length.
 */
export function answerWord(word: string, door: Door): string | undefined {
  const answer = WORDS.get(word);
  if (answer === undefined) return undefined;
  const { words, replica } = door.settings;
  if (!words.has(word)) return `${word} is not executed because it is not in the whitelist.\n`;
  if (!ALWAYS.has(word) && !(replica.serving && replica.inContact)) {
    return 'This ZooKeeper instance is not currently serving requests\n';
  }
  return answer(door);
}

const lines = (list: readonly string[]): string => `${list.join('\n')}\n`;
const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

/** What a tool for ZooKeeper calls the member's role. */
function mode(door: Door): string {
  const { replica } = door.settings;
  const { role, peers } = replica.status();
  if (peers.length === 0) return 'standalone';
  return role === 'leader' ? 'leader' : 'follower';
}

function srvr(door: Door): string {
  return lines([`Zookeeper version: ${door.settings.version}`, ...serverLines(door)]);
}

function serverLines(door: Door): string[] {
  const { statistics } = door;
  const { minMs, averageMs, maxMs } = statistics.latency();
  return [
    `Latency min/avg/max: ${minMs}/${decimal(averageMs)}/${maxMs}`,
    `Received: ${statistics.received}`,
    `Sent: ${statistics.sent}`,
    `Connections: ${door.connections.size}`,
    `Outstanding: ${statistics.outstanding}`,
    `Zxid: ${hex(door.zxid)}`,
    `Mode: ${mode(door)}`,
    `Node count: ${nodeCount(door.state)}`,
  ];
}

/** Up to four places, at least one, as Java prints it. */
function decimal(value: number): string {
  const text = value.toFixed(4).replace(/0+$/, '');
  return text.endsWith('.') ? `${text}0` : text;
}

function stat(door: Door): string {
  const clients = [...door.connections].map(
    ({ wire, queue, received, sent }) =>
      ` /${wire.address}:${wire.port}[1](queued=${queue.count},recved=${received},sent=${sent})`,
  );
  const head = [`Zookeeper version: ${door.settings.version}`, 'Clients:'];
  return lines([...head, ...clients, '', ...serverLines(door)]);
}

function cons(door: Door): string {
  const rows = [...door.connections].map((session) => {
    const { wire, queue, received, sent, sessionId, timeoutMs } = session;
    const counts = `queued=${queue.count},recved=${received},sent=${sent}`;
    const attached = session.isOpen ? `,sid=${hex(sessionId)},to=${timeoutMs}` : '';
    return ` /${wire.address}:${wire.port}[1](${counts}${attached})`;
  });
  return lines([...rows, '']);
}

function conf(door: Door): string {
  const { settings } = door;
  const { replica } = settings;
  const pairs = [
    `clientPort=${settings.clientPort}`,
    'secureClientPort=-1',
    `tickTime=${settings.tickMs}`,
    `maxClientCnxns=${settings.connectionsPerAddressMax}`,
    `minSessionTimeout=${settings.sessionTimeoutMinMs}`,
    `maxSessionTimeout=${settings.sessionTimeoutMaxMs}`,
    'clientPortListenBacklog=-1',
    `serverId=${replica.member}`,
  ];
  const members = replica.state.members();
  if (members.length <= 1) return lines(pairs);
  const rows = members.map(({ id, peerAddress, addresses, learner }) => {
    const client = addresses.zookeeper;
    const role = learner ? 'observer' : 'participant';
    // One port serves what ZooKeeper spreads over two.
    const port = peerAddress.slice(peerAddress.lastIndexOf(':') + 1);
    return `server.${id}=${peerAddress}:${port}:${role}${client === undefined ? '' : `;${client}`}`;
  });
  return lines([...pairs, 'peerType=0', 'membership: ', ...rows, 'version=0']);
}

function envi(door: Door): string {
  return lines(['Environment:', `zookeeper.version=${door.settings.version}`]);
}

function mntr(door: Door): string {
  const { statistics, watches, state, settings } = door;
  const { minMs, averageMs, maxMs } = statistics.latency();
  const sessions = state.leases(LeaseKind.ZooKeeper);
  const ephemerals = sessions.reduce((sum, { keyCount }) => sum + keyCount, 0);
  const { peers, role } = settings.replica.status();
  const rows: [string, string | number][] = [
    ['version', settings.version],
    ['server_state', mode(door)],
    ['avg_latency', decimal(averageMs)],
    ['max_latency', maxMs],
    ['min_latency', minMs],
    ['packets_received', statistics.received],
    ['packets_sent', statistics.sent],
    ['num_alive_connections', door.connections.size],
    ['outstanding_requests', statistics.outstanding],
    ['znode_count', nodeCount(state)],
    ['watch_count', watches.size],
    ['ephemerals_count', ephemerals],
    ['approximate_data_size', childrenIndex(state).dataBytes],
    ['global_sessions', sessions.length],
    ['local_sessions', 0],
    ['uptime', Math.floor(settings.clock.monotonicMs() - door.startedMs)],
    ['auth_failed_count', statistics.authFailures],
  ];
  if (role === 'leader' && peers.length > 0) {
    const synced = peers.filter((peer) => peer.state === 'replicate').length;
    rows.push(['learners', peers.length], ['followers', peers.length]);
    rows.push(['synced_followers', synced], ['quorum_size', peers.length + 1]);
  }
  return lines(rows.map(([key, value]) => `zk_${key}\t${value}`));
}

function wchs(door: Door): string {
  const { watches } = door;
  const connections = watches.byWatcher().size;
  return lines([
    `${connections} connections watching ${watches.pathCount()} paths`,
    `Total watches:${watches.size}`,
  ]);
}

function sessionName(watcher: Watcher): string {
  return watcher instanceof Session ? hex(watcher.sessionId) : '0x0';
}

/** Sessions with the paths they watch; costs as much as there are watches, so off by default. */
function wchc(door: Door): string {
  const rows: string[] = [];
  for (const [watcher, paths] of door.watches.byWatcher()) {
    rows.push(sessionName(watcher), ...paths.map((path) => `\t${path}`));
  }
  return lines([...rows, '']);
}

/** The same by path. */
function wchp(door: Door): string {
  const sessions = new Map<string, string[]>();
  for (const [watcher, paths] of door.watches.byWatcher()) {
    for (const path of paths) {
      sessions.set(path, [...(sessions.get(path) ?? []), `\t${sessionName(watcher)}`]);
    }
  }
  const rows = [...sessions.keys()].sort().flatMap((path) => [path, ...(sessions.get(path) ?? [])]);
  return lines([...rows, '']);
}

function dump(door: Door): string {
  const { state } = door;
  const sessions = state.leases(LeaseKind.ZooKeeper);
  const rows = ['SessionTracker dump:', `Session Sets (${sessions.length})/(${sessions.length}):`];
  for (const { id, deadline } of sessions) {
    rows.push(`1 expire in ${Math.max(0, deadline - state.time)} ms:`, `\t${hex(id)}`);
  }
  const owners = sessions.filter(({ keyCount }) => keyCount > 0);
  rows.push('ephemeral nodes dump:', `Sessions with Ephemerals (${owners.length}):`);
  for (const { id, handle } of owners) {
    rows.push(`${hex(id)}:`);
    for (const { key } of state.leaseKeys(handle)) rows.push(`\t${pathOfNodeKey(key) ?? ''}`);
  }
  return lines(rows);
}

const WORDS: ReadonlyMap<string, Word> = new Map<string, Word>([
  ['ruok', () => 'imok'],
  ['isro', () => 'rw'],
  ['srvr', srvr],
  ['stat', stat],
  ['cons', cons],
  ['conf', conf],
  ['envi', envi],
  ['mntr', mntr],
  ['wchs', wchs],
  ['wchc', wchc],
  ['wchp', wchp],
  ['dump', dump],
  ['dirs', () => 'datadir_size: 0\nlogdir_size: 0\n'],
  [
    'crst',
    (door) => {
      for (const session of door.connections) session.resetCounts();
      return 'Connection stats reset.\n';
    },
  ],
  [
    'srst',
    (door) => {
      door.statistics.reset();
      return 'Server stats reset.\n';
    },
  ],
]);
