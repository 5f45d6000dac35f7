import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  compile,
  Environment,
  LuaError,
  LuaSyntaxError,
  LuaTable,
  type LuaValue,
  NativeFunction,
  numberToString,
  run,
  typeName,
} from '../src/index.ts';

// The answers in golden/*.txt were given by the reference interpreter (golden/capture.lua).

const REDIS_FILES = ['cjson', 'cmsgpack', 'bit', 'struct', 'sandbox'];

function showByte(char: string): string {
  const code = char.charCodeAt(0);
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  if (char === '"' || char === '\\') return `\\${char}`;
  if (code >= 32 && code < 127) return char;
  return `\\${String(code).padStart(3, '0')}`;
}

function show(value: LuaValue, intoTables: boolean): string {
  switch (typeof value) {
    case 'string':
      return `"${Array.from(value, showByte).join('')}"`;
    case 'number':
      return numberToString(value);
    case 'undefined':
      return 'nil';
    case 'boolean':
      return String(value);
    default:
      // Only the answers of Redis look into tables.
      return intoTables && value instanceof LuaTable
        ? `{${value.array.map((element) => show(element, true)).join(' ')}}`
        : `<${typeName(value)}>`;
  }
}

function answer(source: string, environment: Environment, intoTables: boolean): string {
  try {
    const variables = { KEYS: new LuaTable(), ARGV: new LuaTable() };
    const values = run(compile(source, '=case'), { environment, variables });
    return `= ${values.map((value) => show(value, intoTables)).join(' ')}`;
  } catch (error) {
    if (error instanceof LuaSyntaxError) return `? ${show(error.message, false)}`;
    if (error instanceof LuaError) return `! ${show(error.value, intoTables)}`;
    throw error;
  }
}

function read(name: string): string {
  return readFileSync(fileURLToPath(new URL(`./golden/${name}`, import.meta.url)), 'latin1');
}

const FILES = [
  'numbers',
  'strings',
  'patterns',
  'tables',
  'metatables',
  'errors',
  'syntax',
  'coroutines',
];

function casesOf(name: string): [source: string, expected: string][] {
  const cases = read(`${name}.lua`).replace(/\n+$/, '').split('\n\n');
  const expected = read(`${name}.txt`).replace(/\n$/, '').split('\n');
  expect(cases.length).toBe(expected.length);
  return cases.map((source, i) => [source, expected[i] as string]);
}

describe.each(FILES)('%s answers as Lua 5.1 does', (name) => {
  it.each(casesOf(name))('%s', (source, wanted) => {
    const environment = new Environment({
      isProtected: false,
      globals: { print: new NativeFunction('print', () => []) },
    });
    expect(answer(source, environment, false)).toBe(wanted);
  });
});

// Captured from a Redis 7.0.15 (golden/redis-capture.mjs); one environment serves all cases.
describe.each(REDIS_FILES)('%s answers as scripts in Redis do', (name) => {
  const environment = new Environment({ variables: ['KEYS', 'ARGV'] });

  it.each(casesOf(name))('%s', (source, wanted) => {
    expect(answer(source, environment, true)).toBe(wanted);
  });
});
