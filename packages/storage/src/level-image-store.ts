import type { Done, FileError, ImageChange, ImageSnapshot, ImageStore } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type { ClassicLevel, Iterator as LevelIterator } from 'classic-level';
import { settlePromise } from './promise-edge.ts';

export type LevelDatabase = ClassicLevel<Uint8Array, Uint8Array>;

/** Records of one page of a snapshot, beside its limit in bytes. */
const PAGE_RECORDS_MAX = 10_000;

/**
 * ImageStore on classic-level. One write is in flight at a time: LevelDB would merge several only
 * by blocking threads of the pool that file operations need too.
 */
export class LevelImageStore implements ImageStore {
  readonly #database: LevelDatabase;
  #isWriting = false;
  #isClosed = false;

  /** The database must be open, with keys and values as views. */
  constructor(database: LevelDatabase) {
    this.#database = database;
  }

  write(changes: readonly ImageChange[], sync: boolean, done: Done): void {
    invariant(!this.#isClosed, `write to the closed image ${this.#database.location}`);
    invariant(!this.#isWriting, `a second write to ${this.#database.location} in flight`);
    this.#isWriting = true;
    const batch = this.#database.batch();
    for (const { key, value } of changes) {
      if (value === undefined) batch.del(key);
      else batch.put(key, value);
    }
    settlePromise(batch.write({ sync }), (error) => {
      this.#isWriting = false;
      done(error);
    });
  }

  getMany(
    keys: readonly Uint8Array[],
    done: (error: FileError | undefined, values: (Uint8Array | undefined)[]) => void,
  ): void {
    settlePromise(this.#database.getMany(keys as Uint8Array[]), (error, values) => {
      done(error, error === undefined ? values : []);
    });
  }

  snapshot(): ImageSnapshot {
    return new LevelImageSnapshot(this.#database);
  }

  close(done: Done): void {
    this.#isClosed = true;
    settlePromise(this.#database.close(), (error) => done(error));
  }
}

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
