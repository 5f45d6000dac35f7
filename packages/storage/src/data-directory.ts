import { crc32 } from 'node:zlib';
import type {
  Done,
  FileError,
  FileHandle,
  FileSystem,
  Incarnation,
  MemberId,
} from '@lockstep/model';
import { LockstepError } from '@lockstep/model';
import { readFile, runSteps, tolerate } from './steps.ts';

/** Who owns a data directory. Fixed for its life. */
export interface DataIdentity {
  /** Made when the directory is; tells it from another one of the same member. */
  readonly uuid: string;
  readonly name: string;
  readonly member: MemberId;
  /** 64-bit cluster id as 16 hex digits. */
  readonly cluster: string;
  /** What the cluster was formed from, so that a restart needs no flags to know it. */
  readonly formation?: {
    /** First members as `name=host:port`, separated by commas. */
    readonly members: string;
    readonly token: string;
    /** Of a member that joined later: the members it found, and itself, with their ids in the same
     * order. Left out: they formed the cluster, and the order of names gives the ids. */
    readonly ids?: readonly MemberId[];
  };
  /** Directory of the log below this one; left out: `wal`. */
  readonly log?: string;
}

interface Contents extends DataIdentity {
  readonly format: 1;
  readonly incarnation: Incarnation;
  readonly image: string | null;
}

const FILE = 'identity.json';
const TEMPORARY = 'identity.json.new';
const FILE_BYTES_MAX = 64 * 1024;

/**
 * The identity file of a data directory: owner, incarnation counter and the name of the active
 * image. Every change writes a new file, syncs it, renames it over the old one and syncs the
 * directory: after a crash at any step the file is the old or the new one, never a mixture.
 */
export class DataDirectory {
  readonly #fileSystem: FileSystem;
  #contents: Contents;
  readonly #waiting: (() => void)[] = [];
  #isWriting = false;

  private constructor(fileSystem: FileSystem, contents: Contents) {
    this.#fileSystem = fileSystem;
    this.#contents = contents;
  }

  /** Error ENOENT when the directory has no identity yet; EBADF when the file is damaged. */
  static open(
    fileSystem: FileSystem,
    done: (error: FileError | undefined, directory: DataDirectory) => void,
  ): void {
    readFile(fileSystem, FILE, FILE_BYTES_MAX, (error, bytes) => {
      const contents = error === undefined ? parse(bytes) : error;
      if ('code' in contents) done(contents, undefined as never);
      else done(undefined, new DataDirectory(fileSystem, contents));
    });
  }

  /** Gives a directory its identity; EEXIST when it has one. */
  static create(
    fileSystem: FileSystem,
    identity: DataIdentity,
    done: (error: FileError | undefined, directory: DataDirectory) => void,
  ): void {
    DataDirectory.open(fileSystem, (error) => {
      if (error?.code !== 'ENOENT') {
        const exists = { code: 'EEXIST', message: `${FILE} exists` };
        done(error ?? exists, undefined as never);
        return;
      }
      const { uuid, name, member, cluster, formation } = identity;
      const contents: Contents = {
        format: 1,
        uuid,
        name,
        member,
        cluster,
        ...(formation === undefined ? {} : { formation }),
        incarnation: 0,
        image: null,
      };
      const directory = new DataDirectory(fileSystem, contents);
      directory.#write(contents, (writeError) => done(writeError, directory));
    });
  }

  get identity(): DataIdentity {
    const { uuid, name, member, cluster, formation, log } = this.#contents;
    return {
      ...{ uuid, name, member, cluster },
      ...(formation === undefined ? {} : { formation }),
      ...(log === undefined ? {} : { log }),
    };
  }

  /** The last incarnation taken, 0 before the first. */
  get incarnation(): Incarnation {
    return this.#contents.incarnation;
  }

  /** Name of the active image; `undefined` before the first. */
  get image(): string | undefined {
    return this.#contents.image ?? undefined;
  }

  /** DATA_DIRECTORY_MISMATCH when the directory belongs to somebody else. */
  check(expected: Pick<DataIdentity, 'member' | 'cluster'>, path: string): FileError | undefined {
    const { member, cluster } = this.#contents;
    if (member === expected.member && cluster === expected.cluster) return undefined;
    const { code, message } = new LockstepError(
      'DATA_DIRECTORY_MISMATCH',
      path,
      `member ${member} of cluster ${cluster}`,
      `member ${expected.member} of cluster ${expected.cluster}`,
    );
    return { code, message };
  }

  /** Takes the next incarnation; it is durable when `done` runs. */
  nextIncarnation(done: (error: FileError | undefined, incarnation: Incarnation) => void): void {
    this.#change(
      (contents) => ({ ...contents, incarnation: contents.incarnation + 1 }),
      (error) => done(error, this.incarnation),
    );
  }

  /** Switches the active image; the image must be durable before. */
  setImage(image: string, done: Done): void {
    this.#change((contents) => ({ ...contents, image }), done);
  }

  /**
   * The directory becomes that of another cluster, with another image and log, which must be
   * durable before. Member, name, uuid and incarnation stay.
   */
  refound(
    to: Pick<DataIdentity, 'cluster' | 'formation'> & { log: string; image: string },
    done: Done,
  ): void {
    this.#change((contents) => ({ ...contents, ...to }), done);
  }

  /** Changes run one after another, each on what the one before left. */
  #change(change: (contents: Contents) => Contents, done: Done): void {
    const start = (): void => {
      this.#isWriting = true;
      const contents = change(this.#contents);
      this.#write(contents, (error) => {
        if (error === undefined) this.#contents = contents;
        this.#isWriting = false;
        this.#waiting.shift()?.();
        done(error);
      });
    };
    if (this.#isWriting) this.#waiting.push(start);
    else start();
  }

  #write(contents: Contents, done: Done): void {
    const fileSystem = this.#fileSystem;
    let file: FileHandle = 0;
    runSteps(
      [
        (next) => fileSystem.unlink(TEMPORARY, tolerate('ENOENT', next)),
        (next) =>
          fileSystem.open(TEMPORARY, 'create', (error, opened) => {
            file = opened;
            next(error);
          }),
        (next) => fileSystem.write(file, [format(contents)], 0, next),
        (next) => fileSystem.sync(file, next),
        (next) => fileSystem.close(file, next),
        (next) => fileSystem.rename(TEMPORARY, FILE, next),
        (next) => fileSystem.syncDirectory('', next),
      ],
      done,
    );
  }
}

/** One line of JSON and one with its checksum: people read this file. */
function format(contents: Contents): Uint8Array {
  const text = `${JSON.stringify(contents)}\n`;
  return Buffer.from(`${text}${crc32(text).toString(16).padStart(8, '0')}\n`);
}

function parse(bytes: Uint8Array): Contents | FileError {
  const [text, checksum] = Buffer.from(bytes).toString().split('\n');
  const expected = crc32(`${text}\n`).toString(16).padStart(8, '0');
  if (checksum !== expected) {
    return { code: 'EBADF', message: `${FILE} is damaged: its checksum is wrong` };
  }
  const contents = JSON.parse(text!) as Contents;
  if (contents.format !== 1) {
    return { code: 'EBADF', message: `${FILE} has the unknown format ${contents.format}` };
  }
  return contents;
}
