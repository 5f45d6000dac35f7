import { isInClass } from './pattern-class.ts';
import type { LuaState } from './state.ts';
import type { ByteString, LuaValue } from './value.ts';

// LUA_MAXCAPTURES.
const CAPTURES_MAX = 32;
// Nesting of the matcher on the host's stack; patterns with more parts are not met in scripts.
const MATCH_DEPTH_MAX = 200;
const MATCH_DEPTH_UNITS = 2;

const UNCLOSED = -1;
const POSITION = -2;

const PERCENT = 37;
const OPEN = 40;
const CLOSE = 41;
const STAR = 42;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const QUESTION = 63;
const BRACKET = 91;
const END_BRACKET = 93;
const CARET = 94;
const DOLLAR = 36;
const LETTER_B = 98;
const LETTER_F = 102;

/** One matching of a Lua pattern against a subject; each step is charged to the budget. */
export class PatternMatcher {
  /** Number of captures of the last match. */
  captureCount = 0;
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];
  private readonly state: LuaState;
  private readonly subject: ByteString;
  private readonly pattern: ByteString;
  private depth = 0;

  constructor(state: LuaState, subject: ByteString, pattern: ByteString) {
    this.state = state;
    this.subject = subject;
    this.pattern = pattern;
  }

  /** Matches at `start` the pattern from `from`; returns the end of the match or -1. */
  matchAt(start: number, from: number): number {
    this.captureCount = 0;
    this.depth = 0;
    return this.match(start, from);
  }

  /** A piece of the subject. */
  text(start: number, end: number): ByteString {
    return this.subject.slice(start, end);
  }

  /** Capture `i` (from 0) of a match; without captures, capture 0 is the whole match. */
  capture(i: number, start: number, end: number): LuaValue {
    if (i >= this.captureCount) {
      if (i !== 0) throw this.state.error('invalid capture index');
      this.state.allocate(end - start);
      return this.subject.slice(start, end);
    }
    const length = this.lengths[i] as number;
    const at = this.starts[i] as number;
    if (length === UNCLOSED) throw this.state.error('unfinished capture');
    if (length === POSITION) return at + 1;
    this.state.allocate(length);
    return this.subject.slice(at, at + length);
  }

  /** All captures, or the whole match when there are none (and `wholeIfNone`). */
  captures(start: number, end: number, wholeIfNone: boolean): LuaValue[] {
    const count = this.captureCount === 0 && wholeIfNone ? 1 : this.captureCount;
    const values: LuaValue[] = [];
    for (let i = 0; i < count; i++) values.push(this.capture(i, start, end));
    return values;
  }

  private match(start: number, from: number): number {
    const state = this.state;
    if (++this.depth > MATCH_DEPTH_MAX) throw state.error('pattern too complex');
    state.enter(MATCH_DEPTH_UNITS);
    const end = this.matchHere(start, from);
    state.depth -= MATCH_DEPTH_UNITS;
    this.depth--;
    return end;
  }

  private matchHere(start: number, from: number): number {
    const pattern = this.pattern;
    let s = start;
    let p = from;
    for (;;) {
      this.state.charge(1);
      if (p >= pattern.length) return s;
      const code = pattern.charCodeAt(p);
      if (code === OPEN) return this.openCapture(s, p);
      if (code === CLOSE) return this.closeCapture(s, p);
      if (code === DOLLAR && p + 1 === pattern.length) return s === this.subject.length ? s : -1;
      if (code === PERCENT) {
        const kind = pattern.charCodeAt(p + 1);
        if (kind === LETTER_B || kind === LETTER_F) {
          s = kind === LETTER_B ? this.matchBalance(s, p + 2) : this.matchFrontier(s, p + 2);
          if (s < 0) return -1;
          p = kind === LETTER_B ? p + 4 : this.classEnd(p + 2);
          continue;
        }
        if (kind >= 48 && kind <= 57) {
          s = this.matchBackReference(s, kind);
          if (s < 0) return -1;
          p += 2;
          continue;
        }
      }
      const itemEnd = this.classEnd(p);
      const suffix = pattern.charCodeAt(itemEnd);
      if (suffix === QUESTION) {
        if (this.matchesOne(s, p, itemEnd)) {
          const end = this.match(s + 1, itemEnd + 1);
          if (end >= 0) return end;
        }
        p = itemEnd + 1;
      } else if (suffix === STAR) return this.expandMost(s, p, itemEnd, 0);
      else if (suffix === PLUS) return this.expandMost(s, p, itemEnd, 1);
      else if (suffix === MINUS) return this.expandLeast(s, p, itemEnd);
      else if (!this.matchesOne(s, p, itemEnd)) return -1;
      else {
        s++;
        p = itemEnd;
      }
    }
  }

  private openCapture(s: number, p: number): number {
    const isPosition = this.pattern.charCodeAt(p + 1) === CLOSE;
    const i = this.captureCount;
    if (i >= CAPTURES_MAX) throw this.state.error('too many captures');
    this.starts[i] = s;
    this.lengths[i] = isPosition ? POSITION : UNCLOSED;
    this.captureCount = i + 1;
    const end = this.match(s, p + (isPosition ? 2 : 1));
    if (end < 0) this.captureCount--;
    return end;
  }

  private closeCapture(s: number, p: number): number {
    let i = this.captureCount - 1;
    while (i >= 0 && this.lengths[i] !== UNCLOSED) i--;
    if (i < 0) throw this.state.error('invalid pattern capture');
    this.lengths[i] = s - (this.starts[i] as number);
    const end = this.match(s, p + 1);
    if (end < 0) this.lengths[i] = UNCLOSED;
    return end;
  }

  private expandMost(s: number, p: number, itemEnd: number, least: number): number {
    let count = 0;
    while (this.matchesOne(s + count, p, itemEnd)) count++;
    this.state.charge(count >> 1);
    for (; count >= least; count--) {
      const end = this.match(s + count, itemEnd + 1);
      if (end >= 0) return end;
    }
    return -1;
  }

  private expandLeast(start: number, p: number, itemEnd: number): number {
    for (let s = start; ; s++) {
      const end = this.match(s, itemEnd + 1);
      if (end >= 0) return end;
      if (!this.matchesOne(s, p, itemEnd)) return -1;
    }
  }

  private matchBalance(s: number, p: number): number {
    if (p + 1 >= this.pattern.length) throw this.state.error('unbalanced pattern');
    const open = this.pattern.charCodeAt(p);
    const close = this.pattern.charCodeAt(p + 1);
    const subject = this.subject;
    if (s >= subject.length || subject.charCodeAt(s) !== open) return -1;
    let nesting = 1;
    for (let at = s + 1; at < subject.length; at++) {
      this.state.charge(1);
      const code = subject.charCodeAt(at);
      if (code === close) {
        if (--nesting === 0) return at + 1;
      } else if (code === open) nesting++;
    }
    return -1;
  }

  private matchFrontier(s: number, p: number): number {
    if (this.pattern.charCodeAt(p) !== BRACKET) {
      throw this.state.error("missing '[' after '%f' in pattern");
    }
    const end = this.classEnd(p);
    const before = s === 0 ? 0 : this.subject.charCodeAt(s - 1);
    const here = s < this.subject.length ? this.subject.charCodeAt(s) : 0;
    return !this.isInSet(before, p, end - 1) && this.isInSet(here, p, end - 1) ? s : -1;
  }

  private matchBackReference(s: number, digit: number): number {
    const i = digit - 49;
    if (i < 0 || i >= this.captureCount || this.lengths[i] === UNCLOSED) {
      throw this.state.error('invalid capture index');
    }
    const at = this.starts[i] as number;
    // A position capture has no text; C Lua compares with a huge length and fails.
    const length = this.lengths[i] as number;
    if (length < 0 || this.subject.length - s < length) return -1;
    this.state.charge(length >> 4);
    return this.subject.startsWith(this.subject.slice(at, at + length), s) ? s + length : -1;
  }

  /** Where the single-character item at `p` ends. */
  private classEnd(p: number): number {
    const pattern = this.pattern;
    let at = p + 1;
    const code = pattern.charCodeAt(p);
    if (code === PERCENT) {
      if (at >= pattern.length) throw this.state.error("malformed pattern (ends with '%')");
      return at + 1;
    }
    if (code !== BRACKET) return at;
    if (pattern.charCodeAt(at) === CARET) at++;
    do {
      if (at >= pattern.length) throw this.state.error("malformed pattern (missing ']')");
      const inner = pattern.charCodeAt(at++);
      if (inner === PERCENT && at < pattern.length) at++;
    } while (pattern.charCodeAt(at) !== END_BRACKET);
    this.state.charge((at - p) >> 2);
    return at + 1;
  }

  private matchesOne(s: number, p: number, itemEnd: number): boolean {
    if (s >= this.subject.length) return false;
    const c = this.subject.charCodeAt(s);
    const code = this.pattern.charCodeAt(p);
    switch (code) {
      case DOT:
        return true;
      case PERCENT:
        return isInClass(c, this.pattern.charCodeAt(p + 1));
      case BRACKET:
        return this.isInSet(c, p, itemEnd - 1);
      default:
        return code === c;
    }
  }

  /** Whether `c` is in the set that starts at `p` with `[` and has its `]` at `end`. */
  private isInSet(c: number, p: number, end: number): boolean {
    const pattern = this.pattern;
    let at = p + 1;
    let wanted = true;
    if (pattern.charCodeAt(at) === CARET) {
      wanted = false;
      at++;
    }
    this.state.charge((end - at) >> 3);
    while (at < end) {
      const code = pattern.charCodeAt(at);
      if (code === PERCENT) {
        if (isInClass(c, pattern.charCodeAt(at + 1))) return wanted;
        at += 2;
      } else if (pattern.charCodeAt(at + 1) === MINUS && at + 2 < end) {
        if (code <= c && c <= pattern.charCodeAt(at + 2)) return wanted;
        at += 3;
      } else {
        if (code === c) return wanted;
        at++;
      }
    }
    return !wanted;
  }
}
