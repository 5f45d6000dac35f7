import {
  argumentError,
  checkAny,
  checkInteger,
  checkNumber,
  checkString,
  checkTable,
  optionalInteger,
} from './arguments.ts';
import { LuaError } from './error.ts';
import type { LibraryFunctions } from './library.ts';
import { stringToInteger } from './number-text.ts';
import { checkWritable, isTruthy, rawSet, toDisplay, toNumber } from './operations.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import { type LuaValue, NativeFunction, typeName } from './value.ts';

// What catching an error costs the host, in steps.
const CATCH_STEPS = 256;
// LUAI_MAXCSTACK: how many values C Lua lets a library function push.
const RESULTS_MAX = 8000;

const ipairsIterator = new NativeFunction('ipairs', (args, state) => {
  const at = checkInteger(state, args, 2) + 1;
  const value = checkTable(state, args, 1).getNumber(at);
  return value === undefined ? [undefined] : [at, value];
});

function next(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  const entry = table.next(args[1]);
  state.charge(table.skipped);
  if (entry === undefined) throw state.raise("invalid key to 'next'");
  return entry ?? [undefined];
}

const nextFunction = new NativeFunction('next', next);

/** Runs `attempt`; a Lua error is handed to `recover` with the call stack put back. */
function protectedCall(
  state: LuaState,
  attempt: () => LuaValue[],
  recover: (value: LuaValue) => LuaValue[],
): LuaValue[] {
  const { top, depth, nativeDepth } = state;
  try {
    const results = attempt();
    state.charge(results.length >> 2);
    return [true, ...results];
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    state.top = top;
    state.depth = depth;
    state.nativeDepth = nativeDepth;
    state.charge(CATCH_STEPS);
    return [false, ...recover(error.value)];
  }
}

function setMetatable(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  const metatable = args[1];
  if (args.length < 2 || (metatable !== undefined && !(metatable instanceof LuaTable))) {
    throw argumentError(state, 2, 'nil or table expected');
  }
  if (table.metatable?.getString('__metatable') !== undefined) {
    throw state.error('cannot change a protected metatable');
  }
  checkWritable(state, table);
  table.metatable = metatable ?? null;
  return [table];
}

function toNumberWithBase(args: LuaValue[], state: LuaState): LuaValue[] {
  const base = optionalInteger(state, args, 2, 10);
  if (base === 10) {
    const value = checkAny(state, args, 1);
    if (typeof value === 'string') state.charge(value.length >> 4);
    return [toNumber(value)];
  }
  const text = checkString(state, args, 1);
  if (base < 2 || base > 36) throw argumentError(state, 2, 'base out of range');
  state.charge(text.length);
  return [stringToInteger(text, base)];
}

function unpack(args: LuaValue[], state: LuaState): LuaValue[] {
  const table = checkTable(state, args, 1);
  const from = optionalInteger(state, args, 2, 1);
  const to = optionalInteger(state, args, 3, table.length());
  if (from > to) return [];
  const count = to - from + 1;
  if (count + args.length > RESULTS_MAX) throw state.error('too many results to unpack');
  state.charge(count);
  const values: LuaValue[] = [];
  for (let i = from; i <= to; i++) values.push(table.getNumber(i));
  return values;
}

function select(args: LuaValue[], state: LuaState): LuaValue[] {
  state.charge(args.length >> 2);
  if (args[0] === '#') return [args.length - 1];
  let from = checkInteger(state, args, 1);
  if (from < 0) from = args.length + from;
  else if (from > args.length) from = args.length;
  if (from < 1) throw argumentError(state, 1, 'index out of range');
  return args.slice(from);
}

/** The base library, less what compiles source or touches environments. */
export const baseFunctions: LibraryFunctions = {
  assert: (args, state) => {
    if (isTruthy(checkAny(state, args, 1))) return args;
    const message = args[1] === undefined ? 'assertion failed!' : checkString(state, args, 2);
    throw state.error(message);
  },
  collectgarbage: (args, state) => {
    const option = args[0] === undefined ? 'collect' : checkString(state, args, 1);
    if (
      !['collect', 'stop', 'restart', 'step', 'setpause', 'setstepmul', 'count'].includes(option)
    ) {
      throw argumentError(state, 1, `invalid option '${option}'`);
    }
    // Memory is the host's business; what a member has in use must not reach a script.
    return [0];
  },
  gcinfo: () => [0, 0],
  error: (args, state) => {
    const level = optionalInteger(state, args, 2, 1);
    const value = args[0];
    if (typeof value === 'string' && level > 0) throw state.raise(state.where(level) + value);
    throw state.raise(
      typeof value === 'number' && level > 0
        ? `${state.where(level)}${toDisplay(state, value)}`
        : value,
    );
  },
  getmetatable: (args, state) => {
    const metatable = state.metatableOf(checkAny(state, args, 1));
    if (metatable === null) return [undefined];
    return [metatable.getString('__metatable') ?? metatable];
  },
  ipairs: (args, state) => [ipairsIterator, checkTable(state, args, 1), 0],
  next,
  pairs: (args, state) => [nextFunction, checkTable(state, args, 1), undefined],
  pcall: (args, state) => {
    checkAny(state, args, 1);
    const [target, ...rest] = args;
    return protectedCall(
      state,
      () => state.call(target, rest),
      (value) => [value],
    );
  },
  rawequal: (args, state) => [checkAny(state, args, 1) === checkAny(state, args, 2)],
  rawget: (args, state) => {
    const table = checkTable(state, args, 1);
    return [table.get(checkAny(state, args, 2))];
  },
  rawset: (args, state) => {
    const table = checkTable(state, args, 1);
    const key = checkAny(state, args, 2);
    const value = checkAny(state, args, 3);
    state.asLibrary(() => rawSet(state, table, key, value));
    return [table];
  },
  select,
  setmetatable: setMetatable,
  tonumber: toNumberWithBase,
  tostring: (args, state) => [toDisplay(state, checkAny(state, args, 1))],
  type: (args, state) => [typeName(checkAny(state, args, 1))],
  unpack,
  xpcall: (args, state) => {
    const handler = checkAny(state, args, 2);
    const { top, depth, nativeDepth } = state;
    return protectedCall(
      state,
      () => state.call(args[0], []),
      (value) => {
        try {
          return state.call(handler, [value]).slice(0, 1);
        } catch (error) {
          if (!(error instanceof LuaError)) throw error;
          state.top = top;
          state.depth = depth;
          state.nativeDepth = nativeDepth;
          return ['error in error handling'];
        }
      },
    );
  },
};

/**
 * The pcall of Redis 7.0: an error table with a string in `err` is answered as that string, so
 * that scripts written before errors became tables go on.
 */
export function redisProtectedCall(args: LuaValue[], state: LuaState): LuaValue[] {
  checkAny(state, args, 1);
  const [target, ...rest] = args;
  return protectedCall(
    state,
    () => state.call(target, rest),
    (value) => {
      const text = value instanceof LuaTable ? value.getString('err') : undefined;
      return [typeof text === 'string' || typeof text === 'number' ? text : value];
    },
  );
}

/** A number of a Lua call level or function argument, for getfenv and setfenv. */
export function checkLevel(state: LuaState, args: LuaValue[]): number {
  const level = args[0] === undefined ? 1 : checkNumber(state, args, 1);
  if (level < 0) throw argumentError(state, 1, 'level must be non-negative');
  return Math.trunc(level);
}
