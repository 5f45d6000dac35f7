import { crc32 } from 'node:zlib';
import type { Index } from '@lockstep/model';
import { BinaryReader, BinaryWriter, invariant, UnknownFormatError } from '@lockstep/model';
import type { HardState } from '@lockstep/raft';
import type { LogIdentity, LogState } from '../contract.ts';
import type { LogBase } from '../log-change.ts';
import { readConfiguration, writeConfiguration } from './configuration-format.ts';

/** The header fills one block; records begin behind it. */
export const HEADER_BYTES = 4096;
const MAGIC = 0x4c57_534c;
const MAGIC_SECOND = 0x3130_4741;
export const WAL_FORMAT = 1;

export type Damage = NonNullable<LogState['damage']>;

/** End of the record chain in the segment before. */
export interface ChainEnd {
  /** Segment number, 0 when there is none. */
  readonly segment: number;
  /** Offset behind the last record. */
  readonly offset: number;
  readonly crc: number;
}

export interface SegmentHeader {
  readonly identity: LogIdentity;
  readonly segment: number;
  /** Size of the preallocated file. */
  readonly sizeBytes: number;
  readonly previous: ChainEnd;
  /** Sequence number of its first record. */
  readonly firstSequence: number;
  /** One more than the last index when the segment was begun. */
  readonly firstIndexExpected: Index;
  readonly hardState: HardState;
  readonly base: LogBase;
  /** Damage found before this segment and not repaired yet. */
  readonly damage: Damage | undefined;
}

/** Encodes the block; its checksum is the chain value of the first record. */
export function encodeHeader(header: SegmentHeader): { bytes: Uint8Array; crc: number } {
  const writer = new BinaryWriter(HEADER_BYTES);
  writer.u32(MAGIC).u32(MAGIC_SECOND).u32(WAL_FORMAT).u32(0);
  writer.i64(BigInt(`0x${header.identity.cluster}`)).u32(header.identity.member);
  writer.u32(header.segment).u32(header.sizeBytes);
  writer.u32(header.previous.segment).u32(header.previous.offset).u32(header.previous.crc);
  writer.u64be(header.firstSequence).u64be(header.firstIndexExpected);
  writer.u64be(header.hardState.term).u32(header.hardState.vote).u64be(header.hardState.commit);
  writer.u64be(header.base.index).u64be(header.base.term);
  writeConfiguration(writer, header.base.configuration);
  writer.u8(header.damage === undefined ? 0 : 1);
  if (header.damage !== undefined) {
    const { file, offset, reason } = header.damage;
    writer.bytes(Buffer.from(file)).varint(offset).bytes(Buffer.from(reason));
  }
  invariant(writer.length <= HEADER_BYTES, `segment header of ${writer.length} bytes`);
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.set(writer.take());
  const crc = headerCrc(bytes);
  bytes.writeUInt32LE(crc, 12);
  return { bytes, crc };
}

/** Over all of the block but the checksum itself. */
function headerCrc(block: Uint8Array): number {
  return crc32(block.subarray(16), crc32(block.subarray(0, 12)));
}

/**
 * Decodes a block; a text says why it is none. Throws UnknownFormatError on a whole block of
 * another format, which is no damage.
 */
export function decodeHeader(bytes: Uint8Array): { header: SegmentHeader; crc: number } | string {
  if (bytes.length < HEADER_BYTES) return `segment of ${bytes.length} bytes has no header`;
  const block = bytes.subarray(0, HEADER_BYTES);
  const reader = new BinaryReader(block);
  if (reader.u32() !== MAGIC || reader.u32() !== MAGIC_SECOND) return 'no segment header';
  const format = reader.u32();
  const crc = reader.u32();
  if (headerCrc(block) !== crc) return 'segment header fails its checksum';
  if (format !== WAL_FORMAT) throw new UnknownFormatError(`segment format ${format} is unknown`);
  const cluster = BigInt.asUintN(64, reader.i64()).toString(16).padStart(16, '0');
  const identity = { cluster, member: reader.u32() };
  const segment = reader.u32();
  const sizeBytes = reader.u32();
  const previous = { segment: reader.u32(), offset: reader.u32(), crc: reader.u32() };
  const firstSequence = reader.u64be();
  const firstIndexExpected = reader.u64be();
  const hardState = { term: reader.u64be(), vote: reader.u32(), commit: reader.u64be() };
  const index = reader.u64be();
  const base = { index, term: reader.u64be(), configuration: readConfiguration(reader) };
  const damage = reader.u8() === 0 ? undefined : readDamage(reader);
  const header = {
    identity,
    segment,
    sizeBytes,
    previous,
    firstSequence,
    firstIndexExpected,
    hardState,
    base,
    damage,
  };
  return { header, crc };
}

function readDamage(reader: BinaryReader): Damage {
  const file = Buffer.from(reader.bytes()).toString();
  const offset = reader.varint();
  return { file, offset, reason: Buffer.from(reader.bytes()).toString() };
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(8, '0')}.wal`;
}

/** Number in a segment's file name, `undefined` for other files. */
export function segmentNumber(name: string): number | undefined {
  return /^[0-9]{8,}\.wal$/.test(name) ? Number.parseInt(name, 10) : undefined;
}
