import type { ByteString } from '@lockstep/model';
import { deleteKey, getText, setExpiry, writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError, SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import { absoluteExpiryMs, millisecondsLeft } from '../expiry.ts';
import { parseToken } from '../fence.ts';
import { keyspaceOf, lockQueueMax, type RedisRecord } from '../keyspaces.ts';
import { parseAcquire, parseTtl } from '../lock-options.ts';
import { decodeLockDetails, decodeLockRequest } from '../lock-request.ts';
import { enqueueLock, grantReply, takeLock } from '../lock-wait.ts';
import type { Reply } from '../reply.ts';
import { listLocks } from './lock-list.ts';

function acquire(execution: Execution, argv: readonly ByteString[]): Reply {
  const { request, blockMs, queueMax } = parseAcquire(argv, execution.client);
  if (request.session && request.client === undefined) {
    throw new CommandError('ERR SESSION needs a connection');
  }
  const tx = writing(execution);
  const key = argv[2]!;
  const keyspace = keyspaceOf(execution.db);
  const record = execution.get(key);
  if (record !== undefined && record.value.kind !== 'string') throw new CommandError(WRONG_TYPE);
  const waiting = tx.waiters(keyspace, key).length;
  if (record === undefined || record.value.text === request.owner) {
    const nested = record !== undefined && request.reentrant;
    const before = tx.lockNote(keyspace, key)?.holds ?? 1;
    const holds = record === undefined ? 1 : before + (nested ? 1 : 0);
    const taken = takeLock(tx, keyspace, key, request, tx.origin, holds);
    return grantReply(request, taken, waiting, holds);
  }
  if (blockMs === undefined || execution.nested) return null;
  const limit = Math.min(queueMax ?? Number.POSITIVE_INFINITY, tx.option(lockQueueMax));
  if (waiting >= limit) throw new CommandError(`QUEUEFULL lock queue limit ${limit} reached`);
  const waiter = enqueueLock(tx, keyspace, key, request, blockMs);
  return { kind: 'queued', waiter: waiter.id };
}

function blocks(argv: readonly ByteString[]): boolean {
  try {
    return parseAcquire(argv, undefined).blockMs !== undefined;
  } catch (failure) {
    if (failure instanceof CommandError) return false;
    throw failure;
  }
}

/** From now on the door renews the connection's lease. */
function keepSession(session: DoorSession, argv: readonly ByteString[], reply: Reply): Reply {
  const words = argv.slice(4).map((word) => word.toUpperCase());
  if (words.includes('SESSION')) session.keepLease();
  return reply;
}

/** The record if `owner` holds it, under `token` when one is given. */
function heldBy(
  execution: Execution,
  key: ByteString,
  owner: ByteString,
  token: ByteString | undefined,
): RedisRecord | undefined {
  const expected = token === undefined ? undefined : parseToken(token);
  const text = getText(execution, key);
  const record = text === owner ? execution.get(key) : undefined;
  if (expected !== undefined && record?.token !== expected) return undefined;
  return record;
}

/** Value of a trailing `TOKEN n`; throws when other words stand there. */
function tokenOption(argv: readonly ByteString[], at: number): ByteString | undefined {
  if (argv.length === at) return undefined;
  if (argv.length !== at + 2 || argv[at]!.toUpperCase() !== 'TOKEN') {
    throw new CommandError(SYNTAX_ERROR);
  }
  return argv[at + 1];
}

function release(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[2]!;
  const record = heldBy(execution, key, argv[3]!, tokenOption(argv, 4));
  if (record === undefined) return 0;
  const keyspace = keyspaceOf(execution.db);
  const note = execution.reader.lockNote(keyspace, key);
  if (note !== undefined && note.holds > 1) {
    writing(execution).setLockNote(keyspace, key, { ...note, holds: note.holds - 1 });
    return 2;
  }
  deleteKey(execution, key);
  return 1;
}

function extend(execution: Execution, argv: readonly ByteString[]): Reply {
  const unit = argv[4]!.toUpperCase();
  if (unit !== 'PX' && unit !== 'EX') throw new CommandError(SYNTAX_ERROR);
  const ttlMs = parseTtl(unit, argv[5]!, 'lock|extend');
  const record = heldBy(execution, argv[2]!, argv[3]!, tokenOption(argv, 6));
  if (record === undefined) return 0;
  const deadline = execution.time + ttlMs;
  setExpiry(execution, argv[2]!, record, { deadline, past: false });
  execution.notify('g', 'expire', argv[2]!);
  return 1;
}

function token(at: number) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    if (argv.length > at + 2) throw new CommandError(SYNTAX_ERROR);
    const record = execution.get(argv[at]!);
    if (record === undefined) return null;
    const owner = argv[at + 1];
    if (owner === undefined) return record.token;
    return record.value.kind === 'string' && record.value.text === owner ? record.token : null;
  };
}

