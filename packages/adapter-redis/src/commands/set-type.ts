import type { ByteString } from '@lockstep/model';
import { dropFormer, getSet, writing } from '../access.ts';
import {
  addElement,
  elementsOf,
  hasElement,
  newCollection,
  removeElement,
} from '../collections.ts';
import type { CommandFlag, CommandSpec, Execution } from '../command.ts';
import { CommandError, NOT_AN_INTEGER, SYNTAX_ERROR } from '../errors.ts';
import { globMatches, globSteps } from '../glob.ts';
import { clampInteger, parseInteger, requireInteger } from '../integer.ts';
import { keyspaceOf } from '../keyspaces.ts';
import type { Reply } from '../reply.ts';
import { everyKey } from '../scan.ts';
import type { SetValue } from '../value.ts';

/** Sets came with this feature level (design §2). */
const LEVEL = 2;
const SCAN_CURSOR_MAX = 2 ** 48;
const NOT_POSITIVE = 'ERR value is out of range, must be positive';

/** Members in hash order: the same on every member, whatever the set went through. */
function* members(execution: Execution, set: SetValue | undefined): Generator<ByteString> {
  if (set === undefined) return;
  for (const member of everyKey(elementsOf(execution.reader, execution.db, set.collection))) {
    execution.spend(1);
    execution.spendBytes(member.length);
    yield member;
  }
}

function has(execution: Execution, set: SetValue | undefined, member: ByteString): boolean {
  execution.spend(1);
  return set !== undefined && hasElement(execution.reader, execution.db, set.collection, member);
}

const asSet = (items: readonly Reply[]): Reply => ({ kind: 'set', items });

/** Writes the members, none of them in the set, and the set's own record. */
function insert(
  execution: Execution,
  key: ByteString,
  set: SetValue | undefined,
  added: readonly ByteString[],
): void {
  const tx = writing(execution);
  const collection = set?.collection ?? newCollection(tx);
  for (const member of added) addElement(tx, execution.db, collection, member);
  const size = (set?.size ?? 0) + added.length;
  const value: SetValue = set === undefined ? { kind: 'set', collection, size } : { ...set, size };
  tx.put(keyspaceOf(execution.db), key, value);
}

/** Takes members out that are in the set; an empty set does not stay. */
function takeOut(
  execution: Execution,
  key: ByteString,
  set: SetValue,
  removed: readonly ByteString[],
  event: ByteString,
): void {
  const tx = writing(execution);
  for (const member of removed) removeElement(tx, execution.db, set.collection, member);
  const size = set.size - removed.length;
  if (size > 0) tx.put(keyspaceOf(execution.db), key, { ...set, size });
  else tx.delete(keyspaceOf(execution.db), key);
  execution.notify('s', event, key);
  if (size === 0) execution.notify('g', 'del', key);
}

function sadd(execution: Execution, argv: readonly ByteString[]): Reply {
  const key = argv[1]!;
  const set = getSet(execution, key);
  const added = [...new Set(argv.slice(2))].filter((member) => !has(execution, set, member));
  if (added.length === 0) return 0;
  insert(execution, key, set, added);
  execution.notify('s', 'sadd', key);
  return added.length;
}

function srem(execution: Execution, argv: readonly ByteString[]): Reply {
  const set = getSet(execution, argv[1]!);
  if (set === undefined) return 0;
  const gone = [...new Set(argv.slice(2))].filter((member) => has(execution, set, member));
  if (gone.length > 0) takeOut(execution, argv[1]!, set, gone, 'srem');
  return gone.length;
}

function smove(execution: Execution, argv: readonly ByteString[]): Reply {
  const [, from, to, member] = argv as [ByteString, ByteString, ByteString, ByteString];
  const source = getSet(execution, from);
  if (source === undefined) return 0;
  const target = getSet(execution, to);
  if (!has(execution, source, member)) return 0;
  if (from === to) return 1;
  const present = has(execution, target, member);
  takeOut(execution, from, source, [member], 'srem');
  if (!present) insert(execution, to, target, [member]);
  execution.notify('s', 'sadd', to);
  return 1;
}

function sismember(execution: Execution, argv: readonly ByteString[]): Reply {
  return has(execution, getSet(execution, argv[1]!), argv[2]!) ? 1 : 0;
}

function smismember(execution: Execution, argv: readonly ByteString[]): Reply {
  const set = getSet(execution, argv[1]!);
  return argv.slice(2).map((member) => (has(execution, set, member) ? 1 : 0));
}

function scard(execution: Execution, argv: readonly ByteString[]): Reply {
  return getSet(execution, argv[1]!)?.size ?? 0;
}

