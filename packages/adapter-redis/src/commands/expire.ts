import type { ByteString } from '@lockstep/model';
import { deleteKey, setExpiry } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import { CommandError } from '../errors.ts';
import {
  absoluteExpiryMs,
  anyExpiry,
  type Expiry,
  type ExpiryUnit,
  millisecondsLeft,
} from '../expiry.ts';
import type { RedisRecord } from '../keyspaces.ts';
import type { Reply } from '../reply.ts';

interface Conditions {
  nx: boolean;
  xx: boolean;
  gt: boolean;
  lt: boolean;
}

function parseConditions(argv: readonly ByteString[]): Conditions {
  const found = { nx: false, xx: false, gt: false, lt: false };
  for (let i = 3; i < argv.length; i++) {
    const word = argv[i]!.toLowerCase();
    if (word === 'nx' || word === 'xx' || word === 'gt' || word === 'lt') found[word] = true;
    else throw new CommandError(`ERR Unsupported option ${argv[i]!}`);
  }
  if (found.nx && (found.xx || found.gt || found.lt)) {
    throw new CommandError('ERR NX and XX, GT or LT options at the same time are not compatible');
  }
  if (found.gt && found.lt) {
    throw new CommandError('ERR GT and LT options at the same time are not compatible');
  }
  return found;
}

/** No deadline counts as infinitely late. */
function admits(conditions: Conditions, record: RedisRecord, expiry: Expiry): boolean {
  const { deadline } = record;
  if (conditions.nx && deadline !== 0) return false;
  if (conditions.xx && deadline === 0) return false;
  if (conditions.gt && (deadline === 0 || laterBy(expiry, record) <= 0)) return false;
  if (conditions.lt && deadline !== 0 && laterBy(expiry, record) >= 0) return false;
  return true;
}

/** Two absolute times compare as such: their deadlines hang on the clocks of their entries. */
function laterBy(expiry: Expiry, record: RedisRecord): number {
  const before = record.value.absolute;
  if (expiry.absolute !== undefined && before?.deadline === record.deadline) {
    return expiry.absolute.wallMs - before.wallMs;
  }
  return expiry.deadline - record.deadline;
}

function expire(unit: ExpiryUnit, name: string) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const conditions = parseConditions(argv);
    const expiry = anyExpiry(execution, unit, argv[2]!, name);
    const record = execution.get(argv[1]!);
    if (record === undefined || !admits(conditions, record, expiry)) return 0;
    if (expiry.past) {
      deleteKey(execution, argv[1]!);
      return 1;
    }
    setExpiry(execution, argv[1]!, record, expiry);
    execution.notify('g', 'expire', argv[1]!);
    return 1;
  };
}

function remaining(show: (execution: Execution, record: RedisRecord) => number) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const record = execution.get(argv[1]!);
    return record === undefined ? -2 : show(execution, record);
  };
}

function toSeconds(ms: number): number {
  return ms < 0 ? ms : Math.floor((ms + 500) / 1000);
}

function persist(execution: Execution, argv: readonly ByteString[]): Reply {
  const record = execution.get(argv[1]!);
  if (record === undefined || record.deadline === 0) return 0;
  setExpiry(execution, argv[1]!, record, undefined);
  execution.notify('g', 'persist', argv[1]!);
  return 1;
}

const ONE_KEY = [1, 1, 1] as const;

function expireSpec(name: string, unit: ExpiryUnit, summary: string): CommandSpec {
  const flags = ['write', 'fast'] as const;
  return { name, arity: -3, flags, keys: ONE_KEY, summary, run: expire(unit, name) };
}

function remainingSpec(
  name: string,
  summary: string,
  show: (execution: Execution, record: RedisRecord) => number,
): CommandSpec {
  const flags = ['readonly', 'fast'] as const;
  return { name, arity: 2, flags, keys: ONE_KEY, summary, run: remaining(show) };
}

export const expireCommands: readonly CommandSpec[] = [
  expireSpec('expire', 'EX', 'Sets the expiry in seconds from now.'),
  expireSpec('pexpire', 'PX', 'Sets the expiry in milliseconds from now.'),
  expireSpec('expireat', 'EXAT', 'Sets the expiry as a Unix time in seconds.'),
  expireSpec('pexpireat', 'PXAT', 'Sets the expiry as a Unix time in milliseconds.'),
  remainingSpec('ttl', 'Seconds until the key expires.', (execution, record) =>
    toSeconds(millisecondsLeft(execution, record)),
  ),
  remainingSpec('pttl', 'Milliseconds until the key expires.', millisecondsLeft),
  remainingSpec('expiretime', 'Unix time in seconds at which the key expires.', (ex, record) =>
    toSeconds(absoluteExpiryMs(ex, record)),
  ),
  remainingSpec(
    'pexpiretime',
    'Unix time in milliseconds at which the key expires.',
    absoluteExpiryMs,
  ),
  {
    name: 'persist',
    arity: 2,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Removes the expiry of a key.',
    run: persist,
  },
];
