import { BinaryReader, BinaryWriter, UnknownFormatError } from './binary.ts';
import type { LeaseHandle } from './lease.ts';

/** Procedure numbers by family; a number is never reused. Names are for people. */
export const ProcedureFamily = {
  System: 0x0000,
  Lock: 0x0100,
  Etcd: 0x0200,
  ZooKeeper: 0x0300,
  Redis: 0x0400,
} as const;

/** Who asks: a small integer that the state machine maps to a user. 0 is anonymous. */
export type Principal = number;
export const ANONYMOUS: Principal = 0;

/** The session a command belongs to. Void at apply unless the session lives at this epoch. */
export interface CommandSession {
  readonly lease: LeaseHandle;
  /** Counts attachments of the session to connections; only the newest may write. */
  readonly epoch: number;
}

export interface Command {
  readonly procedure: number;
  readonly version: number;
  readonly principal: Principal;
  readonly session?: CommandSession;
  readonly args: Uint8Array;
}

const HAS_SESSION = 1;

/** Of the head's flags: throws UnknownFormatError on one that newer software would have set. */
export function hasSession(flags: number): boolean {
  if (flags > HAS_SESSION) throw new UnknownFormatError(`command flags ${flags} are unknown`);
  return flags === HAS_SESSION;
}

/**
 * Writes the head of a command; the procedure's own encoder appends the arguments to the same
 * writer. What `writer.copy()` then returns is what stands in the log and on the wire.
 */
export function writeCommandHead(
  writer: BinaryWriter,
  procedure: number,
  version: number,
  principal: Principal = ANONYMOUS,
  session?: CommandSession,
): BinaryWriter {
  writer
    .u16(procedure)
    .u8(version)
    .u8(session === undefined ? 0 : HAS_SESSION)
    .varint(principal);
  if (session !== undefined) writer.varint(session.lease).varint(session.epoch);
  return writer;
}

/** A complete command from its parts; for tests and rare commands. The caller owns the result. */
export function encodeCommand(command: Command): Uint8Array {
  const writer = new BinaryWriter(32 + command.args.length);
  const { procedure, version, principal, session, args } = command;
  return writeCommandHead(writer, procedure, version, principal, session).raw(args).take();
}

/** Twin of the above; `args` is a view on `bytes`. Throws BinaryFormatError when malformed. */
export function decodeCommand(bytes: Uint8Array): Command {
  const reader = new BinaryReader(bytes);
  const procedure = reader.u16();
  const version = reader.u8();
  const sessioned = hasSession(reader.u8());
  const principal = reader.varint();
  if (!sessioned) return { procedure, version, principal, args: reader.rest() };
  const session = { lease: reader.varint(), epoch: reader.varint() };
  return { procedure, version, principal, session, args: reader.rest() };
}
