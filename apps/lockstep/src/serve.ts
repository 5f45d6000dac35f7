import {
  AutoCompaction,
  etcdExtension,
  listEtcdLocks,
  startEtcdDoor,
} from '@lockstep/adapter-etcd';
import { listRedisLocks, redisExtension, startRedisDoor } from '@lockstep/adapter-redis';
import {
  listZookeeperLocks,
  startZookeeperDoor,
  zookeeperExtension,
} from '@lockstep/adapter-zookeeper';
import { Metrics, startAdmin } from '@lockstep/admin';

import { type FileError, LockstepError } from '@lockstep/model';
import {
  isLedByAnother,
  levelRefusal,
  type MemberReplica,
  openReplica,
  peerRefusal,
} from '@lockstep/replica';

import {
  createStateMachine,
  ELECTION_TIMEOUT_OPTION,
  encodeCheckHash,
  encodeHello,
  encodeSetOption,
  FEATURE_LEVEL,
  FEATURE_LEVEL_OLDEST,
  type LockRow,
} from '@lockstep/state-machine';
import { openWal } from '@lockstep/storage';
import { type Mesh, type MeshOptions, openMesh } from '@lockstep/transport';
import type { Logger } from 'pino';
import { type MemberData, memberDirectoryOf, openMemberData } from './data.ts';
import { exitCodeOf } from './exit-code.ts';
import { type Formation, hex64, isUnspecified, overruledFlags } from './formation.ts';
import { describeCluster } from './introduction.ts';
import { openMemberLog } from './member-log.ts';
import { nodeClock, nodeRandom, nodeScheduler } from './node-ports.ts';
import { formatAddress, parseAddress, parseDuration } from './option-value.ts';
import type { Settings } from './settings.ts';
import { type Door, stopOnSignal } from './shutdown.ts';
import { watchStanding } from './standing.ts';
import { VERSION } from './version.ts';

/** The member found itself wrong, or a device failed it: it must not be restarted blindly. */
const EXIT_FATAL = 70;

type DoorName = 'etcd' | 'zookeeper' | 'redis' | 'admin';

/** Runs one member until SIGINT or SIGTERM. Rejects when it cannot start. */
export async function serve(settings: Settings): Promise<void> {
  const log = openMemberLog(settings);
  const data = await openMemberData(settings, (text) => log.info(text));
  const { formation } = data;
  let member: MemberReplica | undefined;
  const refusal: Refusal = (theirs, isPeer) =>
    member === undefined
      ? isPeer
        ? undefined
        : `member ${theirs.member} is not known here yet`
      : (levelRefusal(member.state.featureLevel, theirs) ??
        peerRefusal(member.state, theirs, isPeer, isLedByAnother(member, theirs.member)));
  const describe = () =>
    member === undefined
      ? null
      : describeCluster(member, hex64(formation.clusterId), formation.token);
  const mesh = await openMemberMesh(settings, formation, data, log, { verify: refusal, describe });
  const replica = await openMember(settings, formation, data, mesh, log);
  member = replica;
  const own = replica.state.members().find(({ id }) => id === replica.member);
  for (const line of overruledFlags(settings, formation, own?.peerAddress)) log.warn(line);
  const open = await openDoors(settings, replica, log);
  const compaction = new AutoCompaction({ replica, clock: nodeClock });
  const { uuid } = data.directory.identity;
  const standing = watchStanding(replica, formation, uuid, electionMsOf(settings), (reason) =>
    die(reason, log),
  );
  const release = (): Promise<void> => data.release();
  stopOnSignal({ doors: open, duties: [compaction, standing], replica, release }, log);
  process.on('uncaughtException', (error) => die(error, log));
  announceWhenReady(settings, formation, replica, log);
}

type Refusal = NonNullable<MeshOptions['verify']>;

