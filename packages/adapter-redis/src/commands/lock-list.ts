import { type ByteString, fromByteString, utf8Text } from '@lockstep/model';
import type { LockRow, StateReader } from '@lockstep/state-machine';
import type { Execution } from '../command.ts';
import { CommandError, SYNTAX_ERROR } from '../errors.ts';
import { globMatches, globSteps } from '../glob.ts';
import { clampInteger, requireInteger } from '../integer.ts';
import { keyspaceOf, type RedisRecord, redisKeyspaces } from '../keyspaces.ts';
import type { Reply } from '../reply.ts';
import type { ScanIndex } from '../scan.ts';

const CURSOR_MAX = 2 ** 48;
const COUNT_DEFAULT = 10;

/** A string that ends by itself, or that LOCK took: anything else is data. */
/** Owner of a lock; undefined: not one. */
function lockOwner(
  reader: StateReader,
  db: number,
  key: ByteString,
  { value, deadline, lease }: RedisRecord,
): ByteString | undefined {
  if (value.kind !== 'string') return undefined;
  if (deadline !== 0 || lease !== 0) return value.text;
  return reader.lockNote(keyspaceOf(db), key) === undefined ? undefined : value.text;
}

/** LOCK LIST cursor [MATCH p] [OWNER o] [COUNT n]; pages like SCAN. */
export function listLocks(execution: Execution, argv: readonly ByteString[]): Reply {
  if (!/^\d{1,20}$/.test(argv[2]!)) throw new CommandError('ERR invalid cursor');
  let count = COUNT_DEFAULT;
  let pattern = '*';
  let owner: ByteString | undefined;
  for (let i = 3; i < argv.length; i += 2) {
    const word = argv[i]!.toUpperCase();
    const value = argv[i + 1];
    if (value === undefined) throw new CommandError(SYNTAX_ERROR);
    if (word === 'MATCH') pattern = value;
    else if (word === 'OWNER') owner = value;
    else if (word === 'COUNT') {
      count = clampInteger(requireInteger(value));
      if (count < 1) throw new CommandError(SYNTAX_ERROR);
    } else throw new CommandError(SYNTAX_ERROR);
  }
  const cursor = Number(argv[2]);
  if (cursor >= CURSOR_MAX) return ['0', []];
  const { reader, db } = execution;
  const page = reader.index<ScanIndex>(keyspaceOf(db)).page(cursor, count);
  execution.spend(page.keys.length);
  const found = page.keys.filter((key) => {
    const record = execution.get(key);
    const holder = record && lockOwner(reader, db, key, record);
    if (holder === undefined || (owner !== undefined && holder !== owner)) return false;
    execution.spend(globSteps(pattern, key));
    return globMatches(pattern, key);
  });
  return [String(page.next), found];
}

/** Rows of `lockstep locks`, by database and name. `times` come with a barrier. */
export function listRedisLocks(
  state: StateReader,
  times: { readonly clusterMs: number },
): LockRow[] {
  const rows: LockRow[] = [];
  redisKeyspaces.forEach((keyspace, db) => {
    state.scan(keyspace, (key, record) => {
      const holder = lockOwner(state, db, key, record);
      if (holder === undefined) return true;
      rows.push({
        door: 'redis',
        name: db === 0 ? shown(key) : `${db}:${shown(key)}`,
        holder: shown(holder),
        token: record.token,
        leaseMsLeft: millisecondsLeft(state, record, times.clusterMs),
        waiters: state.waiters(keyspace, key).length,
      });
      return true;
    });
  });
  return rows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function millisecondsLeft(
  state: StateReader,
  record: RedisRecord,
  clusterMs: number,
): number | undefined {
  const lease = record.lease === 0 ? undefined : state.lease(record.lease);
  const deadlines = [record.deadline, lease?.deadline ?? 0].filter((deadline) => deadline !== 0);
  if (deadlines.length === 0) return undefined;
  return Math.max(0, Math.min(...deadlines) - clusterMs);
}

/** Keys are bytes, people read UTF-8. */
function shown(text: ByteString): string {
  return utf8Text(fromByteString(text));
}
