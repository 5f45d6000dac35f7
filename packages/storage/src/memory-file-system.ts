import type {
  Clock,
  Done,
  FileError,
  FileHandle,
  FileSystem,
  Random,
  Scheduler,
} from '@lockstep/model';
import { invariant } from '@lockstep/model';
import { MemoryInode } from './memory-inode.ts';
import { directoryOf, MemoryNames } from './memory-names.ts';

export type FileOperationKind = keyof FileSystem;

export interface FileOperation {
  readonly kind: FileOperationKind;
  readonly path: string;
  /** Counts all operations of the disk, from 1. */
  readonly number: number;
}

export interface MemoryDiskOptions {
  /** Decides what a power loss keeps. */
  readonly random: Random;
  /** Completes operations without a delay. */
  readonly scheduler: Scheduler;
  /** Needed when `delayMs` returns more than 0. */
  readonly clock?: Pick<Clock, 'setTimer'>;
}

/**
 * A disk in memory for tests and the simulator. `mount` gives the FileSystem of one process life;
 * `crash` (power loss) and `kill` (process only) end it: its callbacks never run again and what it
 * still asks for is ignored. Content then is what the medium, or the page cache, held.
 */
export class MemoryDisk {
  /** Called before each operation takes effect; may crash the disk, then it does not happen. */
  before: ((operation: FileOperation) => void) | undefined;
  /** What a read gives instead of these bytes of the file: misdirected or stale, say. */
  reading: ((path: string, offset: number, bytes: Uint8Array) => Uint8Array) | undefined;
  /** How long an operation takes; `Infinity` hangs it and all behind it on that file. */
  delayMs: ((operation: FileOperation) => number) | undefined;
  /** Sum of file sizes; a write beyond it writes what fits and fails with ENOSPC. */
  capacityBytes = Number.POSITIVE_INFINITY;
  readonly names = new MemoryNames();
  readonly options: MemoryDiskOptions;
  #life = 0;
  #operations = 0;
  #faults: { kind: FileOperationKind; error: FileError; path: string | undefined }[] = [];

  constructor(options: MemoryDiskOptions) {
    this.options = options;
  }

  get life(): number {
    return this.#life;
  }

  get operations(): number {
    return this.#operations;
  }

  mount(): MemoryFileSystem {
    return new MemoryFileSystem(this, this.#life);
  }

  /** Power loss: each unsynced sector and name change is kept, dropped or torn by itself. */
  crash(): void {
    this.#life += 1;
    this.#faults = [];
    // Names first: a dropped removal brings its file back, with its own unsynced sectors.
    this.names.crash(this.options.random);
    for (const inode of new Set(this.names.files())) inode.crash(this.options.random);
  }

  /** The process dies, the machine goes on: the page cache survives. */
  kill(): void {
    this.#life += 1;
    this.#faults = [];
  }

  /**
   * The next operation of that kind (on that path) fails. A failed sync drops the dirty pages:
   * later syncs succeed without them.
   */
  failNext(kind: FileOperationKind, error: FileError = INPUT_OUTPUT_ERROR, path?: string): void {
    this.#faults.push({ kind, error, path });
  }

  /** Bit rot at rest. */
  flipBit(path: string, offset: number, bit: number): void {
    const inode = this.names.file(path);
    invariant(inode !== undefined, `no file ${path} to damage`);
    inode.flipBit(offset, bit);
  }

  usedBytes(): number {
    let sum = 0;
    for (const inode of this.names.files()) sum += inode.size;
    return sum;
  }

  /** Numbers an operation and lets the hook see it. */
  begin(kind: FileOperationKind, path: string): FileOperation {
    this.#operations += 1;
    const operation = { kind, path, number: this.#operations };
    this.before?.(operation);
    return operation;
  }

  takeFault(operation: FileOperation): FileError | undefined {
    const at = this.#faults.findIndex(
      (fault) =>
        fault.kind === operation.kind &&
        (fault.path === undefined || fault.path === operation.path),
    );
    return at < 0 ? undefined : this.#faults.splice(at, 1)[0]!.error;
  }
}

const INPUT_OUTPUT_ERROR: FileError = { code: 'EIO', message: 'injected input/output error' };
const NO_FILE = 0 as FileHandle;

interface OpenFile {
  readonly path: string;
  readonly inode: MemoryInode;
}

interface Completion {
  ready: boolean;
  readonly run: () => void;
}

/** The FileSystem port on a MemoryDisk; operations on one file complete in order. */
export class MemoryFileSystem implements FileSystem {
  readonly #disk: MemoryDisk;
  readonly #life: number;
  readonly #open = new Map<number, OpenFile>();
  readonly #queues = new Map<string, Completion[]>();
  #nextHandle = 1;

