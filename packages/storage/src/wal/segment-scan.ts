import { BinaryFormatError, copyBytes, InvariantError } from '@lockstep/model';
import {
  decodeRecord,
  isIntact,
  type LogRecord,
  peekChain,
  peekLength,
  RECORD_BYTES_MIN,
} from './record-format.ts';
import type { RecordLocation } from './record-index.ts';
import { isUnsynced, RECORD_HEAD_BYTES, recordStart, SECTOR_BYTES } from './sector-marks.ts';
import type { ChainEnd } from './segment-header.ts';

export type RecordPosition = Omit<RecordLocation, 'first' | 'last'>;

export interface ScanInput {
  /** The whole file; not changed. */
  readonly bytes: Uint8Array;
  /** Size that it was made with, before it was used. */
  readonly sizeBytes: number;
  readonly segment: number;
  /** Where to begin: behind the header, or at a good record behind damage. */
  readonly start: ScanStart;
  /** Where the chain must end, known for every segment but the last. */
  readonly end: ChainEnd | undefined;
  /** Takes each good record; an InvariantError says that it does not fit the log. */
  readonly accept: (record: LogRecord, position: RecordPosition) => void;
}

export interface ScanStart {
  readonly offset: number;
  /** Checksum that the first record must continue, and the number it must have. */
  readonly crc: number;
  readonly sequence: number;
}

export interface ScanResult {
  /** Offset behind the last good record, and the chain value there. */
  readonly offset: number;
  readonly crc: number;
  readonly nextSequence: number;
  /** Design §11: `torn` was never promised; `damaged` may have been. */
  readonly verdict: 'clean' | 'torn' | 'damaged';
  readonly reason: string;
  /** Where a good record stands behind the damage. */
  readonly later: ScanStart | undefined;
}

/** Walks the record chain of one segment and judges where it ends. */
export function scanSegment(input: ScanInput): ScanResult {
  const scan = new SegmentScan(input);
  return scan.run();
}

class SegmentScan {
  readonly #input: ScanInput;
  #offset: number;
  #crc: number;
  #sequence: number;

  constructor(input: ScanInput) {
    this.#input = input;
    this.#offset = input.start.offset;
    this.#crc = input.start.crc;
    this.#sequence = input.start.sequence;
  }

  run(): ScanResult {
    const { bytes, end } = this.#input;
    for (;;) {
      if (end !== undefined && this.#offset >= end.offset) return this.#checkEnd(end);
      const start = recordStart(this.#offset);
      if (start + RECORD_BYTES_MIN > bytes.length) return this.#stopAtEnd();
      const length = peekLength(bytes, start);
      if (length === 0) return this.#judgeHead(start);
      if (start + length > bytes.length) return this.#stop('damaged', 'record exceeds the file');
      const record = bytes.subarray(start, start + length);
      if (!isIntact(record, this.#input.segment)) return this.#judgeRecord(start, record);
      const problem = this.#take(start, record);
      if (problem !== undefined) {
        return this.#stop('damaged', problem, this.#findLater(start + length));
      }
    }
  }

  #take(offset: number, bytes: Uint8Array): string | undefined {
    const { crc, previousCrc } = peekChain(bytes);
    if (previousCrc !== this.#crc) return 'record does not continue the chain';
    const { segment, accept } = this.#input;
    try {
      const record = decodeRecord(copyBytes(bytes), offset);
      if (record.sequence !== this.#sequence) {
        return `record ${record.sequence} stands where ${this.#sequence} belongs`;
      }
      accept(record, { segment, offset, length: bytes.length, previousCrc });
    } catch (error) {
      if (error instanceof BinaryFormatError || error instanceof InvariantError) {
        return error.message;
      }
      throw error;
    }
    this.#offset = offset + bytes.length;
    this.#crc = crc;
    this.#sequence += 1;
    return undefined;
  }

  #checkEnd(end: ChainEnd): ScanResult {
    const isExact = this.#offset === end.offset && this.#crc === end.crc;
    if (isExact) return this.#stop('clean', '');
    return this.#stop('damaged', `segment does not end at ${end.offset} as the next one says`);
  }

  /** No usable head: the end of the log, a record whose first sector is missing, or damage. */
  #judgeHead(start: number): ScanResult {
    const { bytes, end } = this.#input;
    if (end === undefined && isZero(bytes, start, bytes.length)) return this.#stopAtEnd();
    const later = this.#findLater(start + 8);
    if (end !== undefined) {
      return this.#stop('damaged', 'record is missing or its head is bad', later);
    }
    if (later !== undefined) return this.#stop('damaged', 'record is missing', later);
    if (isZero(bytes, start, start + RECORD_HEAD_BYTES)) {
      return this.#stop('torn', 'first sector of the last record is missing');
    }
    // A tear inside the head leaves nothing behind it in that sector.
    const sectorEnd = Math.floor(start / SECTOR_BYTES + 1) * SECTOR_BYTES;
    const isTorn = isZero(bytes, start + RECORD_HEAD_BYTES, sectorEnd);
    return this.#stop(isTorn ? 'torn' : 'damaged', 'head of the record is bad');
  }

  #judgeRecord(start: number, record: Uint8Array): ScanResult {
    const later = this.#findLater(start + record.length);
    const isTorn =
      this.#input.end === undefined && later === undefined && isUnsynced(record, start);
    if (isTorn) return this.#stop('torn', 'a sector of the last record is missing');
    return this.#stop('damaged', 'record fails its checksum', later);
  }

  #findLater(from: number): ScanStart | undefined {
    return findLater(this.#input, from, this.#sequence);
  }

  #stopAtEnd(): ScanResult {
    if (this.#input.bytes.length >= this.#input.sizeBytes) return this.#stop('clean', '');
    return this.#stop('damaged', 'the file is cut short');
  }

  #stop(verdict: ScanResult['verdict'], reason: string, later?: ScanStart): ScanResult {
    return {
      offset: this.#offset,
      crc: this.#crc,
      nextSequence: this.#sequence,
      verdict,
      reason,
      later,
    };
  }
}

/** A good record at or behind `from` that was written after record `sequence` had been synced. */
export function findLater(
  input: Pick<ScanInput, 'bytes' | 'segment' | 'end'>,
  from: number,
  sequence: number,
): ScanStart | undefined {
  const { bytes, segment, end } = input;
  // What stands behind the end of a segment was given up after earlier damage.
  const limit = Math.min(end?.offset ?? bytes.length, bytes.length);
  for (let at = recordStart(from); at + RECORD_BYTES_MIN <= limit; at = recordStart(at + 8)) {
    const length = peekLength(bytes, at);
    if (length === 0 || at + length > limit) continue;
    const record = bytes.subarray(at, at + length);
    if (!isIntact(record, segment)) continue;
    const decoded = decodeOrNothing(copyBytes(record), at);
    if (decoded === undefined || decoded.syncedSequence < sequence) continue;
    return { offset: at, crc: peekChain(record).previousCrc, sequence: decoded.sequence };
  }
  return undefined;
}

function decodeOrNothing(bytes: Uint8Array, offset: number): LogRecord | undefined {
  try {
    return decodeRecord(bytes, offset);
  } catch (error) {
    if (error instanceof BinaryFormatError) return undefined;
    throw error;
  }
}

const ZEROS = Buffer.alloc(64 * 1024);

/** True when the range holds only zeros. */
export function isZero(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += ZEROS.length) {
    const part = bytes.subarray(at, Math.min(end, at + ZEROS.length));
    if (Buffer.compare(part, ZEROS.subarray(0, part.length)) !== 0) return false;
  }
  return true;
}
