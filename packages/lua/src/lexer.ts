import { LuaSyntaxError } from './error.ts';
import { stringToNumber } from './number-text.ts';
import type { ByteString } from './value.ts';

/**
 * A token: for keywords and operators `type` is the text itself, else one of `<name>`,
 * `<string>`, `<number>`, `<eof>`. `raw` is what error messages show after "near".
 */
export interface Token {
  readonly type: string;
  readonly raw: ByteString;
  /** The contents of a string or the name. */
  readonly text: ByteString;
  readonly number: number;
  readonly line: number;
}

const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return ' +
    'then true until while'
  ).split(' '),
);

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isNameStart(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
}

/** Splits 5.1 source into tokens, one at a time. */
export class Lexer {
  /** The line being read; the parser reports some errors here, as C Lua does. */
  line = 1;
  private at = 0;
  private readonly source: ByteString;
  private readonly name: ByteString;

  /** `name` is the chunk as messages show it. */
  constructor(source: ByteString, name: ByteString) {
    this.source = source;
    this.name = name;
    // A first line that starts with # is skipped by luaL_loadfile only, so not here.
  }

  /** An error at the current line; `near` is the offending token, absent for limits. */
  error(message: string, near?: ByteString): LuaSyntaxError {
    const suffix = near === undefined ? '' : ` near '${near}'`;
    return new LuaSyntaxError(`${this.name}:${this.line}: ${message}${suffix}`);
  }

  next(): Token {
    this.skipBlank();
    const source = this.source;
    const start = this.at;
    if (start >= source.length) return this.token('<eof>', '<eof>');
    const code = source.charCodeAt(start);
    if (isNameStart(code)) return this.readName();
    if (isDigit(code)) return this.readNumber();
    const char = source[start] as string;
    switch (char) {
      case '"':
      case "'":
        return this.readString(char);
      case '[': {
        const level = this.longBracketLevel();
        if (level >= 0) return this.readLongString(level);
        if (level === -1) return this.operator('[');
        throw this.error('invalid long string delimiter', source.slice(start, this.at));
      }
      case '.':
        if (isDigit(source.charCodeAt(start + 1))) return this.readNumber();
        if (source.startsWith('...', start)) return this.operator('...');
        return this.operator(source[start + 1] === '.' ? '..' : '.');
      case '=':
      case '<':
      case '>':
      case '~':
        return this.operator(source[start + 1] === '=' ? `${char}=` : char);
      default:
        return this.operator(char);
    }
  }

  private operator(text: string): Token {
    this.at += text.length;
    const code = text.charCodeAt(0);
    const isControl = code < 32 || code === 127;
    return this.token(text, isControl ? `char(${code})` : text);
  }

  private token(type: string, raw: ByteString, text = '', number = 0): Token {
    return { type, raw, text, number, line: this.line };
  }

  private skipBlank(): void {
    const source = this.source;
    for (;;) {
      const code = source.charCodeAt(this.at);
      if (code === 10 || code === 13) this.skipNewline();
      else if (code === 32 || code === 9 || code === 11 || code === 12) this.at++;
      else if (code === 45 && source.charCodeAt(this.at + 1) === 45) this.skipComment();
      else return;
    }
  }

  // Any of \n, \r, \r\n, \n\r is one line end.
  private skipNewline(): void {
    const code = this.source.charCodeAt(this.at++);
    const following = this.source.charCodeAt(this.at);
    if ((following === 10 || following === 13) && following !== code) this.at++;
    this.line++;
  }

  private skipComment(): void {
    this.at += 2;
    const source = this.source;
    if (source[this.at] === '[') {
      const start = this.at;
      const level = this.longBracketLevel();
      if (level >= 0) {
        this.readLongBody(level, 'unfinished long comment');
        return;
      }
      this.at = start;
    }
    while (this.at < source.length) {
      const code = source.charCodeAt(this.at);
      if (code === 10 || code === 13) return;
      this.at++;
    }
  }