  constructor(disk: MemoryDisk, life: number) {
    this.#disk = disk;
    this.#life = life;
  }

  /**
   * Runs one operation: `effect` at once (it may fail), `completed` when the delay is over. After
   * the end of this process life neither happens.
   */
  #run(
    kind: FileOperationKind,
    path: string,
    effect: () => FileError | undefined,
    completed: (error: FileError | undefined) => void,
    failed?: () => void,
  ): void {
    if (this.#disk.life !== this.#life) return;
    const operation = this.#disk.begin(kind, path);
    if (this.#disk.life !== this.#life) return;
    const fault = this.#disk.takeFault(operation);
    if (fault !== undefined) failed?.();
    const error = fault ?? effect();
    this.#complete(operation, () => completed(error));
  }

  #complete(operation: FileOperation, run: () => void): void {
    const { scheduler, clock } = this.#disk.options;
    const queue = this.#queues.get(operation.path) ?? [];
    this.#queues.set(operation.path, queue);
    const completion: Completion = { ready: false, run };
    queue.push(completion);
    const fire = (): void => {
      completion.ready = true;
      this.#drain(operation.path, queue);
    };
    const delay = this.#disk.delayMs?.(operation) ?? 0;
    if (delay === Number.POSITIVE_INFINITY) return;
    if (delay <= 0) scheduler.post(fire);
    else {
      invariant(clock !== undefined, 'a delayed disk operation needs a clock');
      clock.setTimer(delay, fire);
    }
  }

  #drain(path: string, queue: Completion[]): void {
    while (queue[0]?.ready === true && this.#disk.life === this.#life) queue.shift()!.run();
    if (queue.length === 0 && this.#queues.get(path) === queue) this.#queues.delete(path);
  }

  #file(file: FileHandle): OpenFile {
    const open = this.#open.get(file);
    invariant(
      open !== undefined || this.#disk.life !== this.#life,
      `file handle ${file} is not open`,
    );
    return open ?? { path: '', inode: new MemoryInode() };
  }

  open(
    path: string,
    mode: 'read' | 'write' | 'create',
    done: (error: FileError | undefined, file: FileHandle) => void,
  ): void {
    let handle: FileHandle = NO_FILE;
    const effect = (): FileError | undefined => {
      const { names } = this.#disk;
      let inode = names.file(path);
      if (mode === 'create') {
        if (names.has(path)) return { code: 'EEXIST', message: `${path} exists` };
        if (!names.isDirectory(directoryOf(path))) return missing(path);
        inode = new MemoryInode();
        names.create(path, inode);
      }
      if (inode === undefined) return missing(path);
      handle = this.#nextHandle++;
      this.#open.set(handle, { path, inode });
      return undefined;
    };
    this.#run('open', path, effect, (error) => done(error, handle));
  }

  close(file: FileHandle, done: Done): void {
    const { path } = this.#file(file);
    const effect = (): undefined => {
      this.#open.delete(file);
      return undefined;
    };
    this.#run('close', path, effect, done);
  }

  write(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void {
    const { path, inode } = this.#file(file);
    const effect = (): FileError | undefined => {
      const data = Buffer.concat(buffers);
      const growth = Math.max(0, offset + data.length - inode.size);
      const excess = growth - Math.max(0, this.#disk.capacityBytes - this.#disk.usedBytes());
      if (growth === 0 || excess <= 0) {
        inode.write(offset, data);
        return undefined;
      }
      if (excess < data.length) inode.write(offset, data.slice(0, data.length - excess));
      return { code: 'ENOSPC', message: `no space left for ${path}` };
    };
    this.#run('write', path, effect, done);
  }

  writeDurably(file: FileHandle, buffers: readonly Uint8Array[], offset: number, done: Done): void {
    this.write(file, buffers, offset, (error) => {
      if (error !== undefined) done(error);
      else this.sync(file, done);
    });
  }

  sync(file: FileHandle, done: Done): void {
    const { path, inode } = this.#file(file);
    const order = inode.order;
    this.#run(
      'sync',
      path,
      () => undefined,
      (error) => {
        if (error === undefined) inode.sync(order);
        done(error);
      },
      () => inode.loseDirty(order),
    );
  }

  read(
    file: FileHandle,
    offset: number,
    length: number,
    done: (error: FileError | undefined, bytes: Uint8Array) => void,
  ): void {
    const { path, inode } = this.#file(file);
    let bytes: Uint8Array = new Uint8Array(0);
    const effect = (): undefined => {
      const held = inode.read(offset, length);
      bytes = this.#disk.reading?.(path, offset, held) ?? held;
      return undefined;
    };
    this.#run('read', path, effect, (error) => done(error, bytes));
  }

  size(file: FileHandle, done: (error: FileError | undefined, sizeBytes: number) => void): void {
    const { path, inode } = this.#file(file);
    this.#run(
      'size',
      path,
      () => undefined,
      (error) => done(error, inode.size),
    );
  }

  truncate(file: FileHandle, sizeBytes: number, done: Done): void {
    const { path, inode } = this.#file(file);
    const effect = (): undefined => {
      inode.truncate(sizeBytes);
      return undefined;
    };
    this.#run('truncate', path, effect, done);
  }

  rename(from: string, to: string, done: Done): void {
    const effect = (): FileError | undefined => {
      if (this.#disk.names.file(from) === undefined) return missing(from);
      this.#disk.names.rename(from, to);
      return undefined;
    };
    this.#run('rename', from, effect, done);
  }

  unlink(path: string, done: Done): void {
    const effect = (): FileError | undefined => {
      if (this.#disk.names.file(path) === undefined) return missing(path);
      this.#disk.names.unlink(path);
      return undefined;
    };
    this.#run('unlink', path, effect, done);
  }

  makeDirectory(path: string, done: Done): void {
    const effect = (): FileError | undefined => {
      if (this.#disk.names.has(path)) return { code: 'EEXIST', message: `${path} exists` };
      if (!this.#disk.names.isDirectory(directoryOf(path))) return missing(path);
      this.#disk.names.create(path, undefined);
      return undefined;
    };
    this.#run('makeDirectory', path, effect, done);
  }

  list(path: string, done: (error: FileError | undefined, names: string[]) => void): void {
    let names: string[] = [];
    const effect = (): FileError | undefined => {
      if (!this.#disk.names.isDirectory(path)) return missing(path);
      names = this.#disk.names.list(path);
      return undefined;
    };
    this.#run('list', path, effect, (error) => done(error, names));
  }

  syncDirectory(path: string, done: Done): void {
    const order = this.#disk.names.order;
    this.#run(
      'syncDirectory',
      path,
      () => undefined,
      (error) => {
        if (error === undefined) this.#disk.names.sync(path, order);
        done(error);
      },
    );
  }
}

function missing(path: string): FileError {
  return { code: 'ENOENT', message: `no such file or directory: ${path}` };
}
