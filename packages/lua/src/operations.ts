import { numberToString, stringToNumber } from './number-text.ts';
import { power } from './power.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import {
  type ByteString,
  LuaFunction,
  LuaThread,
  LuaUserdata,
  type LuaValue,
  typeName,
} from './value.ts';

// Lua's MAXTAGLOOP: how far a chain of __index or __newindex tables is followed.
const META_CHAIN_MAX = 100;
// Fourteen digits of a fraction, in steps.
const NUMBER_TEXT_STEPS = 24;
// Strings up to here compare and hash in the time of a step.
const CHEAP_STRING = 256;
/** Approximate cost of a table slot and of an empty table, for the byte budget. */
export const SLOT_BYTES = 32;
export const TABLE_BYTES = 64;

export type ArithmeticEvent = '__add' | '__sub' | '__mul' | '__div' | '__mod' | '__pow';

/** The number a value stands for in arithmetic: numbers and numeric strings. */
export function toNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? stringToNumber(value) : undefined;
}

/** The string a value stands for in concatenation: strings and numbers. */
export function toText(value: LuaValue): ByteString | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? numberToString(value) : undefined;
}

/** `tostring(value)`, honouring __tostring. Addresses are small numbers in order of asking. */
export function toDisplay(state: LuaState, value: LuaValue): LuaValue {
  const handler = state.metamethod(value, '__tostring');
  if (handler !== undefined) return state.call(handler, [value])[0];
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'number':
      state.charge(NUMBER_TEXT_STEPS);
      return numberToString(value);
    case 'string':
      return value;
    default:
      if (value instanceof LuaUserdata) return value.text;
      return `${typeName(value)}: 0x${state.identity(value).toString(16).padStart(8, '0')}`;
  }
}

function chargeKey(state: LuaState, key: LuaValue): void {
  if (typeof key === 'string' && key.length > CHEAP_STRING) state.charge(key.length >> 4);
}

/** `object[key]` with metamethods. The running frame's site must be set. */
export function index(
  state: LuaState,
  object: LuaValue,
  key: LuaValue,
  description: string,
): LuaValue {
  chargeKey(state, key);
  let current = object;
  for (let i = 0; i < META_CHAIN_MAX; i++) {
    let handler: LuaValue;
    if (current instanceof LuaTable) {
      const value = current.get(key);
      if (value !== undefined || current.metatable === null) return value;
      handler = current.metatable.getString('__index');
      if (handler === undefined) return undefined;
    } else {
      handler = state.metamethod(current, '__index');
      if (handler === undefined)
        throw state.typeError('index', current, i === 0 ? description : '');
    }
    state.charge(1);
    if (handler instanceof LuaFunction) return state.callMeta(handler, [current, key])[0];
    current = handler;
  }
  throw state.error('loop in gettable');
}

/** `object[key] = value` with metamethods. The running frame's site must be set. */
export function setIndex(
  state: LuaState,
  object: LuaValue,
  key: LuaValue,
  value: LuaValue,
  description: string,
): void {
  chargeKey(state, key);
  let current = object;
  for (let i = 0; i < META_CHAIN_MAX; i++) {
    let handler: LuaValue;
    if (current instanceof LuaTable) {
      const metatable = current.metatable;
      handler = metatable === null ? undefined : metatable.getString('__newindex');
      if (handler === undefined || current.get(key) !== undefined) {
        rawSet(state, current, key, value);
        return;
      }
    } else {
      handler = state.metamethod(current, '__newindex');
      if (handler === undefined)
        throw state.typeError('index', current, i === 0 ? description : '');
    }
    state.charge(1);
    if (handler instanceof LuaFunction) {
      state.callMeta(handler, [current, key, value]);
      return;
    }
    current = handler;
  }
  throw state.error('loop in settable');
}

/** Stores without metamethods, with the checks every script-made store needs. */
export function rawSet(state: LuaState, table: LuaTable, key: LuaValue, value: LuaValue): void {
  checkWritable(state, table);
  if (key === undefined) throw state.error('table index is nil');
  if (typeof key === 'number' && Number.isNaN(key)) throw state.error('table index is NaN');
  if (table.set(key, value)) state.allocate(SLOT_BYTES);
}

/** Redis marks shared tables readonly; the text is the one its users know. */
export function checkWritable(state: LuaState, table: LuaTable): void {
  if (table.readonly) throw state.error('Attempt to modify a readonly table');
}

