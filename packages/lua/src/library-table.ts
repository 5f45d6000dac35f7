import {
  checkFunction,
  checkInteger,
  checkString,
  checkTable,
  optionalInteger,
} from './arguments.ts';
import type { LibraryFunctions } from './library.ts';
import { checkWritable, rawSet, toText } from './operations.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import { sortTable } from './table-sort.ts';
import { type LuaValue, typeName } from './value.ts';

function concat(args: LuaValue[], state: LuaState): LuaValue[] {
  const separator = args[1] === undefined ? '' : checkString(state, args, 2);
  const table = checkTable(state, args, 1);
  const from = optionalInteger(state, args, 3, 1);
  const to = optionalInteger(state, args, 4, table.length());
  const pieces: string[] = [];
  for (let i = from; i <= to; i++) {
    const value = table.getNumber(i);
    const text = toText(value);
    if (text === undefined) {
      throw state.error(`invalid value (${typeName(value)}) at index ${i} in table for 'concat'`);
    }
    state.charge(1);
    state.allocate(text.length + separator.length);
    pieces.push(text);
  }
  return [pieces.join(separator)];
}

function insert(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  checkWritable(state, table);
  const end = table.length() + 1;
  if (args.length === 2) {
    rawSet(state, table, end, args[1]);
    return [];
  }
  if (args.length !== 3) throw state.error("wrong number of arguments to 'insert'");
  const at = checkInteger(state, args, 2);
  const last = Math.max(end, at);
  for (let i = last; i > at; i--) {
    state.charge(1);
    rawSet(state, table, i, table.getNumber(i - 1));
  }
  rawSet(state, table, at, args[2]);
  return [];
}

function remove(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  checkWritable(state, table);
  const end = table.length();
  const at = optionalInteger(state, args, 2, end);
  if (at < 1 || at > end) return [];
  const removed = table.getNumber(at);
  for (let i = at; i < end; i++) {
    state.charge(1);
    rawSet(state, table, i, table.getNumber(i + 1));
  }
  rawSet(state, table, end, undefined);
  return [removed];
}

function maxn(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  let max = 0;
  state.charge(table.slotCount);
  for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
    const key = entry[0];
    if (typeof key === 'number' && key > max) max = key;
  }
  return [max];
}

function foreach(args: LuaValue[], state: LuaState): LuaValue[] {
  const table: LuaTable = checkTable(state, args, 1);
  const visit = checkFunction(state, args, 2);
  for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
    state.charge(1 + table.skipped);
    const [stop] = state.call(visit, [...entry]);
    if (stop !== undefined) return [stop];
  }
  return [];
}

function foreachi(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  const visit = checkFunction(state, args, 2);
  const end = table.length();
  for (let i = 1; i <= end; i++) {
    state.charge(1);
    const [stop] = state.call(visit, [i, table.getNumber(i)]);
    if (stop !== undefined) return [stop];
  }
  return [];
}

/** The table library; every access is raw, as in 5.1. */
export const tableFunctions: LibraryFunctions = {
  concat,
  foreach,
  foreachi,
  getn: (args, state) => [checkTable(state, args, 1).length()],
  insert,
  maxn,
  remove,
  setn: (args, state) => {
    checkTable(state, args, 1);
    throw state.error("'setn' is obsolete");
  },
  sort: (args, state) => {
    const table = checkTable(state, args, 1);
    checkWritable(state, table);
    const order = args[1] === undefined ? null : checkFunction(state, args, 2);
    state.asLibrary(() => sortTable(state, table, order));
    return [];
  },
};
