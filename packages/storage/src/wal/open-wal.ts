import type { Clock, Done, FileError, FileHandle, FileSystem, Scheduler } from '@lockstep/model';
import type { LogState, LogStoreHandlers, OpenLog } from '../contract.ts';
import { runSteps, tolerate } from '../steps.ts';
import { ANCHOR_BYTES, Anchor } from './anchor.ts';
import { ANCHOR_NAME, type Recovered, recover } from './recovery.ts';
import { SegmentFiles } from './segment-files.ts';
import { encodeHeader, HEADER_BYTES, segmentNumber } from './segment-header.ts';
import { SegmentWriter } from './segment-writer.ts';
import { Wal, type WalStart } from './wal.ts';

const REWRITE_NAME = 'rewrite';

export interface WalOptions {
  readonly scheduler: Scheduler;
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  /** Directory of the log below the file system's root. */
  readonly directory?: string;
  readonly segmentBytes?: number;
  /** The first segment is small, so that a fresh member starts at once. */
  readonly firstSegmentBytes?: number;
  readonly cacheBytesMax?: number;
  /** A group commit takes waiting tasks up to this size. */
  readonly groupBytesMax?: number;
  readonly anchorIntervalMs?: number;
  readonly spaceRetryMs?: number;
}

type Settings = Required<WalOptions>;

const MEBIBYTE = 1024 * 1024;

/**
 * Opens the segmented write-ahead log of design §11. Errors: a file that cannot be read or
 * written, or DATA_DIRECTORY_MISMATCH when the log belongs to another member or cluster. Damage is
 * not an error: the state tells it, and nothing is written until the first append.
 */
export function openWal(fileSystem: FileSystem, options: WalOptions): OpenLog {
  const settings: Settings = {
    directory: 'wal',
    segmentBytes: 64 * MEBIBYTE,
    firstSegmentBytes: 4 * MEBIBYTE,
    cacheBytesMax: 16 * MEBIBYTE,
    groupBytesMax: 4 * MEBIBYTE,
    anchorIntervalMs: 1000,
    spaceRetryMs: 1000,
    ...options,
  };
  return (identity, bootstrap, handlers, done) => {
    const { directory, cacheBytesMax } = settings;
    const files = new SegmentFiles(fileSystem, directory);
    const fail = (error: FileError): void => done(error, undefined as never, undefined as never);
    const makeDirectory = [
      (next: Done) => fileSystem.makeDirectory(directory, tolerate('EEXIST', next)),
      (next: Done) => fileSystem.syncDirectory(parentOf(directory), next),
    ];
    runSteps(makeDirectory, (directoryError) => {
      if (directoryError !== undefined) return fail(directoryError);
      const input = { fileSystem, directory, identity, bootstrap, cacheBytesMax };
      recover(input, (error, recovered) => {
        if (error !== undefined) return fail(error);
        const opening = new Opening(files, settings, recovered, identity);
        opening.run(handlers, (openError, log) => {
          if (openError !== undefined) fail(openError);
          else done(undefined, log, stateOf(recovered));
        });
      });
    });
  };
}

function parentOf(directory: string): string {
  const slash = directory.lastIndexOf('/');
  return slash < 0 ? '' : directory.slice(0, slash);
}

function stateOf(recovered: Recovered): LogState {
  const { view, health, damage, salvage } = recovered;
  return {
    hardState: view.hardState,
    snapshotIndex: view.base.index,
    snapshotTerm: view.base.term,
    configuration: view.base.configuration,
    firstIndex: view.firstIndex,
    lastIndex: view.lastIndex,
    health,
    ...(damage === undefined ? {} : { damage }),
    ...(salvage === undefined ? {} : { salvage }),
  };
}

/** From what recovery found to a log that can be written. */
class Opening {
  readonly #files: SegmentFiles;
  readonly #settings: Settings;
  readonly #recovered: Recovered;
  readonly #identity: WalStart['identity'];
  #writer: SegmentWriter;
  #segments: WalStart['segments'];

  constructor(
    files: SegmentFiles,
    settings: Settings,
    recovered: Recovered,
    identity: WalStart['identity'],
  ) {
    this.#files = files;
    this.#settings = settings;
    this.#recovered = recovered;
    this.#identity = identity;
    this.#writer = new SegmentWriter(files, undefined);
    this.#segments = recovered.segments;
  }

