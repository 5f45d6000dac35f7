import {
  BinaryFormatError,
  BinaryReader,
  BinaryWriter,
  decodeRun,
  encodeRun,
} from '@lockstep/model';
import { type AppendRequest, type Entry, EntryType, type ReadContext } from '@lockstep/raft';
import type { PeerMessage } from './peer-message.ts';
import { packPlain, unpackPlain } from './plain-message-pack.ts';
import { rareFromPlain, rareToPlain } from './rare-messages.ts';

/** Layout version, the first byte of every frame. */
export const FRAME_FORMAT = 1;

/** First byte of each message: the kinds with a fixed layout, and one for all rare ones. */
const Tag = {
  Append: 1,
  AppendResponse: 2,
  Heartbeat: 3,
  HeartbeatResponse: 4,
  ReadIndex: 5,
  ReadIndexResponse: 6,
  Forward: 7,
  ForwardRefused: 8,
  Renew: 9,
  Clock: 10,
  Times: 11,
  SnapshotChunk: 12,
  Rare: 255,
} as const;

/**
 * One frame of everything said to one member in one turn: version byte, then the messages one
 * after another. Entry data is copied once, into the frame. The caller owns the result.
 */
export function encodeFrame(messages: readonly PeerMessage[]): Uint8Array {
  let sizeBytes = 1;
  for (const message of messages) sizeBytes += estimateBytes(message);
  const isSmall = sizeBytes <= SMALL_FRAME_BYTES;
  const writer = isSmall ? smallFrames : new BinaryWriter(sizeBytes);
  writer.u8(FRAME_FORMAT);
  for (const message of messages) writeMessage(writer, message);
  return isSmall ? writer.pooledCopy() : writer.take();
}

/** Small frames are written into one buffer and copied out: cheaper than a buffer each. */
const SMALL_FRAME_BYTES = 2048;
const smallFrames = new BinaryWriter(2 * SMALL_FRAME_BYTES);

/**
 * Twin of the above. Byte fields are views on `frame`. Throws BinaryFormatError, and nothing else,
 * on malformed input: the link must then be closed.
 */
export function decodeFrame(frame: Uint8Array): PeerMessage[] {
  const reader = new BinaryReader(frame);
  const format = reader.u8();
  if (format !== FRAME_FORMAT) throw new BinaryFormatError(`frame format ${format} is unknown`);
  const messages: PeerMessage[] = [];
  while (reader.remaining > 0) messages.push(readMessage(reader));
  return messages;
}

function estimateBytes(message: PeerMessage): number {
  let sizeBytes = 64;
  switch (message.kind) {
    case 'append':
      for (const entry of message.entries) sizeBytes += entry.data.length + 16;
      break;
    case 'forward':
      for (const command of message.run.commands) sizeBytes += command.length + 4;
      break;
    case 'renew':
      sizeBytes += message.group.leases.length * 5;
      break;
    case 'snapshot-chunk':
      sizeBytes += message.bytes.length;
      break;
    default:
      break;
  }
  return sizeBytes;
}

function writeMessage(writer: BinaryWriter, m: PeerMessage): void {
  switch (m.kind) {
    case 'append':
      writeAppend(writer, m);
      break;
    case 'append-response':
      writeAddress(writer, Tag.AppendResponse, m)
        .varint(m.index)
        .u8(m.reject ? 1 : 0);
      writer.varint(m.hintIndex).varint(m.hintTerm);
      break;
    case 'heartbeat':
      writeAddress(writer, Tag.Heartbeat, m).varint(m.commit).varint(m.readRound);
      break;
    case 'heartbeat-response':
      writeAddress(writer, Tag.HeartbeatResponse, m).varint(m.readRound);
      break;
    case 'read-index':
      writeContext(writeAddress(writer, Tag.ReadIndex, m), m.context);
      break;
    case 'read-index-response':
      writeContext(writeAddress(writer, Tag.ReadIndexResponse, m), m.context).varint(m.index);
      break;
    default:
      writeOther(writer, m);
  }
}

function writeOther(writer: BinaryWriter, m: PeerMessage): void {
  switch (m.kind) {
    case 'forward':
      encodeRun(writer.u8(Tag.Forward), m.run);
      break;
    case 'forward-refused':
      writer.u8(Tag.ForwardRefused).varint(m.incarnation).varint(m.expected);
      break;
    case 'renew': {
      const { origin, incarnation, ticket, leases } = m.group;
      writer.u8(Tag.Renew).varint(origin).varint(incarnation).varint(ticket);
      writer.varint(leases.length);
      for (const lease of leases) writer.varint(lease);
      break;
    }
    case 'clock':
      writer
        .u8(Tag.Clock)
        .f64(m.wallMs)
        .f64(m.stampMs)
        .f64(m.echoMs)
        .u8(m.quorum ? 1 : 0);
      break;
    case 'times':
      writer.u8(Tag.Times).f64(m.clusterMs).f64(m.wallMs);
      break;
    case 'snapshot-chunk':
      writer.u8(Tag.SnapshotChunk).varint(m.stream).varint(m.number).u32(m.crc).bytes(m.bytes);
      break;
    default:
      writeRare(writer, m);
  }
}

function writeRare(writer: BinaryWriter, message: PeerMessage): void {
  const plain = rareToPlain(message);
  if (plain === undefined) throw new TypeError(`no layout for message '${message.kind}'`);
  writer.u8(Tag.Rare).bytes(packPlain(plain));
}

