import { crc32 } from 'node:zlib';
import {
  BinaryFormatError,
  BinaryReader,
  BinaryWriter,
  type Index,
  type Term,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { Entry, EntryType } from '@lockstep/raft';

/** Door of the gossip by which members mend their logs; older software passes it over. */
export const LOG_REPAIR = ':log';

const FORMAT = 1;

/** Neighbouring entries of one term. */
export interface TermRun {
  readonly first: Index;
  readonly last: Index;
  readonly term: Term;
}

/** "I lost the entries first … last." */
export interface RepairRequest {
  readonly kind: 'request';
  readonly first: Index;
  readonly last: Index;
  /** Their term, when the entries around them leave no other; else 0. */
  readonly term: Term;
  /** Entries behind the lost ones that the sender holds: whoever holds one of them had the same
   * log up to there (Raft §5.3, log matching). */
  readonly known: readonly TermRun[];
}

/** What the sender holds of `first` … `last`; each entry is the one asked for. */
export interface RepairAnswer {
  readonly kind: 'answer';
  readonly first: Index;
  readonly last: Index;
  readonly entries: readonly Entry[];
  /** Why there are not more, for people. */
  readonly reason: string;
  /** The sender's own log is whole, so that its vote counts. */
  readonly isTrusted: boolean;
}

export type RepairMessage = RepairRequest | RepairAnswer;

export function encodeRepair(message: RepairMessage): Uint8Array {
  const writer = new BinaryWriter(256);
  // Place of the checksum.
  writer
    .u32(0)
    .u8(FORMAT)
    .u8(message.kind === 'request' ? 0 : 1);
  writer.varint(message.first).varint(message.last);
  if (message.kind === 'request') {
    writer.varint(message.term).varint(message.known.length);
    for (const { first, last, term } of message.known) {
      writer.varint(first).varint(last).varint(term);
    }
  } else {
    writer.u8(message.isTrusted ? 1 : 0).bytes(utf8Bytes(message.reason));
    writer.varint(message.entries.length);
    for (const { index, term, type, data } of message.entries) {
      writer.varint(index).varint(term).u8(type).bytes(data);
    }
  }
  const bytes = Buffer.from(writer.take());
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Twin of the above; entry data are views. Throws BinaryFormatError when malformed. */
export function decodeRepair(bytes: Uint8Array): RepairMessage {
  const reader = new BinaryReader(bytes);
  if (reader.u32() !== crc32(bytes.subarray(4))) throw new BinaryFormatError('checksum is wrong');
  const format = reader.u8();
  if (format !== FORMAT) throw new BinaryFormatError(`repair format ${format} is unknown`);
  const isRequest = reader.u8() === 0;
  const [first, last] = [reader.varint(), reader.varint()];
  if (isRequest) {
    const term = reader.varint();
    const known: TermRun[] = [];
    for (let count = reader.varint(); count > 0; count--) {
      known.push({ first: reader.varint(), last: reader.varint(), term: reader.varint() });
    }
    return { kind: 'request', first, last, term, known };
  }
  const isTrusted = reader.u8() === 1;
  const reason = utf8Text(reader.bytes());
  const entries: Entry[] = [];
  for (let count = reader.varint(); count > 0; count--) {
    const [index, term] = [reader.varint(), reader.varint()];
    entries.push({ index, term, type: reader.u8() as EntryType, data: reader.bytes() });
  }
  return { kind: 'answer', first, last, entries, reason, isTrusted };
}
