import type { Done, FileError, ImageChange, ImageSnapshot, ImageStore } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { ClassicLevel, Iterator as LevelIterator } from 'classic-level';
import { settlePromise } from './promise-edge.ts';

export type LevelDatabase = ClassicLevel<Uint8Array, Uint8Array>;

/** Records of one page of a snapshot, beside its limit in bytes. */
const PAGE_RECORDS_MAX = 10_000;

const SPACE_RETRY_MS = 1000;

/**
 * ImageStore on classic-level. One write is in flight at a time: LevelDB would merge several only
 * by blocking threads of the pool that file operations need too.
 */
export class LevelImageStore implements ImageStore {
  readonly #database: LevelDatabase;
  #isWriting = false;
  #isClosed = false;
  /** What waits for a database that is open again. */
  #waiting: (() => void)[] | undefined;
  #retry: NodeJS.Timeout | undefined;
  outOfSpace = false;

  /** The database must be open, with keys and values as views. */
  constructor(database: LevelDatabase) {
    this.#database = database;
  }

  write(changes: readonly ImageChange[], sync: boolean, done: Done): void {
    invariant(!this.#isClosed, `write to the closed image ${this.#database.location}`);
    invariant(!this.#isWriting, `a second write to ${this.#database.location} in flight`);
    this.#isWriting = true;
    this.#write(changes, sync, done);
  }

  #write(changes: readonly ImageChange[], sync: boolean, done: Done): void {
    const batch = this.#database.batch();
    for (const { key, value } of changes) {
      if (value === undefined) batch.del(key);
      else batch.put(key, value);
    }
    settlePromise(batch.write({ sync }), (error) => {
      if (error?.code === 'ENOSPC' && !this.#isClosed) {
        this.#waitForSpace(() => this.#write(changes, sync, done));
        return;
      }
      this.outOfSpace = false;
      this.#isWriting = false;
      done(error);
    });
  }

  /**
   * After a failed write LevelDB takes no more until it is opened again. What it had written is
   * kept; the batch that failed is written again, whole.
   */
  #waitForSpace(again: () => void): void {
    this.outOfSpace = true;
    this.#retry = setTimeout(() => {
      this.#waiting ??= [];
      settlePromise(this.#reopen(), (error) => {
        if (this.#isClosed || error?.code === 'ENOSPC') {
          if (!this.#isClosed) this.#waitForSpace(again);
          return;
        }
        const waiting = this.#waiting ?? [];
        this.#waiting = undefined;
        // Any other error is met by the write, and by whoever waited.
        for (const run of waiting) run();
        again();
      });
    }, SPACE_RETRY_MS);
  }

  async #reopen(): Promise<void> {
    await this.#database.close();
    await this.#database.open();
  }

  getMany(
    keys: readonly Uint8Array[],
    done: (error: FileError | undefined, values: (Uint8Array | undefined)[]) => void,
  ): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(() => this.getMany(keys, done));
      return;
    }
    settlePromise(this.#database.getMany(keys as Uint8Array[]), (error, values) => {
      done(error, error === undefined ? values : []);
    });
  }

  snapshot(): ImageSnapshot {
    return this.#waiting === undefined ? new LevelImageSnapshot(this.#database) : NO_SNAPSHOT;
  }

  close(done: Done): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    settlePromise(this.#database.close(), (error) => done(error));
  }
}

/** Nothing can be read while the database is being opened again. */
const NO_SNAPSHOT: ImageSnapshot = {
  next: (_bytes, done) => done({ code: 'EBUSY', message: 'the image has no space' }, []),
  close: () => {},
};

class LevelImageSnapshot implements ImageSnapshot {
  readonly #database: LevelDatabase;
  readonly #snapshot: ReturnType<LevelDatabase['snapshot']>;
  #iterator: LevelIterator<LevelDatabase, Uint8Array, Uint8Array> | undefined;
  #isClosed = false;

  constructor(database: LevelDatabase) {
    this.#database = database;
    this.#snapshot = database.snapshot();
  }

  next(
    bytes: number,
    done: (error: FileError | undefined, records: { key: Uint8Array; value: Uint8Array }[]) => void,
  ): void {
    invariant(!this.#isClosed, `read of a closed snapshot of ${this.#database.location}`);
    this.#iterator ??= this.#database.iterator({
      snapshot: this.#snapshot,
      highWaterMarkBytes: bytes,
      fillCache: false,
    });
    settlePromise(this.#iterator.nextv(PAGE_RECORDS_MAX), (error, pairs) => {
      if (this.#isClosed) return;
      if (error !== undefined) done(error, []);
      else
        done(
          undefined,
          pairs.map(([key, value]) => ({ key, value })),
        );
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Closing ends what is being read; nobody waits for it and it cannot fail.
    settlePromise(this.#release(), () => {});
  }

  async #release(): Promise<void> {
    await this.#iterator?.close();
    await this.#snapshot.close();
  }
}
