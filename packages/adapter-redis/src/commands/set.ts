import type { ByteString } from '@lockstep/model';
import { deleteKey, getText, isFree, replaceText, setExpiry, textOf, writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import { CommandError, SYNTAX_ERROR } from '../errors.ts';
import { type Expiry, type ExpiryUnit, isExpiryUnit, positiveExpiry } from '../expiry.ts';
import { admitToken, keyFence, parseToken } from '../fence.ts';
import { keyspaceOf, type RedisRecord } from '../keyspaces.ts';
import { OK, type Reply } from '../reply.ts';

type Condition =
  | { readonly kind: 'NX' | 'XX' }
  | { readonly kind: 'IFEQ' | 'IFNE'; readonly text: ByteString };

interface SetOptions {
  condition?: Condition;
  get: boolean;
  keepTtl: boolean;
  fence: boolean;
  unit?: ExpiryUnit;
  amount?: ByteString;
  token?: number;
}

/** Options in any order and case; the same unit twice takes the last, as Redis 7.0 does. */
function parseOptions(argv: readonly ByteString[]): SetOptions {
  const options: SetOptions = { get: false, keepTtl: false, fence: false };
  for (let i = 3; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    const next = argv[i + 1];
    if (word === 'GET') options.get = true;
    else if (word === 'FENCE') options.fence = true;
    else if (word === 'NX' || word === 'XX') setCondition(options, { kind: word });
    else if (word === 'KEEPTTL') {
      if (options.unit !== undefined) throw new CommandError(SYNTAX_ERROR);
      options.keepTtl = true;
    } else if (next === undefined) throw new CommandError(SYNTAX_ERROR);
    else if (word === 'IFEQ' || word === 'IFNE') setCondition(options, { kind: word, text: next });
    else if (word === 'IFTOKEN') options.token = parseToken(next);
    else if (isExpiryUnit(word)) setUnit(options, word, next);
    else throw new CommandError(SYNTAX_ERROR);
    if (takesValue(word)) i++;
  }
  if (options.get && options.fence) throw new CommandError(SYNTAX_ERROR);
  return options;
}

function takesValue(word: string): boolean {
  return word === 'IFEQ' || word === 'IFNE' || word === 'IFTOKEN' || isExpiryUnit(word);
}

function setCondition(options: SetOptions, condition: Condition): void {
  const before = options.condition?.kind;
  if (before !== undefined && before !== condition.kind) throw new CommandError(SYNTAX_ERROR);
  options.condition = condition;
}

function setUnit(options: SetOptions, unit: ExpiryUnit, amount: ByteString): void {
  const other = options.unit !== undefined && options.unit !== unit;
  if (other || options.keepTtl) throw new CommandError(SYNTAX_ERROR);
  options.unit = unit;
  options.amount = amount;
}

function holds(
  execution: Execution,
  key: ByteString,
  condition: Condition | undefined,
  record: RedisRecord | undefined,
): boolean {
  switch (condition?.kind) {
    case undefined:
      return true;
    case 'NX':
      return isFree(execution, key);
    case 'XX':
      return record !== undefined;
    case 'IFEQ':
      return record !== undefined && textOf(record) === condition.text;
    case 'IFNE':
      return record === undefined || textOf(record) !== condition.text;
  }
}

function set(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[1]!;
  const options = argv.length === 3 ? undefined : parseOptions(argv);
  if (options === undefined) {
    replaceText(execution, key, argv[2]!);
    execution.notify('$', 'set', key);
    return OK;
  }
  const { unit, amount } = options;
  const expiry =
    unit === undefined || amount === undefined
      ? undefined
      : positiveExpiry(execution, unit, amount, 'set');
  const record = execution.get(key);
  const old = options.get && record !== undefined ? textOf(record) : null;
  if (!holds(execution, key, options.condition, record)) return old;
  if (options.token !== undefined) {
    admitToken(writing(execution), keyFence(execution.db, key), key, options.token);
  }
  const token = applySet(execution, key, argv[2]!, options.keepTtl ? keptExpiry(record) : expiry);
  if (options.get) return old;
  return options.fence ? token : OK;
}

function keptExpiry(record: RedisRecord | undefined): Expiry | undefined {
  if (record === undefined || record.deadline === 0) return undefined;
  const { absolute } = record.value;
  const kept = { deadline: record.deadline, past: false };
  return absolute === undefined ? kept : { ...kept, absolute };
}

/** Null when the value was already past: the key is gone and nobody owns it. */
function applySet(
  execution: Execution,
  key: ByteString,
  text: ByteString,
  expiry: Expiry | undefined,
): number | null {
  const record = replaceText(execution, key, text, expiry?.past ? undefined : expiry);
  execution.notify('$', 'set', key);
  if (expiry === undefined) return record.token;
  execution.notify('g', 'expire', key);
  if (!expiry.past) return record.token;
  writing(execution).delete(keyspaceOf(execution.db), key);
  execution.notify('x', 'expired', key);
  return null;
}

function setnx(execution: Execution, argv: readonly ByteString[]): Reply {
  if (!isFree(execution, argv[1]!)) return 0;
  applySet(execution, argv[1]!, argv[2]!, undefined);
  return 1;
}

function setWithTtl(unit: 'EX' | 'PX', name: string) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const expiry = positiveExpiry(execution, unit, argv[2]!, name);
    applySet(execution, argv[1]!, argv[3]!, expiry);
    return OK;
  };
}

