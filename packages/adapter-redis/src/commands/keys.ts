import { type ByteString, NO_LEASE } from '@lockstep/model';
import { deleteKey, dropFormer, writing } from '../access.ts';
import {
  addElement,
  dropElements,
  elementKeyspaces,
  elementsOf,
  newCollection,
} from '../collections.ts';
import type { CommandSpec, Execution } from '../command.ts';
import { CommandError, DB_OUT_OF_RANGE, NO_SUCH_KEY, SYNTAX_ERROR } from '../errors.ts';
import { globMatches, globSteps } from '../glob.ts';
import { clampInteger, parseInteger, requireInteger } from '../integer.ts';
import { DATABASES } from '../keyspace-numbers.ts';
import { keyspaceOf, type RedisRecord, redisKeyspaces } from '../keyspaces.ts';
import { OK, type Reply, status } from '../reply.ts';
import type { ScanIndex } from '../scan.ts';
import { everyKey } from '../scan.ts';
import { type RedisValue, writtenBytes } from '../value.ts';
import { setEncoding } from './set-type.ts';

/** Keys one call may look at before it gives way: its budget counts elements touched. */
const KEYS_PAGE = 1000;

function countDeleted(execution: Execution, argv: readonly ByteString[]): Reply {
  let count = 0;
  for (let i = 1; i < argv.length; i++) if (deleteKey(execution, argv[i]!)) count++;
  return count;
}

function exists(execution: Execution, argv: readonly ByteString[]): Reply {
  let count = 0;
  for (let i = 1; i < argv.length; i++) if (execution.get(argv[i]!) !== undefined) count++;
  return count;
}

function type(execution: Execution, argv: readonly ByteString[]): Reply {
  return status(execution.get(argv[1]!)?.value.kind ?? 'none');
}

/** Puts a record elsewhere: its deadline comes along, the token is a new one. */
function place(
  execution: Execution,
  db: number,
  key: ByteString,
  { deadline }: RedisRecord,
  value: RedisValue,
): void {
  execution.spendBytes(writtenBytes(value));
  dropFormer(execution, key, db);
  const options = { deadline, lease: NO_LEASE, token: 'new' } as const;
  writing(execution).put(keyspaceOf(db), key, value, options);
}

/** The value with elements of its own in another place, or in another database. */
function duplicate(execution: Execution, value: RedisValue, db: number): RedisValue {
  if (value.kind === 'string') return value;
  const tx = writing(execution);
  const elements = elementsOf(tx, execution.db, value.collection);
  const collection = newCollection(tx);
  for (const member of everyKey(elements)) {
    execution.spend(1);
    execution.spendBytes(member.length);
    addElement(tx, db, collection, member);
  }
  return { ...value, collection };
}

function move(execution: Execution, from: ByteString, to: ByteString, record: RedisRecord): void {
  writing(execution).delete(keyspaceOf(execution.db), from);
  place(execution, execution.db, to, record, record.value);
  execution.notify('g', 'rename_from', from);
  execution.notify('g', 'rename_to', to);
}

function rename(execution: Execution, argv: readonly ByteString[]): Reply {
  const record = execution.get(argv[1]!);
  if (record === undefined) throw new CommandError(NO_SUCH_KEY);
  if (argv[1] !== argv[2]) move(execution, argv[1]!, argv[2]!, record);
  return OK;
}

function renamenx(execution: Execution, argv: readonly ByteString[]): Reply {
  const record = execution.get(argv[1]!);
  if (record === undefined) throw new CommandError(NO_SUCH_KEY);
  if (execution.get(argv[2]!) !== undefined) return 0;
  move(execution, argv[1]!, argv[2]!, record);
  return 1;
}

function parseDatabase(text: ByteString): number {
  const db = parseInteger(text);
  if (db === undefined) throw new CommandError('ERR value is not an integer or out of range');
  if (typeof db !== 'number' || db < 0 || db >= DATABASES) throw new CommandError(DB_OUT_OF_RANGE);
  return db;
}

