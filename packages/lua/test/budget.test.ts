import { describe, expect, it } from 'vitest';
import { compile, Environment, LuaBudgetError, LuaError, run } from '../src/index.ts';

const environment = new Environment();

function runWith(source: string, steps: number, bytes = 64 << 20): unknown {
  return run(compile(source, '=s'), { environment, budget: { steps, bytes } });
}

/** The fewest steps with which `source` ends without running out. */
function stepsOf(source: string): number {
  let low = 0;
  let high = 1 << 24;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    try {
      runWith(source, middle);
      high = middle;
    } catch (error) {
      if (!(error instanceof LuaBudgetError)) throw error;
      low = middle;
    }
  }
  return high;
}

describe('the step budget', { timeout: 60_000 }, () => {
  const endless: [what: string, source: string][] = [
    ['a while loop', 'while true do end'],
    ['a repeat loop', 'repeat until false'],
    ['a numeric for', 'for i = 1, 1/0 do end'],
    ['a numeric for of step 0', 'for i = 2, 1, 0 do end'],
    ['an iterator that never ends', 'for x in function() return 1 end do end'],
    ['a native iterator that never ends', 'for x in math.max, 1, 1 do end'],
    ['tail calls', 'local function f() return f() end f()'],
    ['a loop inside pcall', 'pcall(function() while true do end end)'],
    ['a loop around pcall', 'while true do pcall(error) end'],
    ['a loop inside xpcall and its handler', 'while true do xpcall(error, error) end'],
    ['a catastrophic pattern', "('a'):rep(200):find(('a?'):rep(50) .. ('.-'):rep(50) .. 'b')"],
    ['quadratic matching', "('a'):rep(100000):find('.-b')"],
    ['balanced matching from everywhere', "('('):rep(100000):find('%b()')"],
    ['sets scanned again and again', "('a'):rep(100000):find('[' .. ('b'):rep(100000) .. ']')"],
    [
      '__index functions',
      'local t = setmetatable({}, {__index = function(t, k) return t end}) while true do t = t.x end',
    ],
    [
      'sorting with a lying order',
      'local t = {} for i = 1, 50000 do t[i] = i % 7 end while true do table.sort(t, function(a, b) return a < b end) end',
    ],
    ['inserting at the front', 'local t = {} while true do table.insert(t, 1, 1) end'],
    [
      'maxn over a large table',
      'local t = {} for i = 1, 10000 do t[i] = i end while true do table.maxn(t) end',
    ],
    [
      'long string comparison',
      "local a, b = ('x'):rep(1e6), ('x'):rep(1e6) while true do local c = a == b end",
    ],
    ['long keys', "local t, k = {}, ('x'):rep(1e6) while true do t[k] = 1 end"],
    ['gsub with an empty pattern', "while true do ('x'):rep(1000):gsub('', '') end"],
    [
      'finding the first of many emptied slots again and again',
      'local t = {} for i = 1, 20000 do t["k" .. i] = i end for i = 1, 9999 do t["k" .. i] = nil end while true do next(t) end',
    ],
    [
      'finding the end of an emptied array again and again',
      'local t = {} for i = 1, 20000 do t[i] = i end for i = 1, 19999 do t[i] = nil end while true do next(t) end',
    ],
    [
      'passing many results through many returns',
      'local t = {} for i = 1, 7000 do t[i] = i end local function f(n) if n == 0 then return unpack(t) end return 1, f(n - 1) end while true do f(100) end',
    ],
    [
      'passing many arguments to a vararg function',
      'local function g(...) return 1 end local function f(...) while true do g(...) end end local t = {} for i = 1, 7000 do t[i] = i end f(unpack(t))',
    ],
    ['fractions made text', 'local s while true do s = tostring(0.1) end'],
    ['fractions formatted', "while true do string.format('%99.99f', 1 / 3) end"],
    [
      'endless resuming',
      'local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end',
    ],
    ['a loop inside a coroutine', 'coroutine.wrap(function() while true do tostring(1) end end)()'],
    ['making coroutines', 'while true do coroutine.create(function() end) end'],
    ['cjson of a shared table', 'local t = {} for i = 1, 30 do t = {t, t} end cjson.encode(t)'],
    ['unpack', 'local t = {} for i = 1, 7000 do t[i] = i end while true do unpack(t) end'],
  ];

  it.each(endless)('stops %s', (_what, source) => {
    const started = performance.now();
    expect(() => runWith(source, 300_000)).toThrow(LuaBudgetError);
    // Generous: the point is that nothing runs for seconds on three hundred thousand steps.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('counts the same for every run of a chunk', () => {
    const source = 'local s = 0 for i = 1, 100 do s = s + #tostring(i) end return s';
    expect(stepsOf(source)).toBe(stepsOf(source));
    expect(stepsOf(source)).toBeGreaterThan(500);
  });

  it('charges work in libraries by what they touch', () => {
    const small = stepsOf("return ('x'):rep(1000):upper()");
    const large = stepsOf("return ('x'):rep(100000):upper()");
    expect(large).toBeGreaterThan(small * 20);
  });
});

