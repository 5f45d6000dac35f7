import { cjsonNull } from './cjson-encode.ts';
import { type CjsonSettings, cjsonSettings } from './cjson-settings.ts';
import { SLOT_BYTES, TABLE_BYTES } from './operations.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import type { ByteString, LuaValue } from './value.ts';

type TokenType =
  | 'T_OBJ_BEGIN'
  | 'T_OBJ_END'
  | 'T_ARR_BEGIN'
  | 'T_ARR_END'
  | 'T_STRING'
  | 'T_NUMBER'
  | 'T_BOOLEAN'
  | 'T_NULL'
  | 'T_COLON'
  | 'T_COMMA'
  | 'T_END'
  | 'T_ERROR';

interface Token {
  readonly type: TokenType;
  /** Offset of the token, from 0. */
  readonly at: number;
  /** The string, number or boolean; for T_ERROR what is wrong. */
  readonly value: LuaValue;
}

const PUNCTUATION: Readonly<Record<string, TokenType>> = {
  '{': 'T_OBJ_BEGIN',
  '}': 'T_OBJ_END',
  '[': 'T_ARR_BEGIN',
  ']': 'T_ARR_END',
  ',': 'T_COMMA',
  ':': 'T_COLON',
};

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
};

// Frames of the decoder on the host's stack for each level of the text.
const LEVEL_DEPTH = 2;

const STRICT_NUMBER = /-?(?:0(?![0-9xX.])|0(?=\.)|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LOOSE_NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)/iy;

/** The value of a JSON text, with lua-cjson's leniency about numbers and its error texts. */
export function decodeJson(state: LuaState, text: ByteString): LuaValue {
  if (text.length >= 2 && (text[0] === '\0' || text[1] === '\0')) {
    throw state.error('JSON parser does not support UTF-16 or UTF-32');
  }
  state.charge(text.length >> 2);
  return new Decoder(state, text).decode();
}

class Decoder {
  private at = 0;
  private readonly state: LuaState;
  private readonly text: ByteString;
  private readonly settings: CjsonSettings;

  constructor(state: LuaState, text: ByteString) {
    this.state = state;
    this.text = text;
    this.settings = cjsonSettings(state);
  }

  decode(): LuaValue {
    const value = this.value(this.next(), 0);
    const end = this.next();
    if (end.type !== 'T_END') throw this.unexpected('the end', end);
    return value;
  }

  private value(token: Token, depth: number): LuaValue {
    switch (token.type) {
      case 'T_STRING':
      case 'T_NUMBER':
      case 'T_BOOLEAN':
        return token.value;
      case 'T_NULL':
        return cjsonNull;
      case 'T_OBJ_BEGIN':
        return this.nested(depth, (level) => this.object(level));
      case 'T_ARR_BEGIN':
        return this.nested(depth, (level) => this.array(level));
      default:
        throw this.unexpected('value', token);
    }
  }

  private nested(depth: number, read: (depth: number) => LuaTable): LuaTable {
    const level = depth + 1;
    if (level > this.settings.decodeDepthMax) {
      throw this.state.error(
        `Found too many nested data structures (${level}) at character ${this.at}`,
      );
    }
    this.state.enter(LEVEL_DEPTH);
    this.state.allocate(TABLE_BYTES);
    const table = read(level);
    this.state.depth -= LEVEL_DEPTH;
    return table;
  }

  private object(depth: number): LuaTable {
    const table = new LuaTable();
    let token = this.next();
    if (token.type === 'T_OBJ_END') return table;
    for (;;) {
      if (token.type !== 'T_STRING') throw this.unexpected('object key string', token);
      const key = token.value;
      const colon = this.next();
      if (colon.type !== 'T_COLON') throw this.unexpected('colon', colon);
      const value = this.value(this.next(), depth);
      this.state.allocate(SLOT_BYTES);
      table.set(key, value);
      token = this.next();
      if (token.type === 'T_OBJ_END') return table;
      if (token.type !== 'T_COMMA') throw this.unexpected('comma or object end', token);
      token = this.next();
    }
  }

  private array(depth: number): LuaTable {
    const values: LuaValue[] = [];
    let token = this.next();
    if (token.type === 'T_ARR_END') return new LuaTable();
    for (;;) {
      values.push(this.value(token, depth));
      this.state.allocate(SLOT_BYTES);
      token = this.next();
      if (token.type === 'T_ARR_END') return LuaTable.fromArray(values);
      if (token.type !== 'T_COMMA') throw this.unexpected('comma or array end', token);
      token = this.next();
    }
  }

  private unexpected(wanted: string, token: Token): Error {
    const found = token.type === 'T_ERROR' ? (token.value as string) : token.type;
    return this.state.error(`Expected ${wanted} but found ${found} at character ${token.at + 1}`);
  }

