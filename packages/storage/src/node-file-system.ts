import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Done, FileError, FileHandle, FileSystem } from '@lockstep/model';
import { runSteps } from './steps.ts';

const FLAGS = { read: 'r', write: 'r+', create: 'wx+' } as const;
const NO_BYTES = new Uint8Array(0);

/**
 * Open flags for writes that return when the bytes are durable. Only Linux promises of O_DSYNC what
 * fdatasync promises: elsewhere it may leave them in the drive's cache, or does not exist.
 */
const DURABLE_FLAGS =
  process.platform === 'linux' ? fs.constants.O_WRONLY | fs.constants.O_DSYNC : undefined;

/** Reduces an error of Node to what the port tells: the operating system's code and the text. */
export function toFileError(error: unknown): FileError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: typeof code === 'string' ? code : 'EIO', message: String(message ?? error) };
}

const settle =
  (done: Done) =>
  (error: Error | null): void =>
    done(error === null ? undefined : toFileError(error));

/**
 * The FileSystem port on node:fs, below one root directory. The thread pool may run two
 * operations on one file at a time, so each file has a queue that keeps their order.
 */
export class NodeFileSystem implements FileSystem {
  readonly root: string;
  /** Operations that wait, by file; a file with an operation under way has an entry. */
  readonly #queues = new Map<FileHandle, (() => void)[]>();
  /** A second descriptor of each file open for writing, whose writes are durable when they end. */
  readonly #durable = new Map<FileHandle, number>();

  constructor(root: string) {
    this.root = root;
  }

