import type { Clock, FileError, FileHandle, Timer } from '@lockstep/model';
import { mark } from '@lockstep/model';
import type { SegmentFiles } from './segment-files.ts';

export const SPARE_NAME = 'spare';

export interface SpareSegmentOptions {
  /** Size of the first spare; each next one is four times as large, up to the greatest. A member
   * that starts writes little, one that is busy changes segments seldom. */
  readonly firstBytes: number;
  readonly sizeBytesMax: number;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly retryMs: number;
  /** Any error but ENOSPC. */
  readonly failed: (error: FileError) => void;
  readonly space: (outOfSpace: boolean) => void;
}

export interface Spare {
  readonly file: FileHandle;
  readonly sizeBytes: number;
}

/**
 * The next segment, preallocated before it is needed: lack of space is met here, while the member
 * can still commit into the present segment, and is retried; nothing was promised yet.
 */
export class SpareSegment {
  readonly #files: SegmentFiles;
  readonly #options: SpareSegmentOptions;
  #spare: Spare | undefined;
  #sizeUsual: number;
  #sizeWanted: number;
  #isPreparing = false;
  #isClosed = false;
  #retry: Timer | undefined;
  #waiting: ((spare: Spare) => void) | undefined;
  #idle: (() => void) | undefined;
  outOfSpace = false;

  constructor(files: SegmentFiles, options: SpareSegmentOptions) {
    this.#files = files;
    this.#options = options;
    this.#sizeUsual = Math.min(options.firstBytes, options.sizeBytesMax);
    this.#sizeWanted = this.#sizeUsual;
  }

  /** Begins to make the spare, if there is none. */
  prepare(): void {
    if (this.#isPreparing || this.#isClosed || this.#spare !== undefined) return;
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#isPreparing = true;
    const sizeBytes = this.#sizeWanted;
    this.#files.create(SPARE_NAME, new Uint8Array(0), sizeBytes, (error, file) => {
      if (error !== undefined) return this.#failed(error, file);
      this.#isPreparing = false;
      this.#setOutOfSpace(false);
      this.#spare = { file: file!, sizeBytes };
      this.#settle();
    });
  }

  /** Hands over a spare of at least `bytesMin`, at once or when it is ready. One caller. */
  take(bytesMin: number, done: (spare: Spare) => void): void {
    this.#sizeWanted = Math.max(this.#sizeUsual, bytesMin);
    this.#waiting = done;
    this.#settle();
  }

  #settle(): void {
    if (this.#isPreparing) return;
    if (this.#isClosed) {
      this.#release();
      return;
    }
    const spare = this.#spare;
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (spare === undefined) {
      if (this.#retry === undefined) this.prepare();
      return;
    }
    this.#spare = undefined;
    if (spare.sizeBytes >= this.#sizeWanted) {
      this.#waiting = undefined;
      this.#sizeUsual = Math.min(this.#sizeUsual * 4, this.#options.sizeBytesMax);
      this.#sizeWanted = this.#sizeUsual;
      waiting(spare);
    } else this.#discard(spare.file, () => this.#settle());
  }

  #failed(error: FileError, file: FileHandle | undefined): void {
    if (error.code !== 'ENOSPC') {
      this.#isPreparing = false;
      this.#options.failed(error);
      if (this.#isClosed) this.#release();
      return;
    }
    // The part that was made is given back at once: somebody may need the room to repair things.
    this.#discard(file, () => {
      this.#isPreparing = false;
      if (this.#isClosed) return this.#release();
      this.#setOutOfSpace(true);
      this.#retry = this.#options.clock.setTimer(this.#options.retryMs, () => this.prepare());
    });
  }

  #discard(file: FileHandle | undefined, done: () => void): void {
    const finish = (error: FileError | undefined): void => {
      if (error !== undefined) this.#options.failed(error);
      else done();
    };
    const unlink = (): void => this.#files.remove([SPARE_NAME], finish);
    if (file === undefined) unlink();
    else {
      this.#files.fileSystem.close(file, (error) => {
        if (error !== undefined) finish(error);
        else unlink();
      });
    }
  }

  #setOutOfSpace(outOfSpace: boolean): void {
    if (this.outOfSpace === outOfSpace) return;
    if (outOfSpace) mark('no room for the next log segment');
    else mark('room for the next log segment again');
    this.outOfSpace = outOfSpace;
    this.#options.space(outOfSpace);
  }

  /** Stops; the file of a finished spare is closed and stays for the next open to remove. */
  close(done: () => void): void {
    this.#isClosed = true;
    this.#idle = done;
    this.#retry?.cancel();
    if (!this.#isPreparing) this.#release();
  }

  #release(): void {
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle === undefined) return;
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare === undefined) idle();
    else this.#files.fileSystem.close(spare.file, idle);
  }
}
