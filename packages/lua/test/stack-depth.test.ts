import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';

// Each program recurses through another construct until the depth counter stops it. They run on
// half of Node's default stack: a RangeError of the host there means the counter is too generous.
const nested = (open: string, inner: string, close: string, times: number): string =>
  open.repeat(times) + inner + close.repeat(times);

const PROGRAMS: [what: string, body: string][] = [
  ['a plain call', 'return 1 + f()'],
  ['parentheses', `return (${nested('(', 'f()', ')', 60)})`],
  ['arithmetic', `return ${nested('1 + (', 'f()', ')', 90)}`],
  ['tables', `return ${nested('{', 'f()', '}', 90)}`],
  ['arguments', `return 1, ${nested('g(1,', 'f()', ')', 90)}`],
  ['pcall', 'local ok, e = pcall(f) if not ok then error(e, 0) end return 1'],
  ['table.sort', 'table.sort({1, 2}, f) return 1'],
  ['string.gsub', 'string.gsub("xx", "(.)(x?)", f) return 1'],
  [
    'loops',
    `${nested('for i = 1, 1 do for k in pairs{1} do if true then while true do ', 'f() ', ' break end end end end', 40)} return 1`,
  ],
  ['__index', 'return setmetatable({}, {__index = f}).x'],
  ['__add', 'return 1 + (1 + (setmetatable({}, {__add = f}) + 1))'],
  ['__tostring', 'return tostring(setmetatable({}, {__tostring = f}))'],
  ['loadstring', 'local c = loadstring("local f = ... return 1 + f()") return 1 + c(f)'],
  [
    'parsing at depth',
    'local c, e = loadstring("return " .. ("("):rep(180) .. "1" .. (")"):rep(180)) return 1 + f()',
  ],
  [
    'closures made at depth',
    `local h = function() return ${nested('{', '1', '}', 90)} end return 1 + f()`,
  ],
  ['coroutines', 'return 1 + coroutine.wrap(f)()'],
  [
    'calls inside a coroutine',
    'return coroutine.wrap(function() local function r() return 1 + r() end return r() end)()',
  ],
  [
    'yields from depth',
    'local c c = coroutine.wrap(function() local function r(n) if n == 0 then coroutine.yield() return 0 end return 1 + r(n - 1) end return r(60) end) c() c() return 1 + f()',
  ],
  [
    'cjson.encode',
    'local t = {} for i = 1, 990 do t = {t} end pcall(cjson.encode, t) return 1 + f()',
  ],
  ['cjson.decode', 'pcall(cjson.decode, ("["):rep(990) .. ("]"):rep(990)) return 1 + f()'],
  ['patterns', 'pcall(string.find, ("x"):rep(300), ("x?"):rep(190)) return 1 + f()'],
];

const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ compile, Environment, run }) => {
    const answers = workerData.sources.map((source) => {
      const environment = new Environment();
      const budget = { steps: 1e9, bytes: 1e9 };
      try {
        return run(compile(source, '=s'), { environment, budget }).map(String);
      } catch (error) {
        return [error.name, error.message];
      }
    });
    parentPort.postMessage(answers);
  });`;

describe('recursion through', { timeout: 60_000 }, () => {
  it('any construct ends in a Lua error on half the usual stack', async () => {
    const sources = PROGRAMS.map(
      ([, body]) =>
        `local function g(...) return ... end local f f = function() ${body} end local ok, e = pcall(f) return ok, e`,
    );
    const worker = new Worker(WORKER, {
      eval: true,
      workerData: { sources, module: new URL('../dist/index.js', import.meta.url).href },
      // Node keeps 192 KiB of this for itself: 492 KiB are left, half of a main thread's 984.
      resourceLimits: { stackSizeMb: 0.68 },
    });
    const answers = await new Promise<string[][]>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
    for (const [i, [what]] of PROGRAMS.entries()) {
      expect([what, ...(answers[i] ?? [])].join(': ')).toMatch(/: false: .*overflow/);
    }
  });
});
