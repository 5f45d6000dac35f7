import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compile,
  Environment,
  LuaBudgetError,
  LuaError,
  LuaSyntaxError,
  run,
} from '../src/index.ts';

const WORDS = (
  'and break do else elseif end false for function if in local nil not or repeat return then true ' +
  'until while + - * / % ^ # == ~= <= >= < > = ( ) { } [ ] ; : , . .. ... x y t f self 1 2 0x10 1e3 ' +
  '"s" \'%d\' [[long]] string table math pcall error unpack select setmetatable getmetatable ' +
  'tostring tonumber pairs ipairs next loadstring rep gsub find format sort concat insert -- \n'
).split(' ');

const bytes = fc
  .array(fc.integer({ min: 0, max: 255 }))
  .map((codes) => String.fromCharCode(...codes));
const words = fc.array(fc.constantFrom(...WORDS), { maxLength: 60 }).map((list) => list.join(' '));

// Programs that parse: statements built from a small grammar.
const { program } = fc.letrec<{ expression: string; statement: string; program: string }>(
  (tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        'nil',
        'true',
        '1',
        '-2.5',
        '0/0',
        '1/0',
        '"a%d"',
        "'x'",
        '{}',
        'x',
        'y',
        '...',
        'string',
        't',
      ),
      fc
        .tuple(
          tie('expression'),
          fc.constantFrom('+', '-', '*', '/', '%', '^', '..', '==', '<', '<=', 'and', 'or'),
          tie('expression'),
        )
        .map(([a, o, b]) => `(${a} ${o} ${b})`),
      fc.tuple(fc.constantFrom('- ', '#', 'not '), tie('expression')).map(([o, a]) => `(${o}${a})`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `{${a}, k = ${b}, ${a}}`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(${a})[${b}]`),
      fc
        .tuple(
          fc.constantFrom(
            'f',
            'pcall',
            'error',
            'select',
            'unpack',
            'tostring',
            'tonumber',
            'setmetatable',
            'getmetatable',
            'next',
            'rawget',
            'rawset',
            'loadstring',
            'string.rep',
            'string.gsub',
            'string.find',
            'string.format',
            'string.byte',
            'string.char',
            'string.sub',
            'table.sort',
            'table.concat',
            'table.insert',
            'table.remove',
            'math.floor',
            'math.max',
            'math.random',
            'xpcall',
            'assert',
            'type',
          ),
          tie('expression'),
          tie('expression'),
          tie('expression'),
        )
        .map(([g, a, b, c]) => `${g}(${a}, ${b}, ${c})`),
      tie('program').map((body) => `function(...) ${body} end`),
    ),
    statement: fc.oneof(
      { maxDepth: 4 },
      tie('expression').map((a) => `local x = ${a}`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `t[${a}] = ${b}`),
      tie('expression').map((a) => `f(${a})`),
      fc.tuple(tie('expression'), tie('program')).map(([a, body]) => `if ${a} then ${body} end`),
      fc
        .tuple(tie('expression'), tie('program'))
        .map(([a, body]) => `for x = 1, ${a} do ${body} end`),
      fc
        .tuple(tie('expression'), tie('program'))
        .map(([a, body]) => `for x, y in ${a} do ${body} end`),
      fc.tuple(tie('expression'), tie('program')).map(([a, body]) => `while ${a} do ${body} end`),
      tie('expression').map((a) => `y = ${a}`),
      fc
        .tuple(tie('expression'), tie('expression'))
        .map(([a, b]) => `setmetatable(t, {__index = ${a}, __add = ${b}, __call = f, __lt = f})`),
    ),
    program: fc.array(tie('statement'), { maxLength: 4 }).map((list) => list.join('; ')),
  }),
);

function attempt(source: string): void {
  let chunk: ReturnType<typeof compile>;
  try {
    chunk = compile(source, '=s');
  } catch (error) {
    expect(error).toBeInstanceOf(LuaSyntaxError);
    return;
  }
  const environment = new Environment({ isProtected: false });
  try {
    run(chunk, { environment, budget: { steps: 20_000, bytes: 1_000_000 } });
  } catch (error) {
    if (!(error instanceof LuaError) && !(error instanceof LuaBudgetError)) throw error;
  }
}

const NOT_COMPARABLE = /overflow|too complex/;

/** What a program gives, as text; null when it ran out of its budget or depth. */
function outcome(source: string): string | null {
  const environment = new Environment({ isProtected: false });
  const budget = { steps: 20_000, bytes: 1_000_000 };
  let text: string;
  try {
    text = run(compile(source, '=s'), { environment, budget }).map(showValue).join();
  } catch (error) {
    if (error instanceof LuaBudgetError) return null;
    if (!(error instanceof LuaError)) throw error;
    text = `false,${showValue(error.value)}`;
  }
  return NOT_COMPARABLE.test(text) ? null : text;
}

function showValue(value: unknown): string {
  return typeof value === 'object' ? 'object' : String(value);
}

// Thousands of runs: slow only where the machine is busy with other suites.
describe('whatever the source', { timeout: 60_000 }, () => {
  it('a program gives the same inside a coroutine as outside', () => {
    const prelude = 'local f, t, x, y = function(...) return ... end, {1, 2, "c"}, 1, "2" ';
    let compared = 0;
    fc.assert(
      fc.property(program, (source) => {
        const body = `function(...) ${prelude}${source} return x, y, t[1], f(t[2], y) end`;
        const outside = outcome(`return pcall(${body}, 5)`);
        const inside = outcome(`return coroutine.resume(coroutine.create(${body}), 5)`);
        if (outside === null || inside === null) return;
        compared++;
        expect(inside).toBe(outside);
      }),
      { numRuns: 300 },
    );
    expect(compared).toBeGreaterThan(150);
  });

  it('random bytes give a syntax error or a run that ends in Lua terms', () => {
    fc.assert(fc.property(bytes, attempt), { numRuns: 500 });
  });

  it('random words give a syntax error or a run that ends in Lua terms', () => {
    fc.assert(fc.property(words, attempt), { numRuns: 500 });
  });

  it('random programs end in Lua terms', () => {
    const prelude = 'local f, t, x, y = function(...) return ... end, {1, 2, "c"}, 1, "2" ';
    fc.assert(
      fc.property(program, (source) => attempt(prelude + source)),
      { numRuns: 500 },
    );
  });
});
