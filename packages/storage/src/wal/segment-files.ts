import type { Done, FileError, FileHandle, FileSystem } from '@lockstep/model';
import { runSteps, tolerate } from '../steps.ts';
import { segmentName } from './segment-header.ts';

const ZERO_CHUNK = Buffer.alloc(1024 * 1024);
/** Dirty zeros are synced in steps, so that commits beside them do not wait for one big flush. */
const SYNC_EVERY_BYTES = 8 * 1024 * 1024;

/** Creation, publication and removal of segment files in the log's directory. */
export class SegmentFiles {
  readonly fileSystem: FileSystem;
  readonly directory: string;

  constructor(fileSystem: FileSystem, directory: string) {
    this.fileSystem = fileSystem;
    this.directory = directory;
  }

  path(name: string): string {
    return `${this.directory}/${name}`;
  }

  /**
   * Makes a new file that begins with `content` and is zero up to `sizeBytes`, all of it durable
   * but for its name. An older file of that name goes. On an error the file may be left behind.
   */
  create(
    name: string,
    content: Uint8Array,
    sizeBytes: number,
    done: (error: FileError | undefined, file: FileHandle | undefined) => void,
  ): void {
    let file: FileHandle | undefined;
    const steps = [
      (next: Done) => this.fileSystem.unlink(this.path(name), tolerate('ENOENT', next)),
      (next: Done) =>
        this.fileSystem.open(this.path(name), 'create', (error, handle) => {
          if (error === undefined) file = handle;
          next(error);
        }),
      (next: Done) =>
        content.length === 0 ? next(undefined) : this.fileSystem.write(file!, [content], 0, next),
      (next: Done) => this.#fillZeros(file!, content.length, sizeBytes, next),
      (next: Done) => this.fileSystem.sync(file!, next),
    ];
    runSteps(steps, (error) => done(error, file));
  }

  #fillZeros(file: FileHandle, from: number, to: number, done: Done): void {
    if (from >= to) {
      done(undefined);
      return;
    }
    const length = Math.min(ZERO_CHUNK.length, to - from);
    this.fileSystem.write(file, [ZERO_CHUNK.subarray(0, length)], from, (error) => {
      if (error !== undefined) return done(error);
      const proceed = (failure: FileError | undefined): void => {
        if (failure !== undefined) done(failure);
        else this.#fillZeros(file, from + length, to, done);
      };
      if ((from + length) % SYNC_EVERY_BYTES < length) this.fileSystem.sync(file, proceed);
      else proceed(undefined);
    });
  }

  /** Gives a whole, synced file its segment name and makes the name durable. */
  publish(name: string, segment: number, done: Done): void {
    runSteps(
      [
        (next) => {
          const to = this.path(segmentName(segment));
          this.fileSystem.rename(this.path(name), to, next);
        },
        (next) => this.fileSystem.syncDirectory(this.directory, next),
      ],
      done,
    );
  }

  /** Removes files one by one, then makes that durable. */
  remove(names: readonly string[], done: Done): void {
    if (names.length === 0) {
      done(undefined);
      return;
    }
    const steps = names.map(
      (name) => (next: Done) => this.fileSystem.unlink(this.path(name), tolerate('ENOENT', next)),
    );
    const sync = (next: Done): void => this.fileSystem.syncDirectory(this.directory, next);
    runSteps([...steps, sync], done);
  }
}