function writeAddress(
  writer: BinaryWriter,
  tag: number,
  message: { readonly from: number; readonly to: number; readonly term: number },
): BinaryWriter {
  return writer.u8(tag).varint(message.from).varint(message.to).varint(message.term);
}

function writeContext(writer: BinaryWriter, context: ReadContext): BinaryWriter {
  return writer.varint(context.member).varint(context.incarnation).varint(context.counter);
}

/** Entries of one request are consecutive: only the first index stands in the frame. */
function writeAppend(writer: BinaryWriter, m: AppendRequest): void {
  writeAddress(writer, Tag.Append, m).varint(m.prevIndex).varint(m.prevTerm);
  writer.varint(m.commit).varint(m.readRound).varint(m.entries.length);
  for (const entry of m.entries) writer.varint(entry.term).u8(entry.type).bytes(entry.data);
}

function readMessage(reader: BinaryReader): PeerMessage {
  const tag = reader.u8();
  switch (tag) {
    case Tag.Append:
      return readAppend(reader);
    case Tag.AppendResponse:
      return {
        kind: 'append-response',
        ...readAddress(reader),
        index: reader.varint(),
        reject: readBoolean(reader),
        hintIndex: reader.varint(),
        hintTerm: reader.varint(),
      };
    case Tag.Heartbeat: {
      const address = readAddress(reader);
      const [commit, readRound] = [reader.varint(), reader.varint()];
      return { kind: 'heartbeat', ...address, commit, readRound };
    }
    case Tag.HeartbeatResponse:
      return { kind: 'heartbeat-response', ...readAddress(reader), readRound: reader.varint() };
    case Tag.ReadIndex:
      return { kind: 'read-index', ...readAddress(reader), context: readContext(reader) };
    case Tag.ReadIndexResponse: {
      const address = readAddress(reader);
      const context = readContext(reader);
      return { kind: 'read-index-response', ...address, context, index: reader.varint() };
    }
    default:
      return readOther(reader, tag);
  }
}

function readOther(reader: BinaryReader, tag: number): PeerMessage {
  switch (tag) {
    case Tag.Forward:
      return { kind: 'forward', run: decodeRun(reader) };
    case Tag.ForwardRefused: {
      const [incarnation, expected] = [reader.varint(), reader.varint()];
      return { kind: 'forward-refused', incarnation, expected };
    }
    case Tag.Renew:
      return readRenew(reader);
    case Tag.Clock: {
      const [wallMs, stampMs, echoMs] = [
        readFinite(reader),
        readFinite(reader),
        readFinite(reader),
      ];
      return { kind: 'clock', wallMs, stampMs, echoMs, quorum: readBoolean(reader) };
    }
    case Tag.Times:
      return { kind: 'times', clusterMs: readFinite(reader), wallMs: readFinite(reader) };
    case Tag.SnapshotChunk: {
      const [stream, number, crc] = [reader.varint(), reader.varint(), reader.u32()];
      return { kind: 'snapshot-chunk', stream, number, crc, bytes: reader.bytes() };
    }
    case Tag.Rare:
      return rareFromPlain(unpackPlain(reader.bytes()));
    default:
      throw new BinaryFormatError(`message tag ${tag} is unknown`);
  }
}

function readAddress(reader: BinaryReader) {
  return { from: reader.varint(), to: reader.varint(), term: reader.varint() };
}

function readContext(reader: BinaryReader): ReadContext {
  return { member: reader.varint(), incarnation: reader.varint(), counter: reader.varint() };
}

function readBoolean(reader: BinaryReader): boolean {
  const byte = reader.u8();
  if (byte > 1) throw new BinaryFormatError(`${byte} is no boolean`);
  return byte === 1;
}

function readFinite(reader: BinaryReader): number {
  const value = reader.f64();
  if (!Number.isFinite(value)) throw new BinaryFormatError(`${value} is no time`);
  return value;
}

function readAppend(reader: BinaryReader): AppendRequest {
  const { from, to, term } = readAddress(reader);
  const [prevIndex, prevTerm] = [reader.varint(), reader.varint()];
  const [commit, readRound, count] = [reader.varint(), reader.varint(), reader.varint()];
  if (count > reader.remaining) throw new BinaryFormatError(`${count} entries are cut`);
  const entries: Entry[] = [];
  for (let i = 1; i <= count; i++) {
    const [entryTerm, type] = [reader.varint(), reader.u8()];
    if (type > EntryType.Configuration) throw new BinaryFormatError(`entry type ${type}`);
    const data = reader.bytes();
    entries.push({ index: prevIndex + i, term: entryTerm, type: type as EntryType, data });
  }
  return { kind: 'append', from, to, term, prevIndex, prevTerm, entries, commit, readRound };
}

function readRenew(reader: BinaryReader): PeerMessage {
  const [origin, incarnation, ticket] = [reader.varint(), reader.varint(), reader.varint()];
  const leases: number[] = [];
  const count = reader.varint();
  if (count > reader.remaining) throw new BinaryFormatError(`${count} leases are cut`);
  for (let i = 0; i < count; i++) leases.push(reader.varint());
  return { kind: 'renew', group: { origin, incarnation, ticket, leases } };
}
