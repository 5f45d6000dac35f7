import type { ByteString } from '@lockstep/model';

/**
 * Redis' glob patterns (KEYS, SCAN MATCH, PSUBSCRIBE): `*`, `?`, `[a-c]`, `[^x]`, backslash
 * escapes. Matches bytes. Backtracks to the last star only, so time is at most the product of
 * the two lengths: patterns come from clients.
 */
export function globMatches(pattern: ByteString, text: ByteString): boolean {
  let p = 0;
  let t = 0;
  let starPattern = -1;
  let starText = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      starPattern = ++p;
      starText = t;
      continue;
    }
    const next = p < pattern.length ? matchOne(pattern, p, text.charCodeAt(t)) : -1;
    if (next >= 0) {
      p = next;
      t++;
    } else if (starPattern >= 0) {
      p = starPattern;
      t = ++starText;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p >= pattern.length;
}

/** Steps of the budget that a match may take at worst: one per sixteen characters compared. */
export function globSteps(pattern: ByteString, text: ByteString): number {
  return pattern === '*' ? 0 : Math.floor((pattern.length * text.length) / 16);
}

/** Position in the pattern after the element at `p` if that matches `char`, else −1. */
function matchOne(pattern: ByteString, p: number, char: number): number {
  switch (pattern[p]) {
    case '?':
      return p + 1;
    case '[':
      return matchClass(pattern, p + 1, char);
    case '\\': {
      const at = p + 1 < pattern.length ? p + 1 : p;
      return pattern.charCodeAt(at) === char ? at + 1 : -1;
    }
    default:
      return pattern.charCodeAt(p) === char ? p + 1 : -1;
  }
}

/** An unclosed class ends with the pattern, as in Redis. */
function matchClass(pattern: ByteString, start: number, char: number): number {
  let p = start;
  const inverted = pattern[p] === '^';
  if (inverted) p++;
  let matched = false;
  for (; p < pattern.length && pattern[p] !== ']'; p++) {
    if (pattern[p] === '\\' && p + 1 < pattern.length) {
      p++;
      if (pattern.charCodeAt(p) === char) matched = true;
    } else if (pattern[p + 1] === '-' && p + 2 < pattern.length) {
      const a = pattern.charCodeAt(p);
      const b = pattern.charCodeAt(p + 2);
      if (char >= Math.min(a, b) && char <= Math.max(a, b)) matched = true;
      p += 2;
    } else if (pattern.charCodeAt(p) === char) {
      matched = true;
    }
  }
  if (matched === inverted) return -1;
  return Math.min(p + 1, pattern.length);
}
