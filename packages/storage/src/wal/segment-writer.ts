import type { Done, FileError, FileHandle } from '@lockstep/model';
import { invariant } from '@lockstep/model';
import { runSteps } from '../steps.ts';
import type { ChangePlace } from './log-view.ts';
import { type LogRecord, RecordEncoder } from './record-format.ts';
import { recordStart } from './sector-marks.ts';
import type { SegmentFiles } from './segment-files.ts';
import { type ChainEnd, encodeHeader, HEADER_BYTES, type SegmentHeader } from './segment-header.ts';
import { SPARE_NAME, type Spare } from './spare-segment.ts';

interface OpenSegment {
  readonly segment: number;
  readonly file: FileHandle;
  readonly sizeBytes: number;
  /** Offset behind the last durable record. */
  offset: number;
  crc: number;
}

/** Marks and padding depend on where a record begins; it may grow by this much when moved. */
const PLACEMENT_BYTES_MAX = 64;

/** Bytes a segment must have to hold a record that was this long somewhere else. */
export function segmentBytesFor(recordBytes: number): number {
  return Math.ceil((HEADER_BYTES + recordBytes + PLACEMENT_BYTES_MAX) / 4096) * 4096;
}

/** The end of the log: one record is written and synced at a time. */
export class SegmentWriter {
  readonly #files: SegmentFiles;
  readonly #encoder = new RecordEncoder();
  #open: OpenSegment | undefined;
  #encoded: { bytes: Uint8Array; crc: number } | undefined;
  /** Number of the open segment while its file is still called a spare. */
  #unnamed: number | undefined;

  constructor(files: SegmentFiles, open: OpenSegment | undefined) {
    this.#files = files;
    this.#open = open;
  }

  get end(): ChainEnd {
    const open = this.#open;
    if (open === undefined) return { segment: 0, offset: 0, crc: 0 };
    return { segment: open.segment, offset: open.offset, crc: open.crc };
  }

  /** Encodes the record; 0 when it fits the open segment, otherwise its bytes. */
  prepare(record: LogRecord): number {
    const open = this.#open;
    invariant(open !== undefined, 'a record is written before the log has a segment');
    const offset = recordStart(open.offset);
    const place = { segment: open.segment, offset, previousCrc: open.crc };
    this.#encoded = this.#encoder.encode(record, place);
    const { length } = this.#encoded.bytes;
    return offset + length <= open.sizeBytes ? 0 : length;
  }

  /** Writes what `prepare` encoded and makes it durable. */
  commit(done: (error: FileError | undefined, place: ChangePlace) => void): void {
    const open = this.#open!;
    const { bytes, crc } = this.#encoded!;
    const offset = recordStart(open.offset);
    const { length } = bytes;
    const place = { segment: open.segment, offset, length, previousCrc: open.crc };
    const written = (error: FileError | undefined): void => {
      if (error === undefined) {
        open.offset = offset + length;
        open.crc = crc;
      }
      done(error, place);
    };
    this.#files.fileSystem.writeDurably(open.file, [bytes], offset, (error) => {
      const segment = this.#unnamed;
      this.#unnamed = undefined;
      if (error !== undefined || segment === undefined) written(error);
      else this.#files.publish(SPARE_NAME, segment, written);
    });
  }

  /**
   * Turns the spare into the next segment: header durable first, then the name, so that a segment
   * by name is always whole.
   */
  begin(spare: Spare, header: SegmentHeader, done: Done): void {
    const former = this.#open;
    const { fileSystem } = this.#files;
    runSteps(
      [
        (next) => this.#writeHeader(spare, header, next),
        (next) => this.#files.publish(SPARE_NAME, header.segment, next),
        (next) => (former === undefined ? next(undefined) : fileSystem.close(former.file, next)),
      ],
      done,
    );
  }

  /**
   * Begins a segment behind damage. It gets its name only when its first record is durable: until
   * then the next start finds the log, and what is good behind the damage, as this one did.
   */
  beginUnnamed(spare: Spare, header: SegmentHeader, done: Done): void {
    this.#unnamed = header.segment;
    this.#writeHeader(spare, header, done);
  }

  #writeHeader(spare: Spare, header: SegmentHeader, done: Done): void {
    const { bytes, crc } = encodeHeader(header);
    const { file, sizeBytes } = spare;
    const { fileSystem } = this.#files;
    const write = (next: Done) => fileSystem.write(file, [bytes], 0, next);
    runSteps([write, (next) => fileSystem.sync(file, next)], (error) => {
      if (error === undefined) {
        this.#open = { segment: header.segment, file, sizeBytes, offset: HEADER_BYTES, crc };
      }
      done(error);
    });
  }

  close(done: Done): void {
    if (this.#open === undefined) done(undefined);
    else this.#files.fileSystem.close(this.#open.file, done);
  }
}
