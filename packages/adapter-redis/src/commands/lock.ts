import { type ByteString, mark, NO_LEASE, type Token } from '@lockstep/model';
import {
  acquireLock,
  cancelLockWaiters,
  extendLock,
  forceLock,
  type LockGrant,
  lockInfo,
  lockQueue,
  releaseLock,
} from '@lockstep/state-machine';
import { getText, writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError, SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import { absoluteExpiryMs, millisecondsLeft } from '../expiry.ts';
import { parseToken } from '../fence.ts';
import { keyspaceOf, lockQueueMax } from '../keyspaces.ts';
import { type AcquireOptions, parseAcquire, parseTtl } from '../lock-options.ts';
import { decodeLockDetails, encodeLockDetails, openConnectionLease } from '../lock-session.ts';
import type { Reply } from '../reply.ts';
import { listLocks } from './lock-list.ts';

/** `:token`, or what WITHINFO shows. */
function grantReply(
  owner: ByteString,
  options: AcquireOptions,
  token: Token,
  queued: number,
  holds: number,
): Reply {
  if (!options.withInfo) return token;
  const ttl = options.ttlMs === 0 ? -1 : options.ttlMs;
  const items: Reply[] = ['token', token, 'owner', owner, 'ttl', ttl];
  items.push('queue', queued, 'position', 0, 'reentry', holds - 1);
  return { kind: 'map', items };
}

function acquire(execution: Execution, argv: readonly ByteString[]): Reply {
  const options = parseAcquire(argv);
  const { client, time } = execution;
  if (options.session && client === undefined) {
    throw new CommandError('ERR SESSION needs a connection');
  }
  const tx = writing(execution);
  const keyspace = keyspaceOf(execution.db);
  const [, , key, owner] = argv as readonly [ByteString, ByteString, ByteString, ByteString];
  const { ttlMs, blockMs, reentrant, unfair } = options;
  const limit = Math.min(options.queueMax, tx.option(lockQueueMax));
  const deadline = blockMs === undefined || blockMs === 0 ? 0 : time + blockMs;
  const waits = blockMs !== undefined && !execution.nested;
  const outcome = acquireLock(tx, keyspace, key, {
    owner,
    ttlMs,
    lease: NO_LEASE,
    ...(options.session && client !== undefined
      ? { openLease: () => openConnectionLease(tx, client.id) }
      : {}),
    meta: encodeLockDetails({ meta: options.meta, client }),
    reentrant,
    unfair,
    ...(waits ? { wait: { deadline, queueMax: limit } } : {}),
  });
  switch (outcome.kind) {
    case 'wrong-type':
      throw new CommandError(WRONG_TYPE);
    case 'queue-full':
      mark('lock queue is full');
      throw new CommandError(`QUEUEFULL lock queue limit ${limit} reached`);
    case 'held':
      return null;
    case 'queued':
      return { kind: 'queued', waiter: outcome.waiter.id };
    case 'granted': {
      execution.notify('$', 'set', key);
      const queued = tx.waiters(keyspace, key).length;
      return grantReply(owner, options, outcome.token, queued, outcome.holds);
    }
  }
}

function blocks(argv: readonly ByteString[]): boolean {
  try {
    return parseAcquire(argv).blockMs !== undefined;
  } catch (failure) {
    if (failure instanceof CommandError) return false;
    throw failure;
  }
}

/** Reply of a waiter that was served later, at its origin. */
function served(
  session: DoorSession,
  argv: readonly ByteString[],
  result: unknown,
  db: number,
): Reply {
  const { token } = result as LockGrant;
  const queued = session.door.replica.state.waiters(keyspaceOf(db), argv[2]!).length;
  return grantReply(argv[3]!, parseAcquire(argv), token, queued, 1);
}

/** Value of a trailing `TOKEN n`; throws when other words stand there. */
function tokenOption(argv: readonly ByteString[], at: number): Token | undefined {
  if (argv.length === at) return undefined;
  if (argv.length !== at + 2 || argv[at]!.toUpperCase() !== 'TOKEN') {
    throw new CommandError(SYNTAX_ERROR);
  }
  return parseToken(argv[at + 1]!);
}

function release(execution: Execution, argv: readonly ByteString[]): Reply {
  const token = tokenOption(argv, 4);
  const keyspace = keyspaceOf(execution.db);
  const outcome = releaseLock(writing(execution), keyspace, argv[2]!, argv[3]!, token);
  if (outcome.kind === 'not-held') return 0;
  if (outcome.kind === 'still-held') return 2;
  execution.notify('g', 'del', argv[2]!);
  return 1;
}

function extend(execution: Execution, argv: readonly ByteString[]): Reply {
  const unit = argv[4]!.toUpperCase();
  if (unit !== 'PX' && unit !== 'EX') throw new CommandError(SYNTAX_ERROR);
  const ttlMs = parseTtl(unit, argv[5]!, 'lock|extend');
  const token = tokenOption(argv, 6);
  const keyspace = keyspaceOf(execution.db);
  const key = argv[2]!;
  if (!extendLock(writing(execution), keyspace, key, argv[3]!, ttlMs, token)) return 0;
  execution.notify('g', 'expire', key);
  return 1;
}

/** LOCK TOKEN key [owner] and FENCE key [owner]; `at` is where the key stands. */
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
  const record = execution.get(key);
  if (record === undefined) return null;
  getText(execution, key);
  const lock = lockInfo(execution.reader, keyspaceOf(execution.db), key)!;
  const { meta, client } = decodeLockDetails(lock.meta);
  const items: Reply[] = ['state', 'held', 'owner', lock.owner, 'token', lock.token];
  items.push('mode', 'exclusive', 'acquired-at', lock.acquiredWall || null);
  items.push('expires-at', lock.deadline === 0 ? null : absoluteExpiryMs(execution, record));
  items.push('ttl', millisecondsLeft(execution, record), 'meta', meta);
  items.push('client-id', client?.id ?? null, 'client-addr', client?.address ?? null);
  items.push('holds', lock.holds, 'session', lock.lease === 0 ? 0 : 1);
  items.push('queue-length', lock.queueLength);
  return { kind: 'map', items };
}

function queue(execution: Execution, argv: readonly ByteString[]): Reply {
  const entries = lockQueue(execution.reader, keyspaceOf(execution.db), argv[2]!);
  return entries.map(({ owner, meta, waiter }): Reply => {
    const { client } = decodeLockDetails(meta);
    return [owner, client?.id ?? null, Math.max(0, execution.time - waiter.since)];
  });
}

function cancel(execution: Execution, argv: readonly ByteString[]): Reply {
  const keyspace = keyspaceOf(execution.db);
  return cancelLockWaiters(writing(execution), keyspace, argv[2]!, argv[3]!) ? 1 : 0;
}

function force(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length > 3) throw new CommandError('ERR LOCK FORCE with DELAY is not supported yet');
  const freed = forceLock(writing(execution), keyspaceOf(execution.db), argv[2]!);
  if (freed === 0) return null;
  execution.notify('g', 'del', argv[2]!);
  return freed;
}

/** Fence records are removed by command only: the next token shown for the resource sets a new
 * mark, however low, so this is for resources that are no more. */
function unfence(execution: Execution, argv: readonly ByteString[]): Reply {
  return writing(execution).removeFence(argv[2]!) ? 1 : 0;
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
  served,
  identified: true,
});
subcommands.set('unfence', {
  name: 'lock|unfence',
  arity: 3,
  flags: ['write', 'fast'],
  keys: [0, 0, 0],
  summary: 'Forgets the highest token seen for a resource.',
  run: unfence,
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
