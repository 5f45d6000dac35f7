import { type CjsonSettings, cjsonSettings } from './cjson-settings.ts';
import { formatGeneral, numberToString } from './number-text.ts';
import type { LuaState } from './state.ts';
import { LuaTable } from './table.ts';
import { type ByteString, LuaUserdata, type LuaValue, typeName } from './value.ts';

/** `cjson.null`: stands for JSON's null in tables, where nil would be a hole. */
export const cjsonNull = new LuaUserdata('userdata: (nil)');

// Frames of the encoder on the host's stack for each level of the value.
const LEVEL_DEPTH = 2;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters
const NEEDS_ESCAPE = /["\\/\x00-\x1f\x7f]/g;

/** JSON text of a value as lua-cjson 2.1 writes it. Bytes above 127 pass through. */
export function encodeJson(state: LuaState, value: LuaValue): ByteString {
  const encoder = new Encoder(state);
  encoder.append(value, 0);
  return encoder.pieces.join('');
}

class Encoder {
  readonly pieces: string[] = [];
  private readonly state: LuaState;
  private readonly settings: CjsonSettings;

  constructor(state: LuaState) {
    this.state = state;
    this.settings = cjsonSettings(state);
  }

  append(value: LuaValue, depth: number): void {
    this.state.charge(2);
    switch (typeof value) {
      case 'string':
        this.appendString(value);
        return;
      case 'number':
        this.appendNumber(value, value);
        return;
      case 'boolean':
        this.write(value ? 'true' : 'false');
        return;
      case 'undefined':
        this.write('null');
        return;
    }
    if (value === cjsonNull) this.write('null');
    else if (value instanceof LuaTable) this.appendTable(value, depth + 1);
    else throw this.failure(value, 'type not supported');
  }

  private write(piece: string): void {
    this.state.allocate(piece.length);
    this.pieces.push(piece);
  }

  private appendString(text: ByteString): void {
    this.state.charge(text.length >> 3);
    this.write(`"${text.replace(NEEDS_ESCAPE, escapeChar)}"`);
  }

  private appendNumber(number: number, shown: LuaValue): void {
    if (!Number.isFinite(number)) {
      const { encodeInvalid } = this.settings;
      if (encodeInvalid === false) throw this.failure(shown, 'must not be NaN or Inf');
      // lua-cjson spells these the same on every platform.
      if (encodeInvalid === 'null') this.write('null');
      else this.write(Number.isNaN(number) ? 'nan' : number > 0 ? 'inf' : '-inf');
      return;
    }
    const { precision } = this.settings;
    this.write(precision === 14 ? numberToString(number) : formatGeneral(number, precision, false));
  }

  private appendTable(table: LuaTable, depth: number): void {
    if (depth > this.settings.encodeDepthMax) {
      throw this.state.error(`Cannot serialise, excessive nesting (${depth})`);
    }
    this.state.enter(LEVEL_DEPTH);
    const length = this.arrayLength(table);
    if (length > 0) this.appendArray(table, length, depth);
    else this.appendObject(table, depth);
    this.state.depth -= LEVEL_DEPTH;
  }

  /** The length of a table whose keys are all positive integers, or -1 for an object. */
  private arrayLength(table: LuaTable): number {
    let max = 0;
    let count = 0;
    this.state.charge(table.slotCount);
    for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
      const key = entry[0];
      if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return -1;
      if (key > max) max = key;
      count++;
    }
    const { sparseRatio, sparseSafe, sparseConvert } = this.settings;
    if (sparseRatio > 0 && max > count * sparseRatio && max > sparseSafe) {
      if (!sparseConvert) throw this.failure(table, 'excessively sparse array');
      return -1;
    }
    return max;
  }

  private appendArray(table: LuaTable, length: number, depth: number): void {
    this.write('[');
    for (let i = 1; i <= length; i++) {
      if (i > 1) this.write(',');
      this.append(table.getNumber(i), depth);
    }
    this.write(']');
  }

  private appendObject(table: LuaTable, depth: number): void {
    this.write('{');
    let separator = '';
    for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
      const [key, value] = entry;
      this.write(separator);
      separator = ',';
      if (typeof key === 'string') this.appendString(key);
      else if (typeof key === 'number') {
        this.write('"');
        this.appendNumber(key, key);
        this.write('"');
      } else throw this.failure(key, 'table key must be a number or string');
      this.write(':');
      this.append(value, depth);
    }
    this.write('}');
  }

  private failure(value: LuaValue, reason: string): Error {
    return this.state.error(`Cannot serialise ${typeName(value)}: ${reason}`);
  }
}

function escapeChar(char: string): string {
  return ESCAPES[char] ?? `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
