import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type FileError, type Incarnation, LockstepError } from '@lockstep/model';
import type { MemberDirectory } from '@lockstep/replica';
import {
  DataDirectory,
  type DataIdentity,
  LevelImageDirectory,
  lockDirectory,
  NodeFileSystem,
} from '@lockstep/storage';
import { type Formation, formationFrom, formationOf, hex64 } from './formation.ts';
import { formOrJoin, joinedFormation } from './joining.ts';
import type { Settings } from './settings.ts';

/** An operating error of the data directory, with its path. */
export class DataError extends Error {
  override name = 'DataError';
}

export interface MemberData {
  readonly path: string;
  readonly fileSystem: NodeFileSystem;
  readonly images: LevelImageDirectory;
  readonly directory: DataDirectory;
  /** How its cluster was formed, whatever the flags of this start say. */
  readonly formation: Formation;
  readonly incarnation: Incarnation;
  release(): Promise<void>;
}

/**
 * Opens a member's data directory, making it when there is none, locks it against other processes
 * and takes the next incarnation, durable before anything else happens. What a directory says of
 * its member and cluster wins over the flags (design §10), unless they name others: then it throws
 * DATA_DIRECTORY_MISMATCH. Throws what `formOrJoin` says when there is none yet.
 */
export async function openMemberData(
  settings: Settings,
  say: (text: string) => void,
): Promise<MemberData> {
  const path = settings['data-dir'];
  // Bad flags leave no directory behind.
  if (!existsSync(path)) formationOf(settings);
  makeDirectories(path, join(path, 'images'));
  const release = await call<(done: (error?: FileError) => void) => void>(path, (done) =>
    lockDirectory(path, done),
  );
  const fileSystem = new NodeFileSystem(path);
  const unlock = () => new Promise<void>((resolve) => release(() => resolve()));
  try {
    const { directory, formation } = await openOrCreate(fileSystem, path, settings, say);
    const incarnation = await call<Incarnation>(path, (done) => directory.nextIncarnation(done));
    const images = new LevelImageDirectory(join(path, 'images'));
    return { path, fileSystem, images, directory, formation, incarnation, release: unlock };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/**
 * Makes a directory and those above it, one by one: Node's recursive way goes round for ever where
 * the system says that a directory it shows is not there (/proc).
 */
function makeDirectories(path: string, target: string): void {
  const steps = [resolve(target)];
  while (dirname(steps[0]!) !== steps[0]) steps.unshift(dirname(steps[0]!));
  for (const step of steps) {
    try {
      mkdirSync(step);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') continue;
      throw new LockstepError('DATA_DIRECTORY_UNUSABLE', path, whyNot(code, step));
    }
  }
}

function whyNot(code: string | undefined, step: string): string {
  const above = dirname(step);
  switch (code) {
    case 'ENOTDIR':
      return `${above} is not a directory`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not write to ${above}`;
    case 'EROFS':
      return `${above} is read-only`;
    case 'ENOSPC':
      return `no space is left for ${step}`;
    default:
      return `${step} cannot be made (${code})`;
  }
}

async function openOrCreate(
  fileSystem: NodeFileSystem,
  path: string,
  settings: Settings,
  say: (text: string) => void,
): Promise<{ directory: DataDirectory; formation: Formation }> {
  const found = await new Promise<DataDirectory | FileError>((resolve) =>
    DataDirectory.open(fileSystem, (error, directory) => resolve(error ?? directory)),
  );
  if (found instanceof DataDirectory) {
    return { directory: found, formation: knownFormation(path, found.identity, settings) };
  }
  if (found.code !== 'ENOENT') throw new DataError(`${path}: ${found.message}`);
  const formation = await formOrJoin(settings, say);
  const { ids } = formation;
  const identity = {
    uuid: randomUUID(),
    name: formation.self.name,
    member: formation.self.id,
    cluster: hex64(formation.clusterId),
    formation: {
      ...{ members: formation.text, token: formation.token },
      ...(ids === undefined ? {} : { ids }),
    },
  };
  const directory = await call<DataDirectory>(path, (done) =>
    DataDirectory.create(fileSystem, identity, done),
  );
  return { directory, formation };
}

/** How the cluster of an existing directory was formed; checked against flags that say so too. */
function knownFormation(path: string, identity: DataIdentity, settings: Settings): Formation {
  const { name, member, cluster, formation } = identity;
  const own = `member ${member} (${name}) of cluster ${cluster}`;
  // Flags of a member that joined, or was recovered, do not say how the cluster was formed.
  const joins = settings['initial-cluster-state'] === 'existing' || formation?.ids !== undefined;
  if (formation !== undefined && (joins || settings['initial-cluster'] === '')) {
    const { members, token, ids } = formation;
    if (settings.name === name) {
      if (ids !== undefined) return joinedFormation(members, token, name, ids, cluster);
      const { self, ...known } = formationFrom(members, token, name);
      if (self !== undefined) return { ...known, self };
    }
    throw new LockstepError('DATA_DIRECTORY_MISMATCH', path, own, `a member '${settings.name}'`);
  }
  const expected = formationOf(settings);
  const [id, expectedCluster] = [expected.self.id, hex64(expected.clusterId)];
  if (member === id && cluster === expectedCluster) return expected;
  const other = `member ${id} (${expected.self.name}) of cluster ${expectedCluster}`;
  throw new LockstepError('DATA_DIRECTORY_MISMATCH', path, own, other);
}

/** The part of the data directory that the replica uses. */
export function memberDirectoryOf(directory: DataDirectory): MemberDirectory {
  return {
    get image() {
      return directory.image;
    },
    nextIncarnation: (done) => directory.nextIncarnation(done),
    switchImage: (name, done) => directory.setImage(name, done),
  };
}

function call<T>(
  path: string,
  run: (done: (error: FileError | undefined, value: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    run((error, value) => {
      if (error === undefined) resolve(value);
      else reject(new DataError(`${path}: ${error.message}`));
    });
  });
}
