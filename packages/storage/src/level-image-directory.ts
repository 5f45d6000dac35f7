import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Done, FileError, ImageDirectory, ImageStore } from '@lockstep/model';
import { ClassicLevel } from 'classic-level';
import { type LevelDatabase, LevelImageStore } from './level-image-store.ts';
import { syncDirectory, toFileError } from './node-file-system.ts';
import { settlePromise } from './promise-edge.ts';
import { runSteps, tolerate } from './steps.ts';

export interface LevelOptions {
  readonly writeBufferBytes?: number;
  readonly cacheBytes?: number;
}

/** Images as classic-level databases, one directory each, below `root`. */
export class LevelImageDirectory implements ImageDirectory {
  readonly #root: string;
  readonly #options: LevelOptions;

  constructor(root: string, options: LevelOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  open(
    name: string,
    create: boolean,
    done: (error: FileError | undefined, store: ImageStore) => void,
  ): void {
    const location = join(this.#root, name);
    const fail = (error: FileError): void => done(error, undefined as never);
    // LevelDB would make a database out of whatever it finds; its CURRENT file tells one.
    fs.access(join(location, 'CURRENT'), (missing) => {
      if (create && missing === null) fail({ code: 'EEXIST', message: `${location} exists` });
      else if (!create && missing !== null) fail(toFileError(missing));
      else if (create) this.#create(location, done);
      else openLevel(location, this.#options, done);
    });
  }

  #create(location: string, done: (error: FileError | undefined, store: ImageStore) => void): void {
    const make = (next: Done): void =>
      fs.mkdir(this.#root, { recursive: true, mode: 0o700 }, (error) => {
        next(error === null ? undefined : toFileError(error));
      });
    const clear = (next: Done): void => removeTree(location, next);
    runSteps([make, clear], (error) => {
      if (error !== undefined) {
        done(error, undefined as never);
        return;
      }
      openLevel(location, this.#options, (openError, store) => {
        if (openError !== undefined) done(openError, store);
        else this.#syncCreated(location, store, done);
      });
    });
  }

  /** LevelDB syncs neither its new directory nor the one above (reference §6.2). */
  #syncCreated(
    location: string,
    store: ImageStore,
    done: (error: FileError | undefined, store: ImageStore) => void,
  ): void {
    const sync = (path: string) => (next: Done) => syncDirectory(path, next);
    runSteps([sync(location), sync(this.#root)], (error) => done(error, store));
  }

  remove(name: string, done: Done): void {
    const location = join(this.#root, name);
    runSteps(
      [
        (next) => this.#checkClosed(location, tolerate('ENOENT', next)),
        (next) => removeTree(location, next),
        (next) => syncDirectory(this.#root, tolerate('ENOENT', next)),
      ],
      done,
    );
  }

  rename(from: string, to: string, done: Done): void {
    const target = join(this.#root, to);
    runSteps(
      [
        (next) => this.#checkClosed(join(this.#root, from), next),
        (next) =>
          fs.access(target, (missing) =>
            next(missing === null ? { code: 'EEXIST', message: `${target} exists` } : undefined),
          ),
        (next) =>
          fs.rename(join(this.#root, from), target, (error) =>
            next(error === null ? undefined : toFileError(error)),
          ),
        (next) => syncDirectory(this.#root, next),
      ],
      done,
    );
  }

  /** Files must not be moved or removed below an open database: its lock tells. */
  #checkClosed(location: string, done: Done): void {
    fs.access(join(location, 'CURRENT'), (missing) => {
      if (missing !== null) {
        done(toFileError(missing));
        return;
      }
      openLevel(location, {}, (error, store) => {
        // A database that cannot be opened for damage may still be moved aside.
        if (error !== undefined) done(error.code === 'EBUSY' ? error : undefined);
        else store.close(done);
      });
    });
  }
}

/** Opens a database with binary keys and values, made if there is none. */
export function openLevel(
  location: string,
  options: LevelOptions,
  done: (error: FileError | undefined, store: LevelImageStore) => void,
): void {
  const database: LevelDatabase = new ClassicLevel(location, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    ...(options.writeBufferBytes === undefined
      ? {}
      : { writeBufferSize: options.writeBufferBytes }),
    ...(options.cacheBytes === undefined ? {} : { cacheSize: options.cacheBytes }),
  });
  settlePromise(database.open(), (error) => done(error, new LevelImageStore(database)));
}

function removeTree(path: string, done: Done): void {
  fs.rm(path, { recursive: true, force: true }, (error) => {
    done(error === null ? undefined : toFileError(error));
  });
}