function smembers(execution: Execution, argv: readonly ByteString[]): Reply {
  return asSet([...members(execution, getSet(execution, argv[1]!))]);
}

/** Up to `count` different members, from a place in hash order that the seed decides. */
function choose(execution: Execution, set: SetValue, count: number): ByteString[] {
  if (count >= set.size) return [...members(execution, set)];
  const elements = elementsOf(execution.reader, execution.db, set.collection)!;
  execution.spend(count);
  return elements.round(execution.seed(), count);
}

function spop(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length > 3) throw new CommandError(SYNTAX_ERROR);
  const count = argv[2] === undefined ? undefined : countOf(argv[2], NOT_POSITIVE);
  if (count !== undefined && count < 0) throw new CommandError(NOT_POSITIVE);
  const key = argv[1]!;
  const set = getSet(execution, key);
  if (set === undefined || count === 0) return count === undefined ? null : asSet([]);
  const chosen = choose(execution, set, count ?? 1);
  takeOut(execution, key, set, chosen, 'spop');
  return count === undefined ? chosen[0]! : asSet(chosen);
}

function countOf(text: ByteString, otherwise: ByteString): number {
  const count = parseInteger(text);
  if (count === undefined) throw new CommandError(otherwise);
  return clampInteger(count);
}

function srandmember(execution: Execution, argv: readonly ByteString[]): Reply {
  if (argv.length > 3) throw new CommandError(SYNTAX_ERROR);
  const count = argv[2] === undefined ? undefined : countOf(argv[2], NOT_AN_INTEGER);
  const set = getSet(execution, argv[1]!);
  if (set === undefined) return count === undefined ? null : [];
  if (count === undefined) return choose(execution, set, 1)[0]!;
  if (count >= 0) return choose(execution, set, count);
  // A negative count may give a member more than once.
  execution.spend(-count);
  const elements = elementsOf(execution.reader, execution.db, set.collection)!;
  return Array.from({ length: -count }, () => {
    const member = elements.choose(execution.seed())!;
    execution.spendBytes(member.length);
    return member;
  });
}

function sscan(execution: Execution, argv: readonly ByteString[]): Reply {
  const cursor = /^\d{1,20}$/.test(argv[2]!) ? Number(argv[2]) : undefined;
  if (cursor === undefined) throw new CommandError('ERR invalid cursor');
  const set = getSet(execution, argv[1]!);
  if (set === undefined) return ['0', []];
  let count = 10;
  let pattern = '*';
  for (let i = 3; i < argv.length; i += 2) {
    const word = argv[i]!.toUpperCase();
    const value = argv[i + 1];
    if (value === undefined) throw new CommandError(SYNTAX_ERROR);
    if (word === 'MATCH') pattern = value;
    else if (word === 'COUNT') {
      count = clampInteger(requireInteger(value));
      if (count < 1) throw new CommandError(SYNTAX_ERROR);
    } else throw new CommandError(SYNTAX_ERROR);
  }
  if (cursor >= SCAN_CURSOR_MAX) return ['0', []];
  const elements = elementsOf(execution.reader, execution.db, set.collection)!;
  const page = elements.page(cursor, count);
  execution.spend(page.keys.length);
  const matched = page.keys.filter((member) => {
    execution.spend(globSteps(pattern, member));
    return pattern === '*' || globMatches(pattern, member);
  });
  return [String(page.next), matched];
}

// ---- several sets -------------------------------------------------------------------------

type Combination = (
  execution: Execution,
  sets: readonly (SetValue | undefined)[],
) => Iterable<ByteString>;

function* intersection(
  execution: Execution,
  sets: readonly (SetValue | undefined)[],
): Generator<ByteString> {
  // The smallest leads; one that is not there ends it at once.
  const bySize = [...sets].sort((a, b) => (a?.size ?? 0) - (b?.size ?? 0));
  const [smallest, ...others] = bySize;
  for (const member of members(execution, smallest)) {
    if (others.every((other) => has(execution, other, member))) yield member;
  }
}

function* union(
  execution: Execution,
  sets: readonly (SetValue | undefined)[],
): Generator<ByteString> {
  for (const [i, set] of sets.entries()) {
    for (const member of members(execution, set)) {
      // Looked for in the sets before its own; a copy of them would be work that nothing counts.
      if (sets.findIndex((each, j) => j === i || has(execution, each, member)) === i) yield member;
    }
  }
}

function* difference(
  execution: Execution,
  [first, ...others]: readonly (SetValue | undefined)[],
): Generator<ByteString> {
  for (const member of members(execution, first)) {
    if (!others.some((other) => has(execution, other, member))) yield member;
  }
}

