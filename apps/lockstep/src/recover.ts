import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { etcdExtension } from '@lockstep/adapter-etcd';
import { redisExtension } from '@lockstep/adapter-redis';
import { zookeeperExtension } from '@lockstep/adapter-zookeeper';
import { type FileError, LockstepError } from '@lockstep/model';
import { isPeerAddress, type Refounded, refound } from '@lockstep/replica';
import { createStateMachine, encodeRefound } from '@lockstep/state-machine';
import {
  DataDirectory,
  type DataIdentity,
  LevelImageDirectory,
  lockDirectory,
  NodeFileSystem,
  openWal,
} from '@lockstep/storage';
import { formationFrom, hex64, RECOVERED_TOKEN } from './formation.ts';
import { nodeClock, nodeScheduler } from './node-ports.ts';

export interface RecoverFlags {
  readonly dataDir: string;
  /** Where later members reach this one; left out: as on record. */
  readonly advertisePeer?: string | undefined;
  readonly yes: boolean;
}

type Recovery = Refounded & { readonly cluster: string; readonly address: string };

/**
 * `lockstep recover`: after a majority was lost for ever, a stopped survivor becomes a cluster of
 * its own, under a new id. Everything new is made beside what is there; then one rename of the
 * identity file switches over, so that a crash leaves the one or the other. Nothing is deleted.
 */
export async function recoverMember(flags: RecoverFlags): Promise<void> {
  const { dataDir, advertisePeer } = flags;
  // What is written into the identity file must not be found unreadable at the next start.
  if (advertisePeer !== undefined && !isPeerAddress(advertisePeer)) {
    const what = 'accepts host:port that members can dial';
    throw new LockstepError('INVALID_OPTION', '--advertise-peer', `'${advertisePeer}'`, what);
  }
  if (!existsSync(join(dataDir, 'identity.json'))) {
    throw new LockstepError('INVALID_OPTION', '--data-dir', dataDir, 'it holds no member');
  }
  const unlock = await new Promise<(done: () => void) => void>((resolve, reject) =>
    lockDirectory(dataDir, (error: FileError | undefined, release) =>
      error === undefined ? resolve(release) : reject(new Error(`${dataDir}: ${error.message}`)),
    ),
  );
  try {
    await recoverLocked(flags);
  } finally {
    await new Promise<void>((done) => unlock(done));
  }
}