function copy(execution: Execution, argv: readonly ByteString[]): Reply {
  const [, source, target] = argv as [ByteString, ByteString, ByteString];
  let db = execution.db;
  let replace = false;
  for (let i = 3; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    if (word === 'REPLACE') replace = true;
    else if (word === 'DB' && i + 1 < argv.length) db = parseDatabase(argv[++i]!);
    else throw new CommandError(SYNTAX_ERROR);
  }
  if (db === execution.db && source === target) {
    throw new CommandError('ERR source and destination objects are the same');
  }
  const record = execution.get(source);
  if (record === undefined) return 0;
  if (!replace && execution.reader.get(keyspaceOf(db), target) !== undefined) return 0;
  place(execution, db, target, record, duplicate(execution, record.value, db));
  execution.notify('g', 'copy_to', target);
  return 1;
}

function moveToDatabase(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[1]!;
  const db = parseDatabase(argv[2]!);
  if (db === execution.db) {
    throw new CommandError('ERR source and destination objects are the same');
  }
  const record = execution.get(key);
  if (record === undefined || execution.reader.get(keyspaceOf(db), key) !== undefined) return 0;
  place(execution, db, key, record, duplicate(execution, record.value, db));
  dropElements(writing(execution), execution.db, record.value);
  writing(execution).delete(keyspaceOf(execution.db), key);
  execution.notify('g', 'move_from', key);
  return 1;
}

function indexOf(execution: Execution): ScanIndex {
  return execution.reader.index<ScanIndex>(keyspaceOf(execution.db));
}

/** In hash order, the same on every member. */
function keys(execution: Execution, argv: readonly ByteString[]): Reply {
  const pattern = argv[1]!;
  const index = indexOf(execution);
  const found: ByteString[] = [];
  let from = 0;
  do {
    const page = index.page(from, KEYS_PAGE);
    execution.spend(page.keys.length);
    for (const key of page.keys) {
      execution.spend(globSteps(pattern, key));
      if (pattern === '*' || globMatches(pattern, key)) found.push(key);
    }
    from = page.next;
  } while (from !== 0);
  return found;
}

const SCAN_CURSOR_MAX = 2 ** 48;

function scan(execution: Execution, argv: readonly ByteString[]): Reply {
  const cursor = /^\d{1,20}$/.test(argv[1]!) ? Number(argv[1]) : undefined;
  if (cursor === undefined) throw new CommandError('ERR invalid cursor');
  let count = 10;
  let pattern = '*';
  let kind: string | undefined;
  for (let i = 2; i < argv.length; i += 2) {
    const word = argv[i]!.toUpperCase();
    const value = argv[i + 1];
    if (value === undefined) throw new CommandError(SYNTAX_ERROR);
    if (word === 'MATCH') pattern = value;
    else if (word === 'TYPE') kind = value.toLowerCase();
    else if (word === 'COUNT') {
      count = clampInteger(requireInteger(value));
      if (count < 1) throw new CommandError(SYNTAX_ERROR);
    } else throw new CommandError(SYNTAX_ERROR);
  }
  if (cursor >= SCAN_CURSOR_MAX) return ['0', []];
  const page = indexOf(execution).page(cursor, count);
  execution.spend(page.keys.length);
  const matched = page.keys.filter((key) => {
    execution.spend(globSteps(pattern, key));
    if (pattern !== '*' && !globMatches(pattern, key)) return false;
    return kind === undefined || execution.get(key)?.value.kind === kind;
  });
  return [String(page.next), matched];
}

function randomkey(execution: Execution): Reply {
  return indexOf(execution).choose(execution.seed()) ?? null;
}

function dbsize(execution: Execution): Reply {
  return execution.reader.size(keyspaceOf(execution.db));
}

function checkFlushMode(argv: readonly ByteString[]): void {
  const mode = argv[1]?.toUpperCase();
  const known = mode === undefined || mode === 'SYNC' || mode === 'ASYNC';
  if (!known || argv.length > 2) throw new CommandError(SYNTAX_ERROR);
}

function clear(execution: Execution, db: number): void {
  const tx = writing(execution);
  tx.clear(keyspaceOf(db));
  tx.clear(elementKeyspaces[db]!);
}

