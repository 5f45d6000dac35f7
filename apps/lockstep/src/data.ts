import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type FileError, type Incarnation, LockstepError } from '@lockstep/model';
import type { MemberDirectory } from '@lockstep/replica';
import {
  DataDirectory,
  LevelImageDirectory,
  lockDirectory,
  NodeFileSystem,
} from '@lockstep/storage';
import { type Formation, hex64 } from './formation.ts';

/** An operating error of the data directory, with its path. */
export class DataError extends Error {
  override name = 'DataError';
}

export interface MemberData {
  readonly path: string;
  readonly fileSystem: NodeFileSystem;
  readonly images: LevelImageDirectory;
  readonly directory: DataDirectory;
  readonly incarnation: Incarnation;
  release(): Promise<void>;
}

/**
 * Opens a member's data directory, making it when there is none, locks it against other processes
 * and takes the next incarnation, durable before anything else happens. Throws
 * DATA_DIRECTORY_MISMATCH when it belongs to another member or cluster.
 */
export async function openMemberData(path: string, formation: Formation): Promise<MemberData> {
  mkdirSync(join(path, 'images'), { recursive: true });
  const release = await call<(done: (error?: FileError) => void) => void>(path, (done) =>
    lockDirectory(path, done),
  );
  const fileSystem = new NodeFileSystem(path);
  const directory = await openOrCreate(fileSystem, path, formation);
  const { member, cluster } = directory.identity;
  const expected = { member: formation.self.id, cluster: hex64(formation.clusterId) };
  if (member !== expected.member || cluster !== expected.cluster) {
    throw new LockstepError(
      'DATA_DIRECTORY_MISMATCH',
      path,
      `member ${member} of cluster ${cluster}`,
      `member ${expected.member} of cluster ${expected.cluster}`,
    );
  }
  const incarnation = await call<Incarnation>(path, (done) => directory.nextIncarnation(done));
  return {
    path,
    fileSystem,
    images: new LevelImageDirectory(join(path, 'images')),
    directory,
    incarnation,
    release: () => new Promise((resolve) => release(() => resolve())),
  };
}

async function openOrCreate(
  fileSystem: NodeFileSystem,
  path: string,
  formation: Formation,
): Promise<DataDirectory> {
  const found = await new Promise<DataDirectory | FileError>((resolve) =>
    DataDirectory.open(fileSystem, (error, directory) => resolve(error ?? directory)),
  );
  if (found instanceof DataDirectory) return found;
  if (found.code !== 'ENOENT') throw new DataError(`${path}: ${found.message}`);
  const identity = {
    uuid: randomUUID(),
    name: formation.self.name,
    member: formation.self.id,
    cluster: hex64(formation.clusterId),
  };
  return call<DataDirectory>(path, (done) => DataDirectory.create(fileSystem, identity, done));
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