function check(execution: Execution, argv: readonly ByteString[]): Reply {
  const expected = parseToken(argv[3]!);
  return execution.get(argv[2]!)?.token === expected ? 1 : 0;
}

function info(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[2]!;
  const keyspace = keyspaceOf(execution.db);
  const record = execution.get(key);
  if (record === undefined) return null;
  const owner = getText(execution, key) ?? '';
  const note = execution.reader.lockNote(keyspace, key);
  const { meta, client } = decodeLockDetails(note?.meta ?? EMPTY_DETAILS);
  const queue = execution.reader.waiters(keyspace, key).length;
  const items: Reply[] = ['state', 'held', 'owner', owner, 'token', record.token];
  items.push('mode', 'exclusive', 'acquired-at', note?.acquiredWall ?? null);
  items.push('expires-at', record.deadline === 0 ? null : absoluteExpiryMs(execution, record));
  items.push('ttl', millisecondsLeft(execution, record), 'meta', meta);
  items.push('client-id', client?.id ?? null, 'client-addr', client?.address ?? null);
  items.push('holds', note?.holds ?? 1, 'session', record.lease === 0 ? 0 : 1);
  items.push('queue-length', queue);
  return { kind: 'map', items };
}

/** Details of a record that a plain SET made: a zero-length META, no client. */
const EMPTY_DETAILS = Uint8Array.of(0);

function queue(execution: Execution, argv: readonly ByteString[]): Reply {
  return execution.reader.waiters(keyspaceOf(execution.db), argv[2]!).map((waiter): Reply => {
    const { owner, client } = decodeLockRequest(waiter.args);
    return [owner, client?.id ?? null, Math.max(0, execution.time - waiter.since)];
  });
}

function cancel(execution: Execution, argv: readonly ByteString[]): Reply {
  const tx = writing(execution);
  let cancelled = 0;
  for (const waiter of [...tx.waiters(keyspaceOf(execution.db), argv[2]!)]) {
    if (decodeLockRequest(waiter.args).owner !== argv[3]) continue;
    if (tx.removeWaiter(waiter.id)) cancelled = 1;
  }
  return cancelled;
}

function force(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length > 3) throw new CommandError('ERR LOCK FORCE … DELAY is not supported yet');
  const record = execution.get(argv[2]!);
  if (record === undefined) return null;
  deleteKey(execution, argv[2]!);
  return record.token;
}

type Row = readonly [
  name: string,
  arity: number,
  write: boolean,
  summary: string,
  run: NonNullable<CommandSpec['run']>,
];

const rows: readonly Row[] = [
  ['release', -4, true, 'Gives a lock back.', release],
  ['extend', -6, true, 'Moves the expiry of a lock one holds.', extend],
  ['token', -3, false, 'Fencing token of a lock.', token(2)],
  ['check', 4, false, 'Whether a token is the present one.', check],
  ['info', 3, false, 'What is known of a lock.', info],
  ['queue', 3, false, 'Who waits for a lock.', queue],
  ['cancel', 4, true, 'Leaves the queue of a lock.', cancel],
  ['force', -3, true, 'Takes a lock away from its holder.', force],
];

const subcommands = new Map<string, CommandSpec>(
  rows.map(([name, arity, write, summary, run]) => [
    name,
    {
      name: `lock|${name}`,
      arity,
      flags: [write ? 'write' : 'readonly', 'fast'],
      keys: [2, 2, 1],
      summary,
      run,
    },
  ]),
);
subcommands.set('acquire', {
  name: 'lock|acquire',
  arity: -5,
  flags: ['write', 'denyoom', 'blocking'],
  keys: [2, 2, 1],
  summary: 'Takes a lock and returns its fencing token, in a fair queue if asked to wait.',
  run: acquire,
  blocks,
  completed: keepSession,
  identified: true,
});
subcommands.set('list', {
  name: 'lock|list',
  arity: -3,
  flags: ['readonly'],
  keys: [0, 0, 0],
  summary: 'Iterates over locks.',
  run: listLocks,
});

export const lockCommands: readonly CommandSpec[] = [
  {
    name: 'lock',
    arity: -2,
    flags: [],
    keys: [0, 0, 0],
    summary: 'Locks with fencing tokens and a fair queue.',
    subcommands,
  },
  {
    name: 'fence',
    arity: -2,
    flags: ['readonly', 'fast'],
    keys: [1, 1, 1],
    summary: 'Fencing token of a lock.',
    run: token(1),
  },
];
