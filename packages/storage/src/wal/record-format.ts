import { crc32 } from 'node:zlib';
import { BinaryFormatError, BinaryReader, BinaryWriter } from '@lockstep/model';
import type { Entry, EntryType, HardState } from '@lockstep/raft';
import type { LogBase } from '../log-change.ts';
import { readConfiguration, writeConfiguration } from './configuration-format.ts';
import {
  markCount,
  placeMarks,
  RECORD_HEAD_BYTES,
  RECORD_TRAILER_BYTES,
  recordLength,
  removeMarks,
  SECTOR_BYTES,
} from './sector-marks.ts';

const LENGTH_CHECK_KEY = 0x4c4f434b;
const TRAILER_LOW = 0x7354704c;
const TRAILER_HIGH = 0x646e4572;
/** Smallest record: head, sequence numbers, flags, entry count, trailer. */
export const RECORD_BYTES_MIN = 32;
/** A record this long is a programmer error or a forged length. */
export const RECORD_BYTES_MAX = 2 ** 31;

const Flag = { HardState: 1, Snapshot: 2, Base: 4, Repaired: 8 } as const;

/** One group commit: what the log applies in the order base, snapshot, entries, hard state. */
export interface LogRecord {
  /** Counts records over all segments; only grows. */
  readonly sequence: number;
  /** Newest record known durable when this one was written. */
  readonly syncedSequence: number;
  readonly hardState: HardState | undefined;
  /** The log restarts behind it. */
  readonly snapshot: LogBase | undefined;
  /** Entries up to it are compacted. */
  readonly base: LogBase | undefined;
  /** The member has caught up after damage. */
  readonly isRepaired: boolean;
  readonly entries: readonly Entry[];
}

/** Where a record stands and what its checksum hangs on. */
export interface RecordPlace {
  readonly segment: number;
  /** Offset in the segment file. */
  readonly offset: number;
  /** Checksum of the record before it (of the header block for the first). */
  readonly previousCrc: number;
}

/** No fewer bytes than the record takes, wherever it stands. */
export function recordBytesMax(record: LogRecord): number {
  let bytes = RECORD_BYTES_MIN + encodePrelude(record).length;
  for (const entry of record.entries) bytes += 21 + entry.data.length;
  return recordLength(SECTOR_BYTES - RECORD_HEAD_BYTES - 8, bytes);
}

/**
 * Encodes records into one reusable buffer. Entry data is copied once, here. The result is valid
 * until the next call.
 */
export class RecordEncoder {
  static readonly #retainedBytesMax = 4 * 1024 * 1024;
  #buffer = Buffer.alloc(64 * 1024);

  encode(record: LogRecord, place: RecordPlace): { bytes: Uint8Array; crc: number } {
    const prelude = encodePrelude(record);
    let bodyBytes = prelude.length;
    let term = record.entries[0]?.term ?? 0;
    for (const entry of record.entries) {
      bodyBytes += varintBytes(entry.term - term) + 1 + varintBytes(entry.data.length);
      bodyBytes += entry.data.length;
      term = entry.term;
    }
    const length = recordLength(place.offset, bodyBytes);
    const bytes = this.#take(length);
    this.#fill(bytes, record, prelude, RECORD_HEAD_BYTES + markCount(place.offset, length));
    bytes.writeUInt32LE(TRAILER_LOW, length - 8);
    bytes.writeUInt32LE(TRAILER_HIGH, length - 4);
    placeMarks(bytes, place.offset);
    const crc = recordCrc(bytes, place.segment, place.previousCrc);
    bytes.writeUInt32LE(length, 0);
    bytes.writeUInt32LE(lengthCheck(length), 4);
    bytes.writeUInt32LE(crc, 8);
    bytes.writeUInt32LE(place.previousCrc, 12);
    return { bytes, crc };
  }

  #fill(bytes: Buffer, record: LogRecord, prelude: Uint8Array, start: number): void {
    let at = start;
    bytes.set(prelude, at);
    at += prelude.length;
    let term = record.entries[0]?.term ?? 0;
    for (const entry of record.entries) {
      at = putVarint(bytes, at, entry.term - term);
      bytes[at++] = entry.type;
      at = putVarint(bytes, at, entry.data.length);
      bytes.set(entry.data, at);
      at += entry.data.length;
      term = entry.term;
    }
    bytes.fill(0, at, bytes.length - RECORD_TRAILER_BYTES);
  }

  #take(length: number): Buffer {
    const isOversized = this.#buffer.length > RecordEncoder.#retainedBytesMax;
    if (this.#buffer.length < length || isOversized) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(length, 64 * 1024));
    }
    return this.#buffer.subarray(0, length);
  }
}

