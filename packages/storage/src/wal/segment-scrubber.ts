import type { FileError } from '@lockstep/model';
import { isIntact, peekChain, peekLength, RECORD_BYTES_MIN } from './record-format.ts';
import { recordStart } from './sector-marks.ts';
import type { SegmentFiles } from './segment-files.ts';
import { decodeHeader, HEADER_BYTES, segmentName } from './segment-header.ts';

/** A segment that is not written any more. */
export interface SealedSegment {
  readonly segment: number;
  /** Offset behind its last record. */
  readonly endOffset: number;
}

export interface SegmentDamage {
  readonly segment: number;
  readonly file: string;
  readonly offset: number;
  readonly reason: string;
}

export interface SegmentScrubberOptions {
  readonly files: SegmentFiles;
  /** Sealed segments now, oldest first. */
  readonly sealed: () => readonly SealedSegment[];
  readonly damaged: (damage: SegmentDamage) => void;
}

/**
 * Reads sealed segments again, a part at a time, and verifies header and chain as recovery would.
 * Damage is found while other members can still give what it took. Each segment is told once.
 */
export class SegmentScrubber {
  readonly #options: SegmentScrubberOptions;
  readonly #told = new Set<number>();
  #segment = 0;
  #offset = 0;
  #crc = 0;

  constructor(options: SegmentScrubberOptions) {
    this.#options = options;
  }

  /** Verifies about `bytes` more; done with how many were read, 0 at the end of a round. */
  step(bytes: number, done: (bytesRead: number) => void): void {
    const segment = this.#current();
    if (segment === undefined) {
      this.#segment = 0;
      this.#offset = 0;
      done(0);
      return;
    }
    if (this.#offset > 0) {
      this.#stepRecords(segment, Math.max(bytes, RECORD_BYTES_MIN), done);
      return;
    }
    this.#read(segment, HEADER_BYTES, (found) => {
      // A segment may be compacted away meanwhile.
      if (found === undefined) this.#skip();
      else this.#checkHeader(segment, found);
      done(HEADER_BYTES);
    });
  }

  #stepRecords(segment: SealedSegment, length: number, done: (bytesRead: number) => void): void {
    this.#read(segment, length, (found) => {
      if (found === undefined) {
        this.#skip();
        done(length);
        return;
      }
      const { read, wanted } = this.#checkRecords(segment, found);
      if (wanted === 0) done(Math.max(1, read));
      else if (wanted > found.length && found.length < length) {
        this.#tell(segment, 'file is cut short');
        done(length);
      } else this.#stepRecords(segment, wanted, done);
    });
  }

  /** The segment being read, or the next one. */
  #current(): SealedSegment | undefined {
    const sealed = this.#options.sealed().filter(({ segment }) => !this.#told.has(segment));
    const present = sealed.find(({ segment }) => segment === this.#segment);
    if (present !== undefined) return present;
    const next = sealed.find(({ segment }) => segment > this.#segment);
    if (next !== undefined) {
      this.#segment = next.segment;
      this.#offset = 0;
    }
    return next;
  }

  #skip(): void {
    this.#segment += 1;
    this.#offset = 0;
  }

  #checkHeader(segment: SealedSegment, bytes: Uint8Array): void {
    const decoded = decodeHeader(bytes);
    if (typeof decoded === 'string') {
      this.#tell(segment, decoded);
      return;
    }
    this.#offset = HEADER_BYTES;
    this.#crc = decoded.crc;
  }

  /** How many bytes are done with; a record that is longer than they are is to be read whole. */
  #checkRecords(segment: SealedSegment, bytes: Uint8Array): { read: number; wanted: number } {
    const start = this.#offset;
    while (this.#offset < segment.endOffset) {
      const at = recordStart(this.#offset) - start;
      const isHeadThere = at + RECORD_BYTES_MIN <= bytes.length;
      const length = peekLength(bytes, at);
      if (length === 0 && isHeadThere) return this.#tell(segment, 'head of a record is bad');
      if (!isHeadThere || at + length > bytes.length) {
        const wanted = at + Math.max(length, RECORD_BYTES_MIN);
        return { read: this.#offset - start, wanted: this.#offset > start ? 0 : wanted };
      }
      const record = bytes.subarray(at, at + length);
      const { crc, previousCrc } = peekChain(record);
      if (previousCrc !== this.#crc || !isIntact(record, segment.segment)) {
        return this.#tell(segment, 'record fails its checksum');
      }
      this.#crc = crc;
      this.#offset = start + at + length;
    }
    this.#skip();
    return { read: bytes.length, wanted: 0 };
  }

  #tell(segment: SealedSegment, reason: string): { read: number; wanted: number } {
    this.#told.add(segment.segment);
    const file = this.#options.files.path(segmentName(segment.segment));
    const offset = this.#offset;
    this.#skip();
    this.#options.damaged({ segment: segment.segment, file, offset, reason });
    return { read: HEADER_BYTES, wanted: 0 };
  }

  /** Undefined when the file cannot be read: it is gone, or the device will say so elsewhere. */
  #read(
    { segment }: SealedSegment,
    length: number,
    done: (bytes: Uint8Array | undefined) => void,
  ): void {
    const { fileSystem } = this.#options.files;
    const offset = this.#offset;
    const path = this.#options.files.path(segmentName(segment));
    fileSystem.open(path, 'read', (openError, file) => {
      if (openError !== undefined) return done(undefined);
      fileSystem.read(file, offset, length, (readError: FileError | undefined, bytes) => {
        fileSystem.close(file, () => done(readError === undefined ? bytes : undefined));
      });
    });
  }
}