async function recoverLocked(flags: RecoverFlags): Promise<void> {
  const { dataDir, yes } = flags;
  const fileSystem = new NodeFileSystem(dataDir);
  const directory = await new Promise<DataDirectory>((resolve, reject) =>
    DataDirectory.open(fileSystem, (error, found) =>
      error === undefined ? resolve(found) : reject(new Error(`${dataDir}: ${error.message}`)),
    ),
  );
  const { identity } = directory;
  const others = firstMembers(identity.formation, identity.name);
  console.log(introduction(identity.name, identity.cluster, dataDir, others));
  if (!yes && !(await agrees())) {
    console.log('nothing was changed; pass --yes to go on');
    process.exitCode = 1;
    return;
  }
  const address = flags.advertisePeer ?? others.own;
  if (address === undefined) {
    const what = 'name the address at which later members will reach this one';
    throw new LockstepError('INVALID_OPTION', '--advertise-peer', "''", what);
  }
  const token = `${RECOVERED_TOKEN}${randomUUID()}`;
  const formation = formationFrom(`${identity.name}=${address}`, token, identity.name);
  const cluster = hex64(formation.clusterId);
  const [log, image] = [`wal-${cluster}`, nextImage(directory.image)];
  rmSync(join(dataDir, log), { recursive: true, force: true });
  const { members: first, token: firstToken, ids: firstIds } = identity.formation ?? UNKNOWN;
  const bootstrap = formationFrom(first, firstToken, identity.name, firstIds);
  const ports = { scheduler: nodeScheduler, clock: nodeClock };
  const made = await refound({
    member: identity.member,
    formerCluster: identity.cluster,
    cluster,
    openFormerLog: openWal(fileSystem, { ...ports, directory: identity.log ?? 'wal' }),
    openLog: openWal(fileSystem, { ...ports, directory: log }),
    images: new LevelImageDirectory(join(dataDir, 'images')),
    formerImage: directory.image,
    image,
    createStateMachine: (sink) =>
      createStateMachine({
        extensions: [etcdExtension, zookeeperExtension, redisExtension],
        image: sink,
        bootstrap: {
          clusterId: BigInt(`0x${identity.cluster}`),
          members: bootstrap.members,
          options: {},
        },
      }),
    bootstrap: {
      voters: bootstrap.members.map(({ id }) => id),
      ...{ votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
    },
    command: encodeRefound({
      member: identity.member,
      clusterId: formation.clusterId,
      peerAddress: flags.advertisePeer === undefined ? '' : (formation.self?.peerAddress ?? ''),
    }),
    clock: nodeClock,
  });
  copyFileSync(join(dataDir, 'identity.json'), join(dataDir, backupName(identity.cluster)));
  const ids = [identity.member];
  const to = { cluster, formation: { members: formation.text, token, ids }, log, image };
  await new Promise<void>((resolve, reject) =>
    directory.refound(to, (error) => (error === undefined ? resolve() : reject(error))),
  );
  console.log(conclusion(identity, { ...made, cluster, address }, directory.image));
}

const backupName = (cluster: string): string => `identity.json.before-${cluster}`;

/** `image-7` behind `image-6`. */
function nextImage(name: string | undefined): string {
  const number = name === undefined ? 0 : Number(name.slice(name.lastIndexOf('-') + 1));
  return `image-${number + 1}`;
}

interface FirstMembers {
  readonly own: string | undefined;
  readonly names: readonly string[];
}

/** Of a directory that does not say how its cluster was formed. */
const UNKNOWN: NonNullable<DataIdentity['formation']> = { members: '', token: '' };

function firstMembers(formation: DataIdentity['formation'], name: string): FirstMembers {
  const { members, self } = formationFrom(formation?.members ?? '', formation?.token ?? '', name);
  const names = members.filter((member) => member !== self).map((member) => member.name);
  return { own: self?.peerAddress, names };
}

function introduction(
  name: string,
  cluster: string,
  dataDir: string,
  { names }: FirstMembers,
): string {
  const formed = names.length === 0 ? 'alone' : `together with ${names.join(', ')}`;
  return [
    `${name} of cluster ${cluster} in ${dataDir}, formed ${formed},`,
    'is to become a cluster of its own.',
    'Do this only when a majority of the members is lost for ever, on the one survivor whose log',
    'reaches furthest. What the others had acknowledged and this member never received is lost.',
    '  - Every entry of its log counts, also those that were not known to be committed.',
    '  - The cluster gets a new id: members of the former one can no longer join it.',
    '  - Revisions and tokens go far ahead, so that none comes again; leases keep what was left.',
    '  - Nothing is deleted: the former identity, log and image stay in the directory.',
  ].join('\n');
}

function conclusion(
  { name, member }: { readonly name: string; readonly member: number },
  made: Recovery,
  image: string | undefined,
): string {
  const gone = made.members.filter(({ id }) => id !== member).map((record) => record.name);
  return [
    `${name} is the only member of cluster ${made.cluster}, at ${made.address}.`,
    `  its log was applied up to entry ${made.lastIndex}, into ${image}`,
    `  revision ${made.revisionBefore} goes on at ${made.revision}`,
    `  no longer members: ${gone.join(', ') || 'none'}`,
    'Start it with `lockstep serve`; --initial-cluster counts no more. Then add members with empty',
    'directories (`lockstep member add`). Never start the former ones again.',
  ].join('\n');
}

async function agrees(): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Go on? Type yes: ');
  terminal.close();
  return answer.trim() === 'yes';
}