/** The part of arithmetic that is not number with number: numeric strings, metamethods. */
export function arithmetic(
  state: LuaState,
  event: ArithmeticEvent,
  left: LuaValue,
  right: LuaValue,
  leftName: string,
  rightName: string,
): LuaValue {
  if (typeof left === 'string') state.charge(left.length >> 4);
  if (typeof right === 'string') state.charge(right.length >> 4);
  const a = toNumber(left);
  const b = toNumber(right);
  if (a !== undefined && b !== undefined) return calculate(event, a, b);
  const handler = state.metamethod(left, event) ?? state.metamethod(right, event);
  if (handler !== undefined) return state.callMeta(handler, [left, right])[0];
  if (a === undefined) throw state.typeError('perform arithmetic on', left, leftName);
  throw state.typeError('perform arithmetic on', right, rightName);
}

export function modulo(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

function calculate(event: ArithmeticEvent, a: number, b: number): number {
  switch (event) {
    case '__add':
      return a + b;
    case '__sub':
      return a - b;
    case '__mul':
      return a * b;
    case '__div':
      return a / b;
    case '__mod':
      return modulo(a, b);
    case '__pow':
      return power(a, b);
  }
}

export function negate(state: LuaState, value: LuaValue, name: string): LuaValue {
  const number = toNumber(value);
  if (number !== undefined) return -number;
  const handler = state.metamethod(value, '__unm');
  if (handler !== undefined) return state.callMeta(handler, [value, value])[0];
  throw state.typeError('perform arithmetic on', value, name);
}

/** `#value`: 5.1 honours __len for userdata only, never for tables. */
export function lengthOf(state: LuaState, value: LuaValue, name: string): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof LuaTable) {
    state.charge(1);
    return value.length();
  }
  throw state.typeError('get length of', value, name);
}

export function concatenate(
  state: LuaState,
  left: LuaValue,
  right: LuaValue,
  leftName: string,
  rightName: string,
): LuaValue {
  const a = toText(left);
  const b = toText(right);
  if (a !== undefined && b !== undefined) {
    if (typeof left === 'number' || typeof right === 'number') state.charge(NUMBER_TEXT_STEPS);
    state.allocate(a.length + b.length);
    return a + b;
  }
  const handler = state.metamethod(left, '__concat') ?? state.metamethod(right, '__concat');
  if (handler !== undefined) return state.callMeta(handler, [left, right])[0];
  if (a === undefined) throw state.typeError('concatenate', left, leftName);
  throw state.typeError('concatenate', right, rightName);
}

export function isEqual(state: LuaState, a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'string') {
    if (typeof b === 'string' && a.length === b.length && a.length > CHEAP_STRING) {
      state.charge(a.length >> 4);
    }
    return a === b;
  }
  if (a === b) return true;
  if (!(a instanceof LuaTable) || !(b instanceof LuaTable)) return false;
  const handler = sharedHandler(a, b, '__eq');
  return handler !== undefined && isTruthy(state.callMeta(handler, [a, b])[0]);
}

// Comparison metamethods count only when both operands bring the same one.
function sharedHandler(a: LuaTable, b: LuaTable, event: string): LuaValue {
  const handler = a.metatable?.getString(event);
  return handler !== undefined && handler === b.metatable?.getString(event) ? handler : undefined;
}

export function isTruthy(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

export function isLess(state: LuaState, a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  if (typeof a === 'string' && typeof b === 'string') {
    state.charge(Math.min(a.length, b.length) >> 4);
    return a < b;
  }
  if (a instanceof LuaTable && b instanceof LuaTable) {
    const handler = sharedHandler(a, b, '__lt');
    if (handler !== undefined) return isTruthy(state.callMeta(handler, [a, b])[0]);
  }
  throw compareError(state, a, b);
}

export function isLessOrEqual(state: LuaState, a: LuaValue, b: LuaValue): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b;
  if (typeof a === 'string' && typeof b === 'string') {
    state.charge(Math.min(a.length, b.length) >> 4);
    return a <= b;
  }
  if (a instanceof LuaTable && b instanceof LuaTable) {
    const handler = sharedHandler(a, b, '__le');
    if (handler !== undefined) return isTruthy(state.callMeta(handler, [a, b])[0]);
    const reverse = sharedHandler(b, a, '__lt');
    if (reverse !== undefined) return !isTruthy(state.callMeta(reverse, [b, a])[0]);
  }
  throw compareError(state, a, b);
}

function compareError(state: LuaState, a: LuaValue, b: LuaValue): Error {
  const left = typeName(a);
  const right = typeName(b);
  return left === right
    ? state.error(`attempt to compare two ${left} values`)
    : state.error(`attempt to compare ${left} with ${right}`);
}

/** True for the values that have an identity instead of contents. */
export function isReference(value: LuaValue): value is LuaTable | LuaFunction | LuaThread {
  return value instanceof LuaTable || value instanceof LuaFunction || value instanceof LuaThread;
}
