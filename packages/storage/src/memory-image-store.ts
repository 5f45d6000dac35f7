import type {
  Done,
  FileError,
  ImageChange,
  ImageDirectory,
  ImageSnapshot,
  ImageStore,
  Random,
  Scheduler,
} from '@lockstep/model';
import {
  type ByteString,
  copyBytes,
  fromByteString,
  invariant,
  toByteString,
} from '@lockstep/model';

type Records = Map<ByteString, Uint8Array>;

interface Batch {
  readonly changes: readonly { readonly key: ByteString; readonly value: Uint8Array | undefined }[];
}

/** One image: the records seen, those durable, and the batches between. */
class MemoryImage {
  records: Records = new Map();
  durable: Records = new Map();
  pending: Batch[] = [];
  isOpen = false;

  write(batch: Batch): void {
    applyBatch(this.records, batch);
    this.pending.push(batch);
  }

  sync(): void {
    for (const batch of this.pending) applyBatch(this.durable, batch);
    this.pending = [];
  }

  /** Power loss: a suffix of the unsynced batches is lost, as in a LevelDB log. */
  crash(random: Random): void {
    const kept = this.pending.slice(0, random.u32() % (this.pending.length + 1));
    for (const batch of kept) applyBatch(this.durable, batch);
    this.pending = [];
    this.records = new Map(this.durable);
    this.isOpen = false;
  }
}

function applyBatch(records: Records, batch: Batch): void {
  for (const { key, value } of batch.changes) {
    if (value === undefined) records.delete(key);
    else records.set(key, value);
  }
}

/** The medium under memory images; survives the directories mounted on it. */
export class MemoryImageDisk {
  readonly images = new Map<string, MemoryImage>();
  readonly random: Random;
  readonly scheduler: Scheduler;
  /** Called before each write and directory operation; may crash the disk. */
  before: ((operation: string, name: string) => void) | undefined;
  /** The next write fails with it; as with LevelDB all later writes of that store fail too. */
  failNextWrite: FileError | undefined;
  #life = 0;

  constructor(options: { readonly random: Random; readonly scheduler: Scheduler }) {
    this.random = options.random;
    this.scheduler = options.scheduler;
  }

  get life(): number {
    return this.#life;
  }

  /** The ImageDirectory of one process life. */
  mount(): MemoryImageDirectory {
    return new MemoryImageDirectory(this);
  }

  crash(): void {
    this.#life += 1;
    this.failNextWrite = undefined;
    for (const image of this.images.values()) image.crash(this.random);
  }

  /** The process dies, the machine goes on: unsynced batches survive. */
  kill(): void {
    this.#life += 1;
    this.failNextWrite = undefined;
    for (const image of this.images.values()) image.isOpen = false;
  }
}

/**
 * Twin of the classic-level directory. Creating, removing and renaming an image are atomic and
 * durable at once; after `crash` or `kill` of the disk nothing calls back any more.
 */
export class MemoryImageDirectory implements ImageDirectory {
  readonly #disk: MemoryImageDisk;
  readonly #life: number;

  constructor(disk: MemoryImageDisk) {
    this.#disk = disk;
    this.#life = disk.life;
  }