function openMemberMesh(
  settings: Settings,
  formation: Formation,
  data: MemberData,
  log: Logger,
  identity: Pick<MeshOptions, 'verify' | 'describe'>,
): Promise<Mesh> {
  return new Promise((resolve, reject) => {
    openMesh(
      {
        listen: settings['listen-peer'],
        cluster: hex64(formation.clusterId),
        member: formation.self.id,
        incarnation: data.incarnation,
        dataDirectory: data.directory.identity.uuid,
        levels: { oldest: FEATURE_LEVEL_OLDEST, newest: FEATURE_LEVEL },
        dialPatienceMs: electionMsOf(settings),
        ...identity,
        log: (text) => log.debug(text),
        refused: (text) => log.warn(text),
      },
      (error, mesh) => (error === undefined ? resolve(mesh) : reject(error)),
    );
  });
}

function openMember(
  settings: Settings,
  formation: Formation,
  data: MemberData,
  mesh: Mesh,
  log: Logger,
): Promise<MemberReplica> {
  const { self, members, clusterId, ids } = formation;
  const electionMs = electionMsOf(settings);
  const extensions = [etcdExtension, zookeeperExtension, redisExtension];
  const bootstrap = { clusterId, members, options: {} };
  const others = members.filter((member) => member.id !== self.id);
  const joins = ids !== undefined;
  return new Promise((resolve, reject) => {
    openReplica(
      {
        identity: { cluster: hex64(clusterId), member: self.id },
        incarnation: data.incarnation,
        bootstrap: {
          // Whoever joins has no vote before the leader gives it one.
          voters: (joins ? others : members).map((member) => member.id),
          votersOutgoing: [],
          learners: [],
          learnersNext: [],
          autoLeave: false,
        },
        joins,
        peers: others.map(({ id, peerAddress }) => ({ id, address: peerAddress })),
        clock: nodeClock,
        random: nodeRandom,
        scheduler: nodeScheduler,
        network: mesh,
        openLog: openWal(data.fileSystem, {
          ...{ scheduler: nodeScheduler, clock: nodeClock },
          directory: data.directory.identity.log ?? 'wal',
        }),
        images: data.images,
        directory: memberDirectoryOf(data.directory),
        createStateMachine: (image) => createStateMachine({ extensions, image, bootstrap }),
        hello: (incarnation) =>
          encodeHello({
            member: self.id,
            incarnation,
            name: self.name,
            version: VERSION,
            featureLevel: FEATURE_LEVEL,
            dataDirectory: data.directory.identity.uuid,
            addresses: publishedAddresses(settings),
          }),
        formation: [encodeSetOption(ELECTION_TIMEOUT_OPTION.name, Math.round(electionMs))],
        hashCheck: encodeCheckHash,
        heartbeatMs: parseDuration(settings['heartbeat-interval']) ?? 100,
        electionMs,
        requestTimeoutMs: parseDuration(settings['request-timeout']) ?? 7000,
        onFatal: (error) => die(error, log),
        log: (text) => log.info(text),
      },
      (error, replica) => (error === undefined ? resolve(replica) : reject(describe(error))),
    );
  });
}

const describe = (error: Error | FileError): Error =>
  error instanceof Error ? error : new Error(`${error.code}: ${error.message}`);

/** What other members and clients are told: the advertised address, or a usable listener's. */
export function publishedAddresses(settings: Settings): Record<string, string> {
  const addresses: Record<string, string> = {};
  for (const door of ['etcd', 'zookeeper', 'redis', 'admin'] as const) {
    const listen = settings[`listen-${door}`];
    const advertised = settings[`advertise-${door}`] || listen;
    const address = parseAddress(advertised);
    if (listen === 'none' || address === undefined || isUnspecified(advertised)) continue;
    addresses[door] = formatAddress(address);
  }
  return addresses;
}

