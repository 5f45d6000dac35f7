import { type ByteString, LIMITS } from '@lockstep/model';
import { getText, isFree, replaceText, updateText } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import { CommandError, NOT_AN_INTEGER, OVERFLOW, wrongArity } from '../errors.ts';
import { formatFloat, parseFloatStrict } from '../float.ts';
import {
  addIntegers,
  clampInteger,
  type Integer,
  parseInteger,
  requireInteger,
} from '../integer.ts';
import { OK, type Reply } from '../reply.ts';

const TOO_LONG = 'ERR string exceeds maximum allowed size (proto-max-bulk-len)';

function get(execution: Execution, argv: readonly ByteString[]): Reply {
  return getText(execution, argv[1]!) ?? null;
}

function mget(execution: Execution, argv: readonly ByteString[]): Reply {
  return argv.slice(1).map((key) => {
    const value = execution.get(key)?.value;
    return value?.kind === 'string' ? value.text : null;
  });
}

function setPairs(execution: Execution, argv: readonly ByteString[]): void {
  for (let i = 1; i < argv.length; i += 2) {
    replaceText(execution, argv[i]!, argv[i + 1]!);
    execution.notify('$', 'set', argv[i]!);
  }
}

function mset(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length % 2 === 0) return wrongArity('mset');
  setPairs(execution, argv);
  return OK;
}

function msetnx(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length % 2 === 0) return wrongArity('msetnx');
  for (let i = 1; i < argv.length; i += 2) {
    if (!isFree(execution, argv[i]!)) return 0;
  }
  setPairs(execution, argv);
  return 1;
}

function append(execution: Execution, argv: readonly ByteString[]): Reply {
  const text = (getText(execution, argv[1]!) ?? '') + argv[2]!;
  if (text.length > LIMITS.commandBytesMaxRedis) throw new CommandError(TOO_LONG);
  updateText(execution, argv[1]!, text);
  execution.notify('$', 'append', argv[1]!);
  return text.length;
}

function strlen(execution: Execution, argv: readonly ByteString[]): Reply {
  return getText(execution, argv[1]!)?.length ?? 0;
}

function getrange(execution: Execution, argv: readonly ByteString[]): Reply {
  const start = clampInteger(requireInteger(argv[2]!));
  const end = clampInteger(requireInteger(argv[3]!));
  const text = getText(execution, argv[1]!) ?? '';
  if (start < 0 && end < 0 && start > end) return '';
  const from = Math.max(0, start < 0 ? text.length + start : start);
  const to = Math.max(0, end < 0 ? text.length + end : end);
  return from > to ? '' : text.slice(from, to + 1);
}

function setrange(execution: Execution, argv: readonly ByteString[]): Reply {
  const offset = clampInteger(requireInteger(argv[2]!));
  if (offset < 0) throw new CommandError('ERR offset is out of range');
  const piece = argv[3]!;
  const text = getText(execution, argv[1]!) ?? '';
  if (piece.length === 0) return text.length;
  if (offset + piece.length > LIMITS.commandBytesMaxRedis) throw new CommandError(TOO_LONG);
  const head = text.slice(0, offset).padEnd(offset, '\0');
  const next = head + piece + text.slice(offset + piece.length);
  updateText(execution, argv[1]!, next);
  execution.notify('$', 'setrange', argv[1]!);
  return next.length;
}

function increment(execution: Execution, key: ByteString, by: Integer, event: string): Reply {
  const text = getText(execution, key);
  const present = text === undefined ? 0 : parseInteger(text);
  if (present === undefined) throw new CommandError(NOT_AN_INTEGER);
  const sum = addIntegers(present, by);
  if (sum === undefined) throw new CommandError(OVERFLOW);
  updateText(execution, key, String(sum));
  execution.notify('$', event, key);
  return sum;
}

function decrby(execution: Execution, argv: readonly ByteString[]): Reply {
  const by = requireInteger(argv[2]!);
  const negated = addIntegers(0, typeof by === 'number' ? -by : -by);
  if (negated === undefined) throw new CommandError('ERR decrement would overflow');
  return increment(execution, argv[1]!, negated, 'decrby');
}

function incrbyfloat(execution: Execution, argv: readonly ByteString[]): Reply {
  const text = getText(execution, argv[1]!);
  const present = text === undefined ? 0 : parseFloatStrict(text);
  const by = parseFloatStrict(argv[2]!);
  if (present === undefined || by === undefined) {
    throw new CommandError('ERR value is not a valid float');
  }
  const sum = present + by;
  if (!Number.isFinite(sum)) throw new CommandError('ERR increment would produce NaN or Infinity');
  const shown = formatFloat(sum);
  updateText(execution, argv[1]!, shown);
  execution.notify('$', 'incrbyfloat', argv[1]!);
  return shown;
}

const ONE_KEY = [1, 1, 1] as const;
const WRITE = ['write', 'denyoom'] as const;
const WRITE_FAST = ['write', 'denyoom', 'fast'] as const;
const READ = ['readonly'] as const;
const READ_FAST = ['readonly', 'fast'] as const;

type Row = readonly [
  name: string,
  arity: number,
  flags: CommandSpec['flags'],
  keys: CommandSpec['keys'],
  summary: string,
  run: NonNullable<CommandSpec['run']>,
];

const rows: readonly Row[] = [
  ['get', 2, READ_FAST, ONE_KEY, 'Returns a string.', get],
  ['mget', -2, READ_FAST, [1, -1, 1], 'Returns several strings.', mget],
  ['mset', -3, WRITE, [1, -1, 2], 'Sets several strings.', mset],
  ['msetnx', -3, WRITE, [1, -1, 2], 'Sets several strings if none of the keys exists.', msetnx],
  ['append', 3, WRITE_FAST, ONE_KEY, 'Appends to a string.', append],
  ['strlen', 2, READ_FAST, ONE_KEY, 'Returns the length of a string.', strlen],
  ['getrange', 4, READ, ONE_KEY, 'Returns a part of a string.', getrange],
  ['substr', 4, READ, ONE_KEY, 'Returns a part of a string; use GETRANGE.', getrange],
  ['setrange', 4, WRITE, ONE_KEY, 'Overwrites a part of a string.', setrange],
  [
    'incr',
    2,
    WRITE_FAST,
    ONE_KEY,
    'Adds one to an integer.',
    (execution, argv) => increment(execution, argv[1]!, 1, 'incrby'),
  ],
  [
    'decr',
    2,
    WRITE_FAST,
    ONE_KEY,
    'Subtracts one from an integer.',
    (execution, argv) => increment(execution, argv[1]!, -1, 'decrby'),
  ],
  [
    'incrby',
    3,
    WRITE_FAST,
    ONE_KEY,
    'Adds to an integer.',
    (execution, argv) => increment(execution, argv[1]!, requireInteger(argv[2]!), 'incrby'),
  ],
  ['decrby', 3, WRITE_FAST, ONE_KEY, 'Subtracts from an integer.', decrby],
  ['incrbyfloat', 3, WRITE_FAST, ONE_KEY, 'Adds to a floating-point number.', incrbyfloat],
];

export const stringCommands: readonly CommandSpec[] = rows.map(
  ([name, arity, flags, keys, summary, run]) => ({ name, arity, flags, keys, summary, run }),
);