  open(
    name: string,
    create: boolean,
    done: (error: FileError | undefined, store: ImageStore) => void,
  ): void {
    let store: MemoryImageStore | undefined;
    const effect = (): FileError | undefined => {
      const { images } = this.#disk;
      if (create && images.has(name)) return { code: 'EEXIST', message: `image ${name} exists` };
      if (create) images.set(name, new MemoryImage());
      const image = images.get(name);
      if (image === undefined) return missing(name);
      if (image.isOpen) return { code: 'EBUSY', message: `image ${name} is open` };
      image.isOpen = true;
      store = new MemoryImageStore(this.#disk, image, name);
      return undefined;
    };
    this.#run('open', name, effect, (error) => done(error, store as MemoryImageStore));
  }

  remove(name: string, done: Done): void {
    const effect = (): FileError | undefined => {
      if (this.#disk.images.get(name)?.isOpen === true) return open(name);
      this.#disk.images.delete(name);
      return undefined;
    };
    this.#run('remove', name, effect, done);
  }

  rename(from: string, to: string, done: Done): void {
    const effect = (): FileError | undefined => {
      const image = this.#disk.images.get(from);
      if (image === undefined) return missing(from);
      if (image.isOpen) return open(from);
      if (this.#disk.images.has(to)) return { code: 'EEXIST', message: `image ${to} exists` };
      this.#disk.images.delete(from);
      this.#disk.images.set(to, image);
      return undefined;
    };
    this.#run('rename', from, effect, done);
  }

  #run(operation: string, name: string, effect: () => FileError | undefined, done: Done): void {
    if (this.#disk.life !== this.#life) return;
    this.#disk.before?.(operation, name);
    if (this.#disk.life !== this.#life) return;
    const error = effect();
    this.#disk.scheduler.post(() => {
      if (this.#disk.life === this.#life) done(error);
    });
  }
}

function missing(name: string): FileError {
  return { code: 'ENOENT', message: `no image ${name}` };
}

function open(name: string): FileError {
  return { code: 'EBUSY', message: `image ${name} is open` };
}

/** ImageStore in memory, ordered by key bytes. */
export class MemoryImageStore implements ImageStore {
  readonly #disk: MemoryImageDisk;
  readonly #image: MemoryImage;
  readonly #name: string;
  readonly #life: number;
  #writing = false;
  #latched: FileError | undefined;

  constructor(disk: MemoryImageDisk, image: MemoryImage, name: string) {
    this.#disk = disk;
    this.#image = image;
    this.#name = name;
    this.#life = disk.life;
  }

  write(changes: readonly ImageChange[], sync: boolean, done: Done): void {
    if (this.#disk.life !== this.#life) return;
    invariant(this.#image.isOpen, `write to the closed image ${this.#name}`);
    invariant(!this.#writing, `a second write to image ${this.#name} while one is in flight`);
    this.#disk.before?.('write', this.#name);
    if (this.#disk.life !== this.#life) return;
    this.#latched ??= this.#disk.failNextWrite;
    this.#disk.failNextWrite = undefined;
    this.#writing = true;
    if (this.#latched === undefined) {
      this.#image.write({
        changes: changes.map(({ key, value }) => ({
          key: toByteString(key),
          value: value === undefined ? undefined : copyBytes(value),
        })),
      });
    }
    this.#post(() => {
      this.#writing = false;
      if (sync && this.#latched === undefined) this.#image.sync();
      done(this.#latched);
    });
  }

  getMany(
    keys: readonly Uint8Array[],
    done: (error: FileError | undefined, values: (Uint8Array | undefined)[]) => void,
  ): void {
    const { records } = this.#image;
    const values = keys.map((key) => {
      const value = records.get(toByteString(key));
      return value === undefined ? undefined : copyBytes(value);
    });
    this.#post(() => done(undefined, values));
  }

  snapshot(): ImageSnapshot {
    const records = [...this.#image.records].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    let at = 0;
    let isClosed = false;
    return {
      next: (bytes, done) => {
        invariant(!isClosed, `read of a closed snapshot of image ${this.#name}`);
        const page: { key: Uint8Array; value: Uint8Array }[] = [];
        for (let left = bytes; at < records.length && (left > 0 || page.length === 0); at++) {
          const [key, value] = records[at]!;
          page.push({ key: fromByteString(key), value: copyBytes(value) });
          left -= key.length + value.length;
        }
        this.#post(() => {
          if (!isClosed) done(undefined, page);
        });
      },
      close: () => {
        isClosed = true;
      },
    };
  }

  close(done: Done): void {
    this.#post(() => {
      this.#image.isOpen = false;
      done(undefined);
    });
  }

  #post(callback: () => void): void {
    this.#disk.scheduler.post(() => {
      if (this.#disk.life === this.#life) callback();
    });
  }
}