function combined(combination: Combination) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const sets = argv.slice(1).map((key) => getSet(execution, key));
    return asSet([...combination(execution, sets)]);
  };
}

function stored(combination: Combination, event: ByteString) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const target = argv[1]!;
    const sets = argv.slice(2).map((key) => getSet(execution, key));
    const found = [...combination(execution, sets)];
    const replaces = execution.get(target) !== undefined;
    dropFormer(execution, target);
    if (replaces) writing(execution).delete(keyspaceOf(execution.db), target);
    if (found.length > 0) {
      insert(execution, target, undefined, found);
      execution.notify('s', event, target);
    } else if (replaces) execution.notify('g', 'del', target);
    return found.length;
  };
}

function sintercard(execution: Execution, argv: readonly ByteString[]): Reply {
  const keys = sintercardKeys(argv);
  if (keys === undefined) {
    const count = parseInteger(argv[1]!);
    const isCount = count !== undefined && count > 0;
    throw new CommandError(
      isCount
        ? "ERR Number of keys can't be greater than number of args"
        : 'ERR numkeys should be greater than 0',
    );
  }
  const rest = argv.slice(2 + keys.length);
  let limit = 0;
  if (rest.length > 0) {
    if (rest.length !== 2 || rest[0]!.toUpperCase() !== 'LIMIT') {
      throw new CommandError(SYNTAX_ERROR);
    }
    limit = countOf(rest[1]!, "ERR LIMIT can't be negative");
    if (limit < 0) throw new CommandError("ERR LIMIT can't be negative");
  }
  let count = 0;
  for (const _ of intersection(
    execution,
    keys.map((key) => getSet(execution, key)),
  )) {
    count++;
    if (count === limit) break;
  }
  return count;
}

function sintercardKeys(argv: readonly ByteString[]): readonly ByteString[] | undefined {
  const count = parseInteger(argv[1]!);
  if (typeof count !== 'number' || count < 1 || argv.length < 2 + count) return undefined;
  return argv.slice(2, 2 + count);
}

/** OBJECT ENCODING: what Redis would keep it as. */
export function setEncoding(execution: Execution, set: SetValue): Reply {
  if (set.size > 512) return 'hashtable';
  for (const member of members(execution, set)) {
    if (parseInteger(member) === undefined) return 'hashtable';
  }
  return 'intset';
}

function spec(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  keys: CommandSpec['keys'],
  summary: string,
  run: NonNullable<CommandSpec['run']>,
): CommandSpec {
  return { name, arity, flags, keys, summary, run, level: LEVEL };
}

const ONE = [1, 1, 1] as const;
const ALL = [1, -1, 1] as const;
const READ = ['readonly'] as const;
const READ_FAST = ['readonly', 'fast'] as const;
const WRITE_FAST = ['write', 'fast'] as const;
const GROW = ['write', 'denyoom'] as const;

export const setTypeCommands: readonly CommandSpec[] = [
  spec('sadd', -3, ['write', 'denyoom', 'fast'], ONE, 'Adds members to a set.', sadd),
  spec('srem', -3, WRITE_FAST, ONE, 'Removes members of a set.', srem),
  spec('smove', 4, WRITE_FAST, [1, 2, 1], 'Moves a member to another set.', smove),
  spec('sismember', 3, READ_FAST, ONE, 'Whether a set has a member.', sismember),
  spec('smismember', -3, READ_FAST, ONE, 'Which members a set has.', smismember),
  spec('scard', 2, READ_FAST, ONE, 'Counts the members of a set.', scard),
  spec('smembers', 2, READ, ONE, 'Lists the members of a set.', smembers),
  spec('spop', -2, WRITE_FAST, ONE, 'Removes and returns some members.', spop),
  spec('srandmember', -2, READ, ONE, 'Returns some members.', srandmember),
  spec('sscan', -3, READ, ONE, 'Iterates over the members of a set.', sscan),
  spec('sinter', -2, READ, ALL, 'Members that all sets have.', combined(intersection)),
  spec('sunion', -2, READ, ALL, 'Members that any set has.', combined(union)),
  spec('sdiff', -2, READ, ALL, 'Members that only the first has.', combined(difference)),
  spec('sinterstore', -3, GROW, ALL, 'SINTER, kept.', stored(intersection, 'sinterstore')),
  spec('sunionstore', -3, GROW, ALL, 'SUNION, kept.', stored(union, 'sunionstore')),
  spec('sdiffstore', -3, GROW, ALL, 'SDIFF, kept.', stored(difference, 'sdiffstore')),
  {
    ...spec('sintercard', -3, READ, [0, 0, 0], 'Counts what all sets have.', sintercard),
    keysOf: sintercardKeys,
  },
];
