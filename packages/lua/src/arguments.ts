import type { LuaError } from './error.ts';
import { toNumber, toText } from './operations.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import { type ByteString, LuaFunction, type LuaValue, typeName } from './value.ts';

/** Lua's "bad argument #n to 'f' (…)" for the library function now running; `n` counts from 1. */
export function argumentError(state: LuaState, n: number, detail: string): LuaError {
  const site = state.top?.closure == null ? undefined : state.top.site;
  const name = site?.name ?? '?';
  if (site?.isMethod !== true) return state.error(`bad argument #${n} to '${name}' (${detail})`);
  if (n === 1) return state.error(`calling '${name}' on bad self (${detail})`);
  return state.error(`bad argument #${n - 1} to '${name}' (${detail})`);
}

function typeMismatch(
  state: LuaState,
  args: readonly LuaValue[],
  n: number,
  wanted: string,
): LuaError {
  const got = n > args.length ? 'no value' : typeName(args[n - 1]);
  return argumentError(state, n, `${wanted} expected, got ${got}`);
}

/** Argument `n` as a number; numeric strings count. */
export function checkNumber(state: LuaState, args: readonly LuaValue[], n: number): number {
  const value = args[n - 1];
  if (typeof value === 'number') return value;
  const number = toNumber(value);
  if (number === undefined) throw typeMismatch(state, args, n, 'number');
  return number;
}

/** Argument `n` as an integer, fraction cut; NaN and what is beyond 2^53 give 0 or the limit. */
export function checkInteger(state: LuaState, args: readonly LuaValue[], n: number): number {
  const number = Math.trunc(checkNumber(state, args, n));
  if (Number.isNaN(number)) return Number.MIN_SAFE_INTEGER;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number)) + 0;
}

export function optionalInteger(
  state: LuaState,
  args: readonly LuaValue[],
  n: number,
  fallback: number,
): number {
  return args[n - 1] === undefined ? fallback : checkInteger(state, args, n);
}

/** Argument `n` as a string; numbers count. */
export function checkString(state: LuaState, args: readonly LuaValue[], n: number): ByteString {
  const value = args[n - 1];
  if (typeof value === 'string') return value;
  const text = toText(value);
  if (text === undefined) throw typeMismatch(state, args, n, 'string');
  return text;
}

export function checkTable(state: LuaState, args: readonly LuaValue[], n: number): LuaTable {
  const value = args[n - 1];
  if (value instanceof LuaTable) return value;
  throw typeMismatch(state, args, n, 'table');
}

export function checkFunction(state: LuaState, args: readonly LuaValue[], n: number): LuaFunction {
  const value = args[n - 1];
  if (value instanceof LuaFunction) return value;
  throw typeMismatch(state, args, n, 'function');
}

/** Argument `n`, which may be nil but must be there. */
export function checkAny(state: LuaState, args: readonly LuaValue[], n: number): LuaValue {
  if (args.length < n) throw argumentError(state, n, 'value expected');
  return args[n - 1];
}