  private next(): Token {
    const { text } = this;
    this.state.charge(2);
    for (;;) {
      const code = text.charCodeAt(this.at);
      if (code !== 32 && code !== 9 && code !== 10 && code !== 13) break;
      this.at++;
    }
    const at = this.at;
    const char = text[at];
    // The parser in C works on a C string: a NUL ends the text.
    if (char === undefined || char === '\0') return { type: 'T_END', at, value: undefined };
    const punctuation = PUNCTUATION[char];
    if (punctuation !== undefined) {
      this.at++;
      return { type: punctuation, at, value: undefined };
    }
    if (char === '"') return this.string();
    if (char === '-' || (char >= '0' && char <= '9')) return this.number();
    if (text.startsWith('true', at)) return this.word(4, 'T_BOOLEAN', true);
    if (text.startsWith('false', at)) return this.word(5, 'T_BOOLEAN', false);
    if (text.startsWith('null', at)) return this.word(4, 'T_NULL', undefined);
    if (this.settings.decodeInvalid && /[+iInN]/.test(char)) return this.number();
    return this.failure(at, 'invalid token');
  }

  private word(length: number, type: TokenType, value: LuaValue): Token {
    const at = this.at;
    this.at += length;
    return { type, at, value };
  }

  private failure(at: number, what: string): Token {
    return { type: 'T_ERROR', at, value: what };
  }

  private number(): Token {
    const at = this.at;
    const form = this.settings.decodeInvalid ? LOOSE_NUMBER : STRICT_NUMBER;
    form.lastIndex = at;
    const raw = form.exec(this.text)?.[0];
    if (raw === undefined) {
      const isNumeric = /[-+\d]/.test(this.text[at] ?? '');
      return this.failure(at, isNumeric ? 'invalid number' : 'invalid token');
    }
    this.at += raw.length;
    return { type: 'T_NUMBER', at, value: parseNumber(raw) };
  }

  private string(): Token {
    const { text } = this;
    const start = this.at;
    const pieces: string[] = [];
    let from = start + 1;
    let at = from;
    for (;;) {
      const char = text[at];
      if (char === undefined) return this.failure(at, 'unexpected end of string');
      if (char === '"') break;
      if (char !== '\\') {
        at++;
        continue;
      }
      pieces.push(text.slice(from, at));
      const letter = text[at + 1] ?? '';
      if (letter === 'u') {
        const decoded = decodeUnicode(text, at);
        if (decoded === null) return this.failure(at, 'invalid unicode escape code');
        pieces.push(decoded[0]);
        at = decoded[1];
      } else {
        const plain = ESCAPES[letter];
        if (plain === undefined) return this.failure(at, 'invalid escape code');
        pieces.push(plain);
        at += 2;
      }
      from = at;
    }
    pieces.push(text.slice(from, at));
    this.at = at + 1;
    this.state.allocate(at - start);
    return { type: 'T_STRING', at: start, value: pieces.join('') };
  }
}

function parseNumber(raw: string): number {
  const body = raw.replace(/^[+-]/, '');
  let value: number;
  if (/^inf/i.test(body)) value = Infinity;
  else if (/^nan/i.test(body)) value = Number.NaN;
  else value = Number(body);
  return raw.startsWith('-') ? -value : value;
}

/** The UTF-8 bytes of the escape at `at` and the offset after it; null when malformed. */
function decodeUnicode(text: ByteString, at: number): [bytes: string, end: number] | null {
  const first = unit(text, at);
  if (first === null) return null;
  if ((first & 0xf800) !== 0xd800) return [utf8(first), at + 6];
  if (first >= 0xdc00) return null;
  const second = unit(text, at + 6);
  if (second === null || (second & 0xfc00) !== 0xdc00) return null;
  return [utf8(0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)), at + 12];
}

function unit(text: ByteString, at: number): number | null {
  const match = /^\\u([0-9a-fA-F]{4})$/.exec(text.slice(at, at + 6));
  return match === null ? null : Number.parseInt(match[1] as string, 16);
}

function utf8(point: number): string {
  const continuation = (shift: number): number => 0x80 | ((point >> shift) & 0x3f);
  if (point < 0x80) return String.fromCharCode(point);
  if (point < 0x800) return String.fromCharCode(0xc0 | (point >> 6), continuation(0));
  if (point < 0x10000) {
    return String.fromCharCode(0xe0 | (point >> 12), continuation(6), continuation(0));
  }
  return String.fromCharCode(
    0xf0 | (point >> 18),
    continuation(12),
    continuation(6),
    continuation(0),
  );
}