describe('the byte budget', () => {
  it.each([
    ["return ('x'):rep(1e9)"],
    ["return ('x'):rep(1e15)"],
    ["local s = 'x' while true do s = s .. s end"],
    ['local t = {} for i = 1, 1e9 do t[i] = i end'],
    ["local t = {} for i = 1, 1e9 do t[i .. ''] = {} end"],
    ["return table.concat({('x'):rep(4e6), ('x'):rep(4e6)}, ('y'):rep(4e6))"],
    ["return (('x'):rep(4e6):gsub('x', ('y'):rep(4e6)))"],
    ["return ('%99d'):rep(1e6):format(unpack({}, 1, 7000))"],
  ])('stops %s', (source) => {
    expect(() => runWith(source, 1e9, 8_000_000)).toThrow(
      source.includes('format') ? LuaError : LuaBudgetError,
    );
  });
});

describe('nesting', () => {
  it.each([
    ['recursion', 'local function f() return 1 + f() end f()', 'stack overflow'],
    [
      'recursion through pcall',
      'local function f() local ok, e = pcall(f) error(e, 0) end f()',
      'stack overflow',
    ],
    [
      'recursion through __index',
      'local t = {} setmetatable(t, {__index = function(t, k) return t[k .. 1] end}) return t.x',
      'overflow',
    ],
    ['recursion through sort', 'local function f() table.sort({1, 2}, f) end f()', 'overflow'],
    [
      'recursion through gsub',
      "local function f() local s = ('x'):gsub('x', f) end f()",
      'overflow',
    ],
    [
      'recursion through tostring',
      'local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring tostring(t)',
      'overflow',
    ],
    ['a pattern of many parts', "('x'):rep(1000):find(('x?'):rep(1000))", 'pattern too complex'],
  ])('raises a Lua error for %s', (_what, source, text) => {
    expect(() => runWith(source, 1e7)).toThrow(text);
  });

  it('lets a script catch a stack overflow, at the same depth each time', () => {
    const source = `
      local depth = 0
      local function f() depth = depth + 1 return 1 + f() end
      local ok, message = pcall(f)
      return ok, message, depth`;
    const first = runWith(source, 1e7) as unknown[];
    expect(first[0]).toBe(false);
    expect(first[1]).toBe('s:3: stack overflow');
    expect(first[2]).toBeGreaterThan(190);
    expect(runWith(source, 1e7)).toEqual(first);
  });

  it.each([
    ['parentheses', `return ${'('.repeat(1000)}1${')'.repeat(1000)}`],
    ['blocks', 'do '.repeat(100_000)],
    ['tables', `return ${'{'.repeat(100_000)}`],
    ['functions', 'return function() '.repeat(100_000)],
    ['unary operators', `return ${'- '.repeat(100_000)}1`],
    ['right-associative operators', `return ${'1 .. '.repeat(100_000)}1`],
    ['operator chains', `return ${'1 + '.repeat(100_000)}1`],
    ['calls of calls', `return f${'()'.repeat(100_000)}`],
    ['indexes', `return f${'.a'.repeat(100_000)}`],
  ])('refuses source with too deep %s', (_what, source) => {
    expect(() => compile(source, '=s')).toThrow('s:1: chunk has too many syntax levels');
  });

  it('takes long flat source', () => {
    expect(run(compile(`return {${'1,'.repeat(200_000)}}`, '=s'), { environment })).toHaveLength(1);
    expect(
      run(compile(`local x ${'x = 1 '.repeat(50_000)} return x`, '=s'), { environment }),
    ).toEqual([1]);
    expect(
      run(
        compile(
          `local x = 2 if x == 1 then ${'elseif x == 3 then '.repeat(20_000)} end return x`,
          '=s',
        ),
        { environment },
      ),
    ).toEqual([2]);
  });
});