function getset(execution: Execution, argv: readonly ByteString[]): Reply {
  const old = getText(execution, argv[1]!) ?? null;
  applySet(execution, argv[1]!, argv[2]!, undefined);
  return old;
}

function getdel(execution: Execution, argv: readonly ByteString[]): Reply {
  const old = getText(execution, argv[1]!);
  if (old === undefined) return null;
  deleteKey(execution, argv[1]!);
  return old;
}

interface GetexOptions {
  persist: boolean;
  unit?: ExpiryUnit;
  amount?: ByteString;
}

/** One unit, or PERSIST; the same word twice takes the last, as Redis 7.0 does. */
function parseGetex(argv: readonly ByteString[]): GetexOptions {
  const options: GetexOptions = { persist: false };
  for (let i = 2; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    if (word === 'PERSIST' && options.unit === undefined) options.persist = true;
    else {
      const amount = argv[++i];
      const other = options.persist || (options.unit !== undefined && options.unit !== word);
      if (!isExpiryUnit(word) || amount === undefined || other) {
        throw new CommandError(SYNTAX_ERROR);
      }
      options.unit = word;
      options.amount = amount;
    }
  }
  return options;
}

function getex(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[1]!;
  const { persist, unit, amount } = parseGetex(argv);
  const record = execution.get(key);
  if (record === undefined) return null;
  const text = textOf(record);
  if (unit !== undefined && amount !== undefined) {
    const expiry = positiveExpiry(execution, unit, amount, 'getex');
    if (expiry.past) deleteKey(execution, key);
    else {
      setExpiry(execution, key, record, expiry);
      execution.notify('g', 'expire', key);
    }
  } else if (persist && record.deadline !== 0) {
    setExpiry(execution, key, record, undefined);
    execution.notify('g', 'persist', key);
  }
  return text;
}

/** DELEX key [IFEQ v | IFNE v]. Without a condition any kind of value goes. */
function delex(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length === 2) return deleteKey(execution, argv[1]!) ? 1 : 0;
  const word = argv[2]!.toUpperCase();
  if (argv.length !== 4 || (word !== 'IFEQ' && word !== 'IFNE')) {
    throw new CommandError(SYNTAX_ERROR);
  }
  const text = getText(execution, argv[1]!);
  if (text === undefined) return 0;
  if ((text === argv[3]) !== (word === 'IFEQ')) return 0;
  return deleteKey(execution, argv[1]!) ? 1 : 0;
}

function delifeq(execution: Execution, argv: readonly ByteString[]): Reply {
  if (getText(execution, argv[1]!) !== argv[2]) return 0;
  return deleteKey(execution, argv[1]!) ? 1 : 0;
}

const ONE_KEY = [1, 1, 1] as const;

export const setCommands: readonly CommandSpec[] = [
  {
    name: 'set',
    arity: -3,
    flags: ['write', 'denyoom'],
    keys: ONE_KEY,
    summary: 'Sets a string, with conditions, expiry and fencing token.',
    run: set,
  },
  {
    name: 'setnx',
    arity: 3,
    flags: ['write', 'denyoom', 'fast'],
    keys: ONE_KEY,
    summary: 'Sets a string if the key does not exist.',
    run: setnx,
  },
  {
    name: 'setex',
    arity: 4,
    flags: ['write', 'denyoom'],
    keys: ONE_KEY,
    summary: 'Sets a string and its expiry in seconds.',
    run: setWithTtl('EX', 'setex'),
  },
  {
    name: 'psetex',
    arity: 4,
    flags: ['write', 'denyoom'],
    keys: ONE_KEY,
    summary: 'Sets a string and its expiry in milliseconds.',
    run: setWithTtl('PX', 'psetex'),
  },
  {
    name: 'getset',
    arity: 3,
    flags: ['write', 'denyoom', 'fast'],
    keys: ONE_KEY,
    summary: 'Sets a string and returns the former one.',
    run: getset,
  },
  {
    name: 'getdel',
    arity: 2,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Returns a string and deletes it.',
    run: getdel,
  },
  {
    name: 'getex',
    arity: -2,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Returns a string and sets or removes its expiry.',
    run: getex,
  },
  {
    name: 'delex',
    arity: -2,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Deletes a key if its value equals, or differs from, the one given.',
    run: delex,
  },
  {
    name: 'delifeq',
    arity: 3,
    flags: ['write', 'fast'],
    keys: ONE_KEY,
    summary: 'Deletes a key if its value equals the one given.',
    run: delifeq,
  },
];