async function openDoors(settings: Settings, replica: MemberReplica, log: Logger): Promise<Door[]> {
  const metrics = new Metrics(replica);
  const ports = { clock: nodeClock, random: nodeRandom, scheduler: nodeScheduler };
  const electionTimeoutMs = electionMsOf(settings);
  type Opened = (error: Error | undefined, door?: Door) => void;
  const doors: [DoorName, (address: string, done: Opened) => void][] = [
    [
      'etcd',
      (address, done) =>
        startEtcdDoor(
          {
            replica,
            ports,
            address,
            settings: { electionTimeoutMs },
            metrics: (answer) =>
              void metrics.text().then(
                (text) => answer(undefined, text),
                (error: Error) => answer(error, ''),
              ),
          },
          done,
        ),
    ],
    [
      'zookeeper',
      (address, done) =>
        startZookeeperDoor({ replica, address, ...ports, electionTimeoutMs }, done),
    ],
    [
      'redis',
      (address, done) =>
        startRedisDoor(
          { replica, address, ...ports, requirepass: settings['redis-password'] },
          done,
        ),
    ],
    [
      'admin',
      (address, done) => {
        const { host, port } = parseAddress(address) ?? { host: '127.0.0.1', port: 0 };
        const locks = (clusterMs: number): LockRow[] => listLocks(replica, clusterMs);
        startAdmin({ replica, version: VERSION, host, port, ports, metrics, locks }, done);
      },
    ],
  ];
  const open: Door[] = [];
  for (const [name, start] of doors) {
    const address = settings[`listen-${name}`];
    if (address === 'none') continue;
    open.push(
      await new Promise<Door>((resolve, reject) =>
        start(address, (error, door) => (door === undefined ? reject(error) : resolve(door))),
      ),
    );
    log.debug(`${name} listens on ${address}`);
  }
  return open;
}

/** Locks of all doors in one list, by name. */
function listLocks(replica: MemberReplica, clusterMs: number): LockRow[] {
  const { state } = replica;
  const rows = [
    ...listEtcdLocks(state),
    ...listZookeeperLocks(state),
    ...listRedisLocks(state, { clusterMs }),
  ];
  return rows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function announceWhenReady(
  settings: Settings,
  { members }: Formation,
  replica: MemberReplica,
  log: Logger,
): void {
  if (members.length > 1) {
    const names = members.map(({ name }) => name).join(', ');
    log.info(`${settings.name} started; it serves once a majority of ${names} is up`);
  }
  const ask = (): void =>
    replica.barrier({
      reached: () => {
        const doors = (['etcd', 'zookeeper', 'redis', 'admin'] as const)
          .filter((door) => settings[`listen-${door}`] !== 'none')
          .map((door) => `${door} ${settings[`listen-${door}`]}`);
        log.info(`${settings.name} is ready: ${doors.join(', ')}, pid ${process.pid}`);
        reportMismatch(settings, replica, log);
      },
      failed: (error) => {
        log.warn(`${settings.name} waits: ${error.message}; ${error.hint}`);
        setTimeout(ask, 1000);
      },
    });
  ask();
}

/** Flags seed cluster options at formation only; afterwards the cluster's value counts. */
function reportMismatch(settings: Settings, replica: MemberReplica, log: Logger): void {
  const own = parseDuration(settings['election-timeout']);
  const ofCluster = replica.state.option(ELECTION_TIMEOUT_OPTION);
  if (own !== undefined && Math.round(own) === ofCluster) return;
  log.warn(`--election-timeout is ${own} ms here; leases of the cluster count ${ofCluster} ms`);
}

const electionMsOf = (settings: Settings): number =>
  parseDuration(settings['election-timeout']) ?? 1000;

/** For the last resort of a member: stopped at once, with the reason and an exit code. */
function die(error: Error, log: Logger): never {
  const code = exitCodeOf(error);
  const expected = error instanceof LockstepError && code !== undefined;
  const reason = expected ? `${error.message}; ${error.hint}` : (error.stack ?? error.message);
  log.error(`stopped: ${reason}`);
  process.exit(code ?? EXIT_FATAL);
}
