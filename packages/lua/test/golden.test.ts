import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  compile,
  Environment,
  LuaError,
  LuaSyntaxError,
  type LuaValue,
  NativeFunction,
  numberToString,
  run,
  typeName,
} from '../src/index.ts';

// The answers in golden/*.txt were given by the reference interpreter (golden/capture.lua).

function showByte(char: string): string {
  const code = char.charCodeAt(0);
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  if (char === '"' || char === '\\') return `\\${char}`;
  if (code >= 32 && code < 127) return char;
  return `\\${String(code).padStart(3, '0')}`;
}

function show(value: LuaValue): string {
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
      return `<${typeName(value)}>`;
  }
}

function answer(source: string): string {
  const environment = new Environment({
    isProtected: false,
    globals: { print: new NativeFunction('print', () => []) },
  });
  try {
    const values = run(compile(source, '=case'), { environment });
    return `= ${values.map(show).join(' ')}`;
  } catch (error) {
    if (error instanceof LuaSyntaxError) return `? ${show(error.message)}`;
    if (error instanceof LuaError) return `! ${show(error.value)}`;
    throw error;
  }
}

function read(name: string): string {
  return readFileSync(fileURLToPath(new URL(`./golden/${name}`, import.meta.url)), 'latin1');
}

const FILES = ['numbers', 'strings', 'patterns', 'tables', 'metatables', 'errors', 'syntax'];

describe.each(FILES)('%s answers as Lua 5.1 does', (name) => {
  const cases = read(`${name}.lua`).replace(/\n+$/, '').split('\n\n');
  const expected = read(`${name}.txt`).trimEnd().split('\n');

  it('has one answer for each case', () => {
    expect(cases.length).toBe(expected.length);
  });

  it.each(cases.map((source, i) => [source, expected[i]]))('%s', (source, wanted) => {
    expect(answer(source)).toBe(wanted);
  });
});
