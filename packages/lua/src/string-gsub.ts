import { argumentError, checkString, optionalInteger } from './arguments.ts';
import { index, isTruthy } from './operations.ts';
import { PatternMatcher } from './pattern.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import { LuaFunction, type LuaValue, typeName } from './value.ts';

type Replacement = (matcher: PatternMatcher, start: number, end: number) => LuaValue;

/** `string.gsub`: the new string and the number of matches. */
export function substitute(state: LuaState, args: readonly LuaValue[]): LuaValue[] {
  const text = checkString(state, args, 1);
  const pattern = checkString(state, args, 2);
  const replace = replacement(state, args);
  const max = optionalInteger(state, args, 4, text.length + 1);
  const anchored = pattern.startsWith('^');
  const matcher = new PatternMatcher(state, text, pattern);
  const pieces: string[] = [];
  let kept = 0;
  let at = 0;
  let count = 0;
  while (count < max) {
    const end = matcher.matchAt(at, anchored ? 1 : 0);
    if (end >= 0) {
      count++;
      const value = replace(matcher, at, end);
      if (isTruthy(value)) {
        const piece = typeof value === 'string' ? value : checkReplacement(state, value);
        state.allocate(piece.length);
        pieces.push(text.slice(kept, at), piece);
        kept = end;
      }
    }
    if (end > at) at = end;
    else if (at < text.length) at++;
    else break;
    if (anchored) break;
  }
  state.allocate(text.length - kept);
  pieces.push(text.slice(kept));
  return [pieces.join(''), count];
}

function checkReplacement(state: LuaState, value: LuaValue): string {
  if (typeof value === 'number') return checkString(state, [value], 1);
  throw state.error(`invalid replacement value (a ${typeName(value)})`);
}

function replacement(state: LuaState, args: readonly LuaValue[]): Replacement {
  const value = args[2];
  if (value instanceof LuaFunction) {
    return (matcher, start, end) => state.call(value, matcher.captures(start, end, true))[0];
  }
  if (value instanceof LuaTable) {
    return (matcher, start, end) => index(state, value, matcher.capture(0, start, end), '');
  }
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw argumentError(state, 3, 'string/function/table expected');
  }
  const template = checkString(state, args, 3);
  if (!template.includes('%')) return () => template;
  return (matcher, start, end) => expand(state, template, matcher, start, end);
}

// %0 is the whole match, %1–%9 captures, % before anything else that thing.
function expand(
  state: LuaState,
  template: string,
  matcher: PatternMatcher,
  start: number,
  end: number,
): string {
  state.charge(template.length >> 2);
  let result = '';
  for (let i = 0; i < template.length; i++) {
    const char = template[i] as string;
    if (char !== '%') {
      result += char;
      continue;
    }
    i++;
    const code = template.charCodeAt(i);
    if (code === 48) {
      state.allocate(end - start);
      result += matcher.text(start, end);
    } else if (code >= 49 && code <= 57) {
      result += checkString(state, [matcher.capture(code - 49, start, end)], 1);
    } else if (i < template.length) result += template[i];
    else result += '\0';
  }
  return result;
}