  run(handlers: LogStoreHandlers, done: (error: FileError | undefined, log: Wal) => void): void {
    const { isFreshDamage, last, leftovers } = this.#recovered;
    const prepare = (next: Done): void => {
      if (isFreshDamage) next(undefined);
      else if (last === undefined) this.#createFirst(next);
      else this.#rewriteLast(next);
    };
    const isSegment = (name: string): boolean => segmentNumber(name) !== undefined;
    const remove = (names: readonly string[]) => (next: Done) =>
      isFreshDamage ? next(undefined) : this.#files.remove(names, next);
    // Unfinished files go first: their room may be what the rewrite needs. Old segments go when
    // what makes them dead has been made durable.
    const unfinished = remove(leftovers.filter((name) => !isSegment(name)));
    const dead = remove(leftovers.filter(isSegment));
    runSteps([unfinished, prepare, dead], (error) => {
      if (error !== undefined) return done(error, undefined as never);
      const log = new Wal(this.#settings, handlers, this.#start());
      log.start((startError) => done(startError, log));
    });
  }

  #start(): WalStart {
    const { view, nextSequence, damage, isFreshDamage, end, highestSegment } = this.#recovered;
    return {
      identity: this.#identity,
      files: this.#files,
      view,
      writer: this.#writer,
      nextSequence,
      segments: this.#segments,
      damage,
      restartBehind: isFreshDamage ? { end, segment: highestSegment + 1 } : undefined,
      openAnchor: (failed, done) => this.#openAnchor(failed, done),
    };
  }

  #createFirst(done: Done): void {
    const { view } = this.#recovered;
    const sizeBytes = this.#settings.firstSegmentBytes;
    const { bytes, crc } = encodeHeader({
      identity: this.#identity,
      segment: 1,
      sizeBytes,
      previous: { segment: 0, offset: 0, crc: 0 },
      firstSequence: 1,
      firstIndexExpected: view.lastIndex + 1,
      hardState: view.hardState,
      base: view.base,
      damage: undefined,
    });
    this.#segments = [{ segment: 1, endOffset: HEADER_BYTES }];
    this.#replace(1, bytes, sizeBytes, HEADER_BYTES, crc, done);
  }

  /**
   * What was read may be in the page cache only (a sync failed in an earlier process life), so the
   * good part of the last segment is written again into a new file that takes its name. That also
   * cuts a torn record and restores the zeros behind it.
   */
  #rewriteLast(done: Done): void {
    const { last, lastBytes, end } = this.#recovered;
    const { sizeBytes } = last!.header;
    this.#replace(last!.segment, lastBytes, sizeBytes, end.offset, end.crc, done);
  }

  #replace(
    segment: number,
    content: Uint8Array,
    sizeBytes: number,
    offset: number,
    crc: number,
    done: Done,
  ): void {
    this.#files.create(REWRITE_NAME, content, sizeBytes, (error, file) => {
      if (error !== undefined) return done(error);
      const open = { segment, file: file!, sizeBytes, offset, crc };
      this.#writer = new SegmentWriter(this.#files, open);
      this.#files.publish(REWRITE_NAME, segment, done);
    });
  }

  #openAnchor(
    failed: (error: FileError) => void,
    done: (error: FileError | undefined, anchor: Anchor) => void,
  ): void {
    const { fileSystem, directory } = this.#files;
    const path = this.#files.path(ANCHOR_NAME);
    const opened = (error: FileError | undefined, file: FileHandle | undefined): void => {
      const counter = this.#recovered.anchorCounter;
      done(error, new Anchor(fileSystem, file as FileHandle, counter, failed));
    };
    if (this.#recovered.hasAnchor) {
      fileSystem.open(path, 'write', opened);
      return;
    }
    this.#files.create(ANCHOR_NAME, new Uint8Array(0), ANCHOR_BYTES, (error, file) => {
      if (error !== undefined) return opened(error, file);
      fileSystem.syncDirectory(directory, (syncError) => opened(syncError, file));
    });
  }
}