  #path(path: string): string {
    return join(this.root, path);
  }

  /** Runs `start` when the operations before it on that file are done. */
  #enqueue(file: FileHandle, start: () => void): void {
    const queue = this.#queues.get(file);
    if (queue !== undefined) {
      queue.push(start);
      return;
    }
    this.#queues.set(file, []);
    start();
  }

  /** The operation under way is over: starts the next one. */
  #next(file: FileHandle): void {
    const start = this.#queues.get(file)?.shift();
    if (start === undefined) this.#queues.delete(file);
    else start();
  }

  #run(file: FileHandle, start: (done: Done) => void, done: Done): void {
    this.#enqueue(file, () =>
      start((error) => {
        this.#next(file);
        done(error);
      }),
    );
  }

  open(
    path: string,
    mode: 'read' | 'write' | 'create',
    done: (error: FileError | undefined, file: FileHandle) => void,
  ): void {
    fs.open(this.#path(path), FLAGS[mode], 0o600, (error, descriptor) => {
      if (error !== null) done(toFileError(error), descriptor);
      else if (mode === 'read' || DURABLE_FLAGS === undefined) done(undefined, descriptor);
      else this.#openDurable(path, DURABLE_FLAGS, descriptor, done);
    });
  }

  #openDurable(
    path: string,
    flags: number,
    file: FileHandle,
    done: (error: FileError | undefined, file: FileHandle) => void,
  ): void {
    fs.open(this.#path(path), flags, (error, durable) => {
      if (error === null) {
        this.#durable.set(file, durable);
        done(undefined, file);
      } else fs.close(file, () => done(toFileError(error), file));
    });
  }

  close(file: FileHandle, done: Done): void {
    const durable = this.#durable.get(file);
    this.#durable.delete(file);
    const close = (next: Done): void => {
      if (durable === undefined) fs.close(file, settle(next));
      else fs.close(durable, (first) => fs.close(file, (second) => settle(next)(first ?? second)));
    };
    this.#run(file, close, done);
  }

  write(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void {
    this.#run(file, (next) => writeAll(file, buffers, offset, next), done);
  }

  /**
   * One operation where the system has it: each one costs a way into the thread pool and back,
   * which is more than the writing itself.
   */
  writeDurably(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void {
    const durable = this.#durable.get(file);
    const start = (next: Done): void => {
      if (durable !== undefined) {
        writeAll(durable, buffers, offset, next);
        return;
      }
      writeAll(file, buffers, offset, (error) => {
        if (error !== undefined) next(error);
        else fs.fdatasync(file, settle(next));
      });
    };
    this.#run(file, start, done);
  }

  sync(file: FileHandle, done: Done): void {
    this.#run(file, (next) => fs.fdatasync(file, settle(next)), done);
  }

  read(
    file: FileHandle,
    offset: number,
    length: number,
    done: (error: FileError | undefined, bytes: Uint8Array) => void,
  ): void {
    const bytes = Buffer.allocUnsafeSlow(length);
    let filled = 0;
    const readRest = (next: Done): void => {
      fs.read(file, bytes, filled, length - filled, offset + filled, (error, count) => {
        if (error !== null) {
          next(toFileError(error));
          return;
        }
        filled += count;
        if (count === 0 || filled === length) next(undefined);
        else readRest(next);
      });
    };
    const finish: Done = (error) =>
      done(error, error === undefined ? bytes.subarray(0, filled) : NO_BYTES);
    if (length === 0) this.#run(file, (next) => queueMicrotask(() => next(undefined)), finish);
    else this.#run(file, readRest, finish);
  }

  size(file: FileHandle, done: (error: FileError | undefined, sizeBytes: number) => void): void {
    let sizeBytes = 0;
    const start = (next: Done): void =>
      fs.fstat(file, (error, stats) => {
        if (error === null) sizeBytes = stats.size;
        next(error === null ? undefined : toFileError(error));
      });
    this.#run(file, start, (error) => done(error, sizeBytes));
  }

  truncate(file: FileHandle, sizeBytes: number, done: Done): void {
    this.#run(file, (next) => fs.ftruncate(file, sizeBytes, settle(next)), done);
  }

  rename(from: string, to: string, done: Done): void {
    fs.rename(this.#path(from), this.#path(to), settle(done));
  }

  unlink(path: string, done: Done): void {
    fs.unlink(this.#path(path), settle(done));
  }

  makeDirectory(path: string, done: Done): void {
    fs.mkdir(this.#path(path), 0o700, settle(done));
  }

  list(path: string, done: (error: FileError | undefined, names: string[]) => void): void {
    fs.readdir(this.#path(path), (error, names) => {
      if (error !== null) done(toFileError(error), []);
      else done(undefined, names.sort());
    });
  }

  syncDirectory(path: string, done: Done): void {
    syncDirectory(this.#path(path), done);
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string, done: Done): void {
  let descriptor = -1;
  const open = (next: Done): void =>
    fs.open(path, 'r', (error, opened) => {
      descriptor = opened;
      next(error === null ? undefined : toFileError(error));
    });
  runSteps([open], (openError) => {
    if (openError !== undefined) {
      done(openError);
      return;
    }
    fs.fsync(descriptor, (syncError) => {
      fs.close(descriptor, (closeError) => settle(done)(syncError ?? closeError ?? null));
    });
  });
}

/** Writes every byte: the system may write less than it is asked to. */
function writeAll(
  file: FileHandle,
  buffers: readonly Uint8Array[],
  offset: number,
  done: Done,
): void {
  fs.writev(file, buffers as Uint8Array[], offset, (error, written) => {
    if (error !== null) {
      done(toFileError(error));
      return;
    }
    const rest = remainingBuffers(buffers, written);
    if (rest.length === 0) done(undefined);
    else if (written === 0) done({ code: 'EIO', message: `write at ${offset} made no progress` });
    else writeAll(file, rest, offset + written, done);
  });
}

/** What is left of the buffers after `written` bytes. */
export function remainingBuffers(buffers: readonly Uint8Array[], written: number): Uint8Array[] {
  let skip = written;
  const rest: Uint8Array[] = [];
  for (const buffer of buffers) {
    if (skip < buffer.length) rest.push(skip === 0 ? buffer : buffer.subarray(skip));
    skip = Math.max(0, skip - buffer.length);
  }
  return rest;
}
