import { DEFAULT_BUDGET } from '@lockstep/lua';
import {
  type BinaryReader,
  BinaryWriter,
  type ByteString,
  ProcedureFamily,
  writeCommandHead,
} from '@lockstep/model';
import type { Extension, Procedure, Transaction } from '@lockstep/state-machine';
import type { Request } from './codec.ts';
import { collectionKeyspace, elementKeyspaces, freeDropped } from './collections.ts';
import type { ClientIdentity } from './command.ts';
import { CommandExecution, runCommand } from './execution.ts';
import {
  evaluatedScriptsMax,
  keyspaceOf,
  lockQueueMax,
  redisKeyspaces,
  scriptKeyspace,
} from './keyspaces.ts';
import { connectionLease, sessionLockTtl } from './lock-session.ts';
import { notifyKeyspaceEvents } from './notification.ts';
import { NULL_ARRAY, type Reply } from './reply.ts';
import type { WatchedKey } from './watched-key.ts';

/** Commands as the log holds them: the client's own words behind a small head. */
export interface CommandArguments {
  readonly db: number;
  readonly client: ClientIdentity | undefined;
  readonly argv: readonly ByteString[];
}

export interface QueuedCommand {
  readonly db: number;
  readonly argv: readonly ByteString[];
}

export interface TransactionArguments {
  readonly client: ClientIdentity | undefined;
  readonly watched: readonly WatchedKey[];
  readonly commands: readonly QueuedCommand[];
}

const ProcedureNumber = {
  command: ProcedureFamily.Redis,
  read: ProcedureFamily.Redis + 1,
  transaction: ProcedureFamily.Redis + 2,
  endConnection: ProcedureFamily.Redis + 3,
} as const;
const VERSION = 1;
const NO_CLIENT = 0;
const HAS_CLIENT = 1;

function writeClient(writer: BinaryWriter, client: ClientIdentity | undefined): void {
  if (client === undefined) writer.u8(NO_CLIENT);
  else writer.u8(HAS_CLIENT).f64(client.id).byteString(client.address);
}

function readClient(reader: BinaryReader): ClientIdentity | undefined {
  if (reader.u8() === NO_CLIENT) return undefined;
  return { id: reader.f64(), address: reader.byteString() };
}

function readArgv(reader: BinaryReader): ByteString[] {
  const argv: ByteString[] = [];
  for (let left = reader.varint(); left > 0; left--) argv.push(reader.byteString());
  return argv;
}

function writeArgv(writer: BinaryWriter, argv: readonly ByteString[]): void {
  writer.varint(argv.length);
  for (const argument of argv) writer.byteString(argument);
}

/** One command, straight from the request's bytes. The caller owns the result. */
export function encodeRequest(
  writer: BinaryWriter,
  readOnly: boolean,
  db: number,
  client: ClientIdentity | undefined,
  request: Request,
): Uint8Array {
  writeCommandHead(writer, readOnly ? ProcedureNumber.read : ProcedureNumber.command, VERSION);
  writeClient(writer.u8(db), client);
  writer.varint(request.count);
  for (let i = 0; i < request.count; i++) writer.bytes(request.view(i));
  return writer.copy();
}

/** The same from words, for commands that the door makes itself. */
export function encodeWords(
  writer: BinaryWriter,
  db: number,
  client: ClientIdentity | undefined,
  argv: readonly ByteString[],
): Uint8Array {
  writeCommandHead(writer, ProcedureNumber.command, VERSION);
  writeClient(writer.u8(db), client);
  writeArgv(writer, argv);
  return writer.copy();
}

export function encodeTransaction(writer: BinaryWriter, args: TransactionArguments): Uint8Array {
  writeCommandHead(writer, ProcedureNumber.transaction, VERSION);
  writeClient(writer, args.client);
  writer.varint(args.watched.length);
  for (const { db, key, revision } of args.watched) {
    writer.u8(db).byteString(key).varint(revision);
  }
  writer.varint(args.commands.length);
  for (const { db, argv } of args.commands) writeArgv(writer.u8(db), argv);
  return writer.copy();
}

/** Ends the lease of a connection with its SESSION locks. */
export function encodeEndConnection(connection: number): Uint8Array {
  return writeCommandHead(new BinaryWriter(24), ProcedureNumber.endConnection, VERSION)
    .f64(connection)
    .copy();
}

function decodeCommand(reader: BinaryReader): CommandArguments {
  return { db: reader.u8(), client: readClient(reader), argv: readArgv(reader) };
}

function runOne(tx: Transaction, { db, client, argv }: CommandArguments): Reply {
  const { time, wall } = tx;
  const options = { reader: tx, tx, time, wall, db, client };
  return runCommand(new CommandExecution(options), argv);
}

const command: Procedure<CommandArguments, Reply> = {
  id: ProcedureNumber.command,
  version: VERSION,
  name: 'redis.command',
  readOnly: false,
  decode: decodeCommand,
  run(tx, args) {
    const reply = runOne(tx, args);
    freeDropped(tx);
    return reply;
  },
};

/** A read behind a write of its own connection: evaluated at its place (design §7). */
const read: Procedure<CommandArguments, Reply> = {
  id: ProcedureNumber.read,
  version: VERSION,
  name: 'redis.read',
  readOnly: true,
  decode: decodeCommand,
  run: runOne,
};

/** EXEC: void unless every watched key is as it was; then all commands, errors in their places. */
const transaction: Procedure<TransactionArguments, Reply> = {
  id: ProcedureNumber.transaction,
  version: VERSION,
  name: 'redis.transaction',
  readOnly: false,
  decode(reader) {
    const client = readClient(reader);
    const watched: WatchedKey[] = [];
    for (let left = reader.varint(); left > 0; left--) {
      watched.push({ db: reader.u8(), key: reader.byteString(), revision: reader.varint() });
    }
    const commands: QueuedCommand[] = [];
    for (let left = reader.varint(); left > 0; left--) {
      commands.push({ db: reader.u8(), argv: readArgv(reader) });
    }
    return { client, watched, commands };
  },
  run(tx, { client, watched, commands }) {
    for (const { db, key, revision } of watched) {
      if ((tx.get(keyspaceOf(db), key)?.modRevision ?? 0) !== revision) return NULL_ARRAY;
    }
    const { time, wall } = tx;
    const allowance = { ...DEFAULT_BUDGET };
    const options = { reader: tx, tx, time, wall, client, nested: true, allowance };
    const replies = commands.map(({ db, argv }) =>
      runCommand(new CommandExecution({ ...options, db }), argv),
    );
    freeDropped(tx);
    return replies;
  },
};

const endConnection: Procedure<number, boolean> = {
  id: ProcedureNumber.endConnection,
  version: VERSION,
  name: 'redis.endConnection',
  readOnly: false,
  decode: (reader) => reader.f64(),
  run(tx, connection) {
    const lease = connectionLease(tx, connection);
    if (lease !== undefined) tx.revokeLease(lease.handle);
    return lease !== undefined;
  },
};

/** What the Redis door contributes to the state machine. */
export const redisExtension: Extension = {
  name: 'redis',
  keyspaces: [...redisKeyspaces, scriptKeyspace, ...elementKeyspaces, collectionKeyspace],
  procedures: [command, read, transaction, endConnection],
  options: [notifyKeyspaceEvents, lockQueueMax, evaluatedScriptsMax, sessionLockTtl],
};
