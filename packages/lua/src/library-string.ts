import { argumentError, checkInteger, checkString, optionalInteger } from './arguments.ts';
import type { LibraryFunctions } from './library.ts';
import { isTruthy } from './operations.ts';
import { PatternMatcher } from './pattern.ts';
import { findPlain } from './plain-search.ts';
import type { LuaState } from './state.ts';
import { formatString } from './string-format.ts';
import { substitute } from './string-gsub.ts';
import { type ByteString, type LuaValue, NativeFunction } from './value.ts';

const RESULTS_MAX = 8000;
const SPECIAL = /[\^$*+?.([%-]/;

/** Lua's reading of a position: negative counts from the end. */
function position(at: number, length: number): number {
  return at >= 0 ? at : Math.max(0, length + at + 1);
}

function byte(args: LuaValue[], state: LuaState): LuaValue[] {
  const text = checkString(state, args, 1);
  const from = position(optionalInteger(state, args, 2, 1), text.length);
  const to = Math.min(position(optionalInteger(state, args, 3, from), text.length), text.length);
  const first = Math.max(1, from);
  if (first > to) return [];
  if (to - first + 1 + args.length > RESULTS_MAX) throw state.error('string slice too long');
  state.charge(to - first);
  const codes: LuaValue[] = [];
  for (let i = first - 1; i < to; i++) codes.push(text.charCodeAt(i));
  return codes;
}

function char(args: LuaValue[], state: LuaState): LuaValue[] {
  state.allocate(args.length);
  state.charge(args.length);
  let text = '';
  for (let i = 1; i <= args.length; i++) {
    const code = checkInteger(state, args, i);
    if (code < 0 || code > 255) throw argumentError(state, i, 'invalid value');
    text += String.fromCharCode(code);
  }
  return [text];
}

/** `find` and `match` share everything but what they return. */
function search(args: LuaValue[], state: LuaState, isFind: boolean): LuaValue[] {
  const text = checkString(state, args, 1);
  const pattern = checkString(state, args, 2);
  let from = position(optionalInteger(state, args, 3, 1), text.length) - 1;
  if (from < 0) from = 0;
  else if (from > text.length) from = text.length;
  if (isFind && (isTruthy(args[3]) || !SPECIAL.test(pattern))) {
    const at = findPlain(state, text, pattern, from);
    return at < 0 ? [undefined] : [at + 1, at + pattern.length];
  }
  const anchored = pattern.startsWith('^');
  const matcher = new PatternMatcher(state, text, pattern);
  for (let at = from; at <= text.length; at++) {
    const end = matcher.matchAt(at, anchored ? 1 : 0);
    if (end >= 0) {
      return isFind
        ? [at + 1, end, ...matcher.captures(at, end, false)]
        : matcher.captures(at, end, true);
    }
    if (anchored) break;
  }
  return [undefined];
}

/** The iterator keeps its place in the closure: it belongs to one run and dies with it. */
function gmatch(args: LuaValue[], state: LuaState): LuaValue[] {
  const text = checkString(state, args, 1);
  const pattern = checkString(state, args, 2);
  let from = 0;
  return [
    new NativeFunction('gmatch', (_args, run) => {
      const matcher = new PatternMatcher(run, text, pattern);
      for (let at = from; at <= text.length; at++) {
        const end = matcher.matchAt(at, 0);
        if (end < 0) continue;
        from = end === at ? end + 1 : end;
        return matcher.captures(at, end, true);
      }
      return [undefined];
    }),
  ];
}

function changeCase(text: ByteString, first: number, last: number, shift: number): ByteString {
  let result = '';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < first || code > last) continue;
    result += text.slice(from, i) + String.fromCharCode(code + shift);
    from = i + 1;
  }
  return from === 0 ? text : result + text.slice(from);
}

function repeat(args: LuaValue[], state: LuaState): LuaValue[] {
  const text = checkString(state, args, 1);
  const count = checkInteger(state, args, 2);
  if (count <= 0 || text === '') return [''];
  state.allocate(text.length * count);
  return [text.repeat(count)];
}

function sub(args: LuaValue[], state: LuaState): LuaValue[] {
  const text = checkString(state, args, 1);
  const from = Math.max(1, position(checkInteger(state, args, 2), text.length));
  const to = position(optionalInteger(state, args, 3, -1), text.length);
  const result = text.slice(from - 1, Math.max(0, to));
  state.allocate(result.length);
  return [from > to ? '' : result];
}

/** The string library. Case and classes are ASCII, as in the C locale Redis runs in. */
export const stringFunctions: LibraryFunctions = {
  byte,
  char,
  dump: (_args, state) => {
    throw state.error('unable to dump given function');
  },
  find: (args, state) => search(args, state, true),
  format: (args, state) => [formatString(state, args)],
  gfind: gmatch,
  gmatch,
  gsub: (args, state) => substitute(state, args),
  len: (args, state) => [checkString(state, args, 1).length],
  lower: (args, state) => {
    const text = checkString(state, args, 1);
    state.allocate(text.length);
    state.charge(text.length >> 1);
    return [changeCase(text, 65, 90, 32)];
  },
  match: (args, state) => search(args, state, false),
  rep: repeat,
  reverse: (args, state) => {
    const text = checkString(state, args, 1);
    state.allocate(text.length);
    state.charge(text.length >> 1);
    return [Array.from(text).reverse().join('')];
  },
  sub,
  upper: (args, state) => {
    const text = checkString(state, args, 1);
    state.allocate(text.length);
    state.charge(text.length >> 1);
    return [changeCase(text, 97, 122, -32)];
  },
};