/** Encodes everything before the entries. Small. */
function encodePrelude(record: LogRecord): Uint8Array {
  const writer = new BinaryWriter(96);
  const { hardState, snapshot, base, entries } = record;
  writer.varint(record.sequence).varint(record.syncedSequence);
  writer.u8(
    (hardState === undefined ? 0 : Flag.HardState) |
      (snapshot === undefined ? 0 : Flag.Snapshot) |
      (base === undefined ? 0 : Flag.Base) |
      (record.isRepaired ? Flag.Repaired : 0),
  );
  if (hardState !== undefined) {
    writer.varint(hardState.term).varint(hardState.vote).varint(hardState.commit);
  }
  if (snapshot !== undefined) writeBase(writer, snapshot);
  if (base !== undefined) writeBase(writer, base);
  writer.varint(entries.length);
  const first = entries[0];
  if (first !== undefined) writer.varint(first.index).varint(first.term);
  return writer.take();
}

function writeBase(writer: BinaryWriter, base: LogBase): void {
  writer.varint(base.index).varint(base.term);
  writeConfiguration(writer, base.configuration);
}

function readBase(reader: BinaryReader): LogBase {
  const index = reader.varint();
  const term = reader.varint();
  return { index, term, configuration: readConfiguration(reader) };
}

export function varintBytes(value: number): number {
  let count = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) count += 1;
  return count;
}

function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 128) {
    bytes[at++] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  bytes[at++] = rest;
  return at;
}

function lengthCheck(length: number): number {
  return (Math.imul(length, 0x9e3779b1) ^ LENGTH_CHECK_KEY) >>> 0;
}

/** Chains segment number, previous checksum and length before the bytes as they stand on disk. */
function recordCrc(record: Uint8Array, segment: number, previousCrc: number): number {
  const seed = Buffer.allocUnsafe(12);
  seed.writeUInt32LE(segment, 0);
  seed.writeUInt32LE(previousCrc, 4);
  seed.writeUInt32LE(record.length, 8);
  return crc32(record.subarray(RECORD_HEAD_BYTES), crc32(seed));
}

/** Length of the record at the start of `bytes`; 0 when its head is not whole. */
export function peekLength(bytes: Uint8Array, at: number): number {
  if (at + RECORD_HEAD_BYTES > bytes.length) return 0;
  const length = u32(bytes, at);
  if (length < RECORD_BYTES_MIN || length % 8 !== 0 || length > RECORD_BYTES_MAX) return 0;
  return u32(bytes, at + 4) === lengthCheck(length) ? length : 0;
}

/** The chain value a record was written with, and its own checksum; the record may be bad. */
export function peekChain(record: Uint8Array): { crc: number; previousCrc: number } {
  return { crc: u32(record, 8), previousCrc: u32(record, 12) };
}

function u32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  );
}

/** True when the bytes are a whole record of that segment, by its own checksum. */
export function isIntact(record: Uint8Array, segment: number): boolean {
  const { crc, previousCrc } = peekChain(record);
  return recordCrc(record, segment, previousCrc) === crc;
}

/**
 * Decodes a record that `isIntact`. Removes the marks in place; entry data are views on `bytes`.
 * Throws BinaryFormatError when the content makes no sense.
 */
export function decodeRecord(bytes: Uint8Array, offset: number): LogRecord {
  removeMarks(bytes, offset);
  const start = RECORD_HEAD_BYTES + markCount(offset, bytes.length);
  const reader = new BinaryReader(bytes, start, bytes.length - RECORD_TRAILER_BYTES);
  const sequence = reader.varint();
  const syncedSequence = reader.varint();
  const flags = reader.u8();
  if (flags > 15) throw new BinaryFormatError(`record flags ${flags} are unknown`);
  const hardState =
    (flags & Flag.HardState) === 0
      ? undefined
      : { term: reader.varint(), vote: reader.varint(), commit: reader.varint() };
  const snapshot = (flags & Flag.Snapshot) === 0 ? undefined : readBase(reader);
  const base = (flags & Flag.Base) === 0 ? undefined : readBase(reader);
  const entries = readEntries(reader);
  const isRepaired = (flags & Flag.Repaired) !== 0;
  return { sequence, syncedSequence, hardState, snapshot, base, isRepaired, entries };
}

function readEntries(reader: BinaryReader): Entry[] {
  const count = reader.varint();
  if (count > reader.remaining) throw new BinaryFormatError(`record of ${count} entries is cut`);
  const entries: Entry[] = [];
  if (count === 0) return entries;
  const firstIndex = reader.varint();
  let term = reader.varint();
  for (let i = 0; i < count; i++) {
    term += reader.varint();
    const type = reader.u8() as EntryType;
    entries.push({ index: firstIndex + i, term, type, data: reader.bytes() });
  }
  return entries;
}
