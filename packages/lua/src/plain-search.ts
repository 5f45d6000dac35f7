import type { LuaState } from './state.ts';
import type { ByteString } from './value.ts';

// Up to here the worst case of the engine's own search stays near its normal case.
const SHORT_NEEDLE = 16;

/** Position of `needle` in `text` from `from`, or -1; in linear time whatever the bytes. */
export function findPlain(
  state: LuaState,
  text: ByteString,
  needle: ByteString,
  from: number,
): number {
  state.charge((text.length - from + needle.length) >> 3);
  if (needle.length <= SHORT_NEEDLE) return text.indexOf(needle, from);
  if (text.length - from < needle.length) return -1;
  state.charge((text.length - from + needle.length) >> 1);
  return searchByPrefixTable(text, needle, from);
}

// Knuth, Morris and Pratt 1977: the engine's search is quadratic on periodic bytes.
function searchByPrefixTable(text: ByteString, needle: ByteString, from: number): number {
  const border = new Int32Array(needle.length);
  for (let i = 1, length = 0; i < needle.length; i++) {
    const code = needle.charCodeAt(i);
    while (length > 0 && needle.charCodeAt(length) !== code) length = border[length - 1] as number;
    if (needle.charCodeAt(length) === code) length++;
    border[i] = length;
  }
  for (let at = from, matched = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && needle.charCodeAt(matched) !== code) {
      matched = border[matched - 1] as number;
    }
    if (needle.charCodeAt(matched) === code) matched++;
    if (matched === needle.length) return at - matched + 1;
  }
  return -1;
}
