import { BinaryFormatError, BinaryReader, BinaryWriter, UnknownFormatError } from './binary.ts';
import type { ClusterTimeMs, Incarnation, MemberId, Sequence, WallTimeMs } from './ids.ts';
import type { LeaseHandle } from './lease.ts';

/** Layout version written in the first byte of every entry (design §4). */
export const ENTRY_FORMAT = 1;

/** Why the entry exists. The kind also tells how leases are treated (design §6). */
export const EntryKind = {
  /** Renewals, then due expiry, then commands. */
  Commands: 0,
  /** First entry of a term won in an election: lifts leases to the reconnect grace. */
  Elected: 1,
  /** First entry of a term begun by an orderly transfer: lifts nothing. */
  Transferred: 2,
  /** A change of membership; `configuration` holds the change. */
  Configuration: 3,
} as const;
export type EntryKind = (typeof EntryKind)[keyof typeof EntryKind];

/** Keep-alives of one member, committed together; `ticket` names them to that member. */
export interface RenewalGroup {
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  readonly ticket: number;
  readonly leases: readonly LeaseHandle[];
}

/**
 * Consecutive commands of one member: sequences `first`, `first + 1`, …
 * `first` 0 marks commands that the leader itself makes; they are not numbered and never forwarded.
 * A command of length 0 is void: its client was told failed or unknown before it was committed.
 */
export interface Run {
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  readonly first: Sequence;
  readonly commands: readonly Uint8Array[];
}

/** The unit of the Raft log: what one turn of the leader's loop proposed. */
export interface LogEntry {
  readonly kind: EntryKind;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  readonly renewals: readonly RenewalGroup[];
  readonly runs: readonly Run[];
  readonly configuration?: Uint8Array;
}

/**
 * Encodes an entry: kind and both stamps, renewals, runs. The command bytes made at the door are
 * copied as they are. The caller owns the result.
 */
export function encodeEntry(entry: LogEntry): Uint8Array {
  const writer = new BinaryWriter(estimateBytes(entry));
  writer.u8(ENTRY_FORMAT).u8(entry.kind).f64(entry.time).f64(entry.wall);
  writer.varint(entry.renewals.length);
  for (const group of entry.renewals) {
    writer.varint(group.origin).varint(group.incarnation).varint(group.ticket);
    writer.varint(group.leases.length);
    for (const lease of group.leases) writer.varint(lease);
  }
  writer.varint(entry.runs.length);
  for (const run of entry.runs) encodeRun(writer, run);
  if (entry.configuration !== undefined) writer.bytes(entry.configuration);
  return writer.take();
}

/** A run as it stands in an entry and in a forward frame. */
export function encodeRun(writer: BinaryWriter, run: Run): void {
  writer.varint(run.origin).varint(run.incarnation).varint(run.first);
  writer.varint(run.commands.length);
  for (const command of run.commands) writer.bytes(command);
}

/** Twin of `encodeRun`. The commands are views on the reader's input. */
export function decodeRun(reader: BinaryReader): Run {
  const origin = reader.varint();
  const incarnation = reader.varint();
  const first = reader.varint();
  const count = reader.varint();
  if (count > reader.remaining) throw new BinaryFormatError(`run of ${count} commands is cut`);
  const commands: Uint8Array[] = [];
  for (let i = 0; i < count; i++) commands.push(reader.bytes());
  return { origin, incarnation, first, commands };
}

/** Stamps of an entry without decoding the rest; for the leader's time base at election. */
export function entryStamps(data: Uint8Array): {
  kind: EntryKind;
  time: ClusterTimeMs;
  wall: WallTimeMs;
} {
  const reader = new BinaryReader(data);
  return readHeader(reader);
}

/**
 * Decodes an entry. Byte fields are views on `data`.
 * Throws BinaryFormatError when malformed, UnknownFormatError when newer: the member must stop.
 */
export function decodeEntry(data: Uint8Array): LogEntry {
  const reader = new BinaryReader(data);
  const header = readHeader(reader);
  const renewals: RenewalGroup[] = [];
  for (let left = reader.varint(); left > 0; left--) renewals.push(decodeRenewals(reader));
  const runs: Run[] = [];
  for (let left = reader.varint(); left > 0; left--) runs.push(decodeRun(reader));
  if (header.kind === EntryKind.Configuration) {
    return { ...header, renewals, runs, configuration: reader.bytes() };
  }
  if (reader.remaining !== 0) throw new BinaryFormatError(`${reader.remaining} bytes left over`);
  return { ...header, renewals, runs };
}

function readHeader(reader: BinaryReader) {
  const format = reader.u8();
  if (format !== ENTRY_FORMAT) throw new UnknownFormatError(`entry format ${format} is unknown`);
  const kind = reader.u8();
  if (kind > EntryKind.Configuration) throw new UnknownFormatError(`entry kind ${kind} is unknown`);
  return { kind: kind as EntryKind, time: reader.f64(), wall: reader.f64() };
}

function decodeRenewals(reader: BinaryReader): RenewalGroup {
  const origin = reader.varint();
  const incarnation = reader.varint();
  const ticket = reader.varint();
  const leases: LeaseHandle[] = [];
  for (let left = reader.varint(); left > 0; left--) leases.push(reader.varint());
  return { origin, incarnation, ticket, leases };
}

function estimateBytes(entry: LogEntry): number {
  let size = 64 + (entry.configuration?.length ?? 0);
  for (const group of entry.renewals) size += 24 + group.leases.length * 4;
  for (const run of entry.runs) {
    size += 32;
    for (const command of run.commands) size += command.length + 4;
  }
  return size;
}