  /** Level of the long bracket here (0 for `[[`), -1 for a plain `[`, -2 for `[=` without. */
  private longBracketLevel(): number {
    const start = this.at;
    let at = start + 1;
    while (this.source[at] === '=') at++;
    const level = at - start - 1;
    if (this.source[at] === '[') return level;
    if (level === 0) return -1;
    this.at = at;
    return -2;
  }

  private readLongString(level: number): Token {
    const start = this.at;
    const text = this.readLongBody(level, 'unfinished long string');
    return this.token('<string>', this.source.slice(start, this.at), text);
  }

  private readLongBody(level: number, unfinished: string): ByteString {
    const source = this.source;
    const close = `]${'='.repeat(level)}]`;
    this.at += level + 2;
    const end = source.indexOf(close, this.at);
    const code = source.charCodeAt(this.at);
    if (code === 10 || code === 13) this.skipNewline();
    const pieces: string[] = [];
    const stop = end < 0 ? source.length : end;
    let from = this.at;
    while (this.at < stop) {
      const here = source.charCodeAt(this.at);
      if (here === 10 || here === 13) {
        pieces.push(source.slice(from, this.at), '\n');
        this.skipNewline();
        from = this.at;
      } else this.at++;
    }
    if (end < 0) throw this.error(unfinished, '<eof>');
    pieces.push(source.slice(from, stop));
    this.at = stop + close.length;
    return pieces.join('');
  }

  private readName(): Token {
    const source = this.source;
    const start = this.at;
    let at = start + 1;
    for (;;) {
      const code = source.charCodeAt(at);
      if (!isNameStart(code) && !isDigit(code)) break;
      at++;
    }
    this.at = at;
    const text = source.slice(start, at);
    return this.token(KEYWORDS.has(text) ? text : '<name>', text, text);
  }

  // C Lua takes every character that could belong to a number and then asks strtod.
  private readNumber(): Token {
    const source = this.source;
    const start = this.at;
    let at = start;
    while (isDigit(source.charCodeAt(at)) || source[at] === '.') at++;
    if (source[at] === 'e' || source[at] === 'E') {
      at++;
      if (source[at] === '+' || source[at] === '-') at++;
    }
    while (isDigit(source.charCodeAt(at)) || isNameStart(source.charCodeAt(at))) at++;
    this.at = at;
    const raw = source.slice(start, at);
    const number = stringToNumber(raw);
    if (number === undefined) throw this.error('malformed number', raw);
    return this.token('<number>', raw, '', number);
  }

  private readString(quote: string): Token {
    const source = this.source;
    const pieces: string[] = [];
    this.at++;
    let from = this.at;
    for (;;) {
      const char = source[this.at];
      if (char === quote) break;
      if (char === undefined) throw this.error('unfinished string', '<eof>');
      if (char === '\n' || char === '\r') {
        const seen = pieces.join('') + source.slice(from, this.at);
        throw this.error('unfinished string', quote + seen);
      }
      if (char === '\\') {
        pieces.push(source.slice(from, this.at));
        this.at++;
        pieces.push(this.readEscape(quote, pieces));
        from = this.at;
      } else this.at++;
    }
    pieces.push(source.slice(from, this.at));
    this.at++;
    const text = pieces.join('');
    return this.token('<string>', quote + text + quote, text);
  }

  private readEscape(quote: string, seen: readonly string[]): string {
    const char = this.source[this.at];
    if (char === undefined) throw this.error('unfinished string', '<eof>');
    if (char === '\n' || char === '\r') {
      this.skipNewline();
      return '\n';
    }
    if (!isDigit(char.charCodeAt(0))) {
      this.at++;
      return ESCAPES[char] ?? char;
    }
    const digits = /^\d{1,3}/.exec(this.source.slice(this.at, this.at + 3))?.[0] ?? '';
    this.at += digits.length;
    if (Number(digits) > 255) {
      throw this.error('escape sequence too large', quote + seen.join(''));
    }
    return String.fromCharCode(Number(digits));
  }
}