function flushdb(execution: Execution, argv: readonly ByteString[]): Reply {
  checkFlushMode(argv);
  clear(execution, execution.db);
  return OK;
}

function flushall(execution: Execution, argv: readonly ByteString[]): Reply {
  checkFlushMode(argv);
  redisKeyspaces.forEach((keyspace, db) => {
    if (execution.reader.size(keyspace) > 0) clear(execution, db);
  });
  return OK;
}

function encoding(execution: Execution, argv: readonly ByteString[]): Reply {
  const record = execution.get(argv[2]!);
  if (record === undefined) return null;
  if (record.value.kind === 'set') return setEncoding(execution, record.value);
  const { text } = record.value;
  if (parseInteger(text) !== undefined) return 'int';
  return text.length <= 44 ? 'embstr' : 'raw';
}

/** No eviction, so nothing counts accesses; every value has one owner. */
function objectNumber(value: number) {
  return (execution: Execution, argv: readonly ByteString[]): Reply =>
    execution.get(argv[2]!) === undefined ? null : value;
}

const ONE_KEY = [1, 1, 1] as const;
const ALL_KEYS = [1, -1, 1] as const;
const NO_KEYS = [0, 0, 0] as const;
const WRITE = ['write'] as const;
const READ = ['readonly'] as const;
const READ_FAST = ['readonly', 'fast'] as const;

function spec(
  name: string,
  arity: number,
  flags: CommandSpec['flags'],
  positions: CommandSpec['keys'],
  summary: string,
  run: NonNullable<CommandSpec['run']>,
): CommandSpec {
  return { name, arity, flags, keys: positions, summary, run };
}

const objectSubcommands = new Map<string, CommandSpec>([
  [
    'encoding',
    spec('object|encoding', 3, READ, [2, 2, 1], 'Shows how a value is stored.', encoding),
  ],
  [
    'refcount',
    spec(
      'object|refcount',
      3,
      READ,
      [2, 2, 1],
      'Always 1: values are not shared.',
      objectNumber(1),
    ),
  ],
  [
    'idletime',
    spec(
      'object|idletime',
      3,
      READ,
      [2, 2, 1],
      'Always 0: accesses are not tracked.',
      objectNumber(0),
    ),
  ],
]);

export const keyCommands: readonly CommandSpec[] = [
  spec('del', -2, WRITE, ALL_KEYS, 'Deletes keys.', countDeleted),
  spec('unlink', -2, ['write', 'fast'], ALL_KEYS, 'Deletes keys.', countDeleted),
  spec('exists', -2, READ_FAST, ALL_KEYS, 'Counts which of the keys exist.', exists),
  spec('touch', -2, READ_FAST, ALL_KEYS, 'Counts which of the keys exist.', exists),
  spec('type', 2, READ_FAST, ONE_KEY, 'Names the type of a value.', type),
  spec('rename', 3, WRITE, [1, 2, 1], 'Renames a key.', rename),
  spec('renamenx', 3, ['write', 'fast'], [1, 2, 1], 'Renames a key to a free name.', renamenx),
  spec('copy', -3, ['write', 'denyoom'], [1, 2, 1], 'Copies a value to another key.', copy),
  spec('move', 3, ['write', 'fast'], ONE_KEY, 'Moves a key to another database.', moveToDatabase),
  spec('keys', 2, READ, NO_KEYS, 'Lists the keys that match a pattern.', keys),
  spec('scan', -2, READ, NO_KEYS, 'Iterates over the keys.', scan),
  spec('randomkey', 1, READ, NO_KEYS, 'Returns some key.', randomkey),
  spec('dbsize', 1, READ_FAST, NO_KEYS, 'Counts the keys of the database.', dbsize),
  spec('flushdb', -1, WRITE, NO_KEYS, 'Deletes all keys of the database.', flushdb),
  spec('flushall', -1, WRITE, NO_KEYS, 'Deletes all keys of all databases.', flushall),
  {
    name: 'object',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    summary: 'Looks into how values are kept.',
    subcommands: objectSubcommands,
  },
];
