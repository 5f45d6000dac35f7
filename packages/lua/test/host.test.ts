import { describe, expect, it } from 'vitest';
import {
  compile,
  Environment,
  LuaError,
  LuaSyntaxError,
  LuaTable,
  type LuaValue,
  makeLibrary,
  run,
} from '../src/index.ts';

/** A host like Redis: `redis.call` reaches a map that belongs to the run. */
const redis = makeLibrary({
  call: (args, state) => {
    const store = state.host as Map<LuaValue, LuaValue>;
    switch (args[0]) {
      case 'get':
        return [store.get(args[1]) ?? false];
      case 'set':
        store.set(args[1], args[2]);
        return [LuaTable.fromObject({ ok: 'OK' })];
      case 'del':
        return [store.delete(args[1]) ? 1 : 0];
      default:
        throw state.raise(LuaTable.fromObject({ err: 'ERR Unknown Redis command' }));
    }
  },
});
const environment = new Environment({ globals: { redis }, variables: ['KEYS', 'ARGV'] });

function evaluate(source: string, keys: string[], args: string[], store = new Map()): LuaValue[] {
  return run(compile(source, '@user_script'), {
    environment,
    variables: { KEYS: LuaTable.fromArray([...keys]), ARGV: LuaTable.fromArray([...args]) },
    host: store,
  });
}

const COMPARE_AND_DELETE =
  'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';

describe('a host', () => {
  it('serves compare-and-delete', () => {
    const store = new Map([['lock', 'mine']]);
    expect(evaluate(COMPARE_AND_DELETE, ['lock'], ['other'], store)).toEqual([0]);
    expect(evaluate(COMPARE_AND_DELETE, ['lock'], ['mine'], store)).toEqual([1]);
    expect(evaluate(COMPARE_AND_DELETE, ['lock'], ['mine'], store)).toEqual([0]);
  });

  it('gives each run its own variables, and nothing of an earlier one', () => {
    expect(evaluate('KEYS.x = 1 return KEYS[1]', ['a'], [])).toEqual(['a']);
    expect(evaluate('return KEYS[1], KEYS.x', ['b'], [])).toEqual(['b', undefined]);
  });

  it('raises errors that carry any value, with the place in the script', () => {
    const source = 'local x = 1\nreturn redis.call("nope")';
    const error = catchError(() => evaluate(source, [], []));
    expect(error.value).toBeInstanceOf(LuaTable);
    expect((error.value as LuaTable).get('err')).toBe('ERR Unknown Redis command');
    expect([error.source, error.line]).toEqual(['user_script', 2]);
  });

  it('lets a script catch what a host function raised, as Redis 7.0 does', () => {
    const source = 'local ok, e = pcall(redis.call, "nope") return ok, e';
    expect(evaluate(source, [], [])).toEqual([false, 'ERR Unknown Redis command']);
  });

  it('reports syntax errors by line, as Lua does', () => {
    expect(() => compile('x = 1\ny = = 2', '@user_script')).toThrow(
      new LuaSyntaxError("user_script:2: unexpected symbol near '='"),
    );
  });

  it('can run again after a failed run', () => {
    expect(() => evaluate('error("x")', [], [])).toThrow(LuaError);
    expect(evaluate('return 1', [], [])).toEqual([1]);
  });

  it('refuses to nest runs of one environment', () => {
    const nested = makeLibrary({
      run: () => run(compile('return 1', '=n'), { environment: outer }),
    });
    const outer: Environment = new Environment({ globals: { nested } });
    expect(() => run(compile('nested.run()', '=o'), { environment: outer })).toThrow(
      'one script at a time',
    );
  });

  it('seeds math.random: equal seeds give equal sequences', () => {
    const chunk = compile('return math.random(1000000), math.random(1000000)', '=s');
    const draw = (seed: number): LuaValue[] => run(chunk, { environment, seed });
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('draws what Redis draws after math.randomseed(42)', () => {
    const source = 'math.randomseed(42) return tostring(math.random()), math.random(1000)';
    expect(evaluate(source, [], [])).toEqual(['0.74452500033403', 343]);
  });

  it('keeps cjson settings for one run only', () => {
    expect(evaluate('return cjson.encode_max_depth(5)', [], [])).toEqual([5]);
    expect(evaluate('return cjson.encode_max_depth()', [], [])).toEqual([1000]);
  });

  it('names tables in the order they are asked for, not by address', () => {
    const source = 'local a, b = {}, {} return tostring(b), tostring(a), tostring(b)';
    expect(evaluate(source, [], [])).toEqual([
      'table: 0x00000001',
      'table: 0x00000002',
      'table: 0x00000001',
    ]);
  });

  it('traverses tables in array order, then in order of insertion', () => {
    const source = `
      local t = {z = 1, "a", y = 2, "b"}
      t.x = 3 t.z = nil t[3] = "c" t.z = 4
      local seen = {}
      for k in pairs(t) do seen[#seen + 1] = tostring(k) end
      return table.concat(seen, " ")`;
    expect(evaluate(source, [], [])).toEqual(['1 2 3 z y x']);
  });
});

function catchError(work: () => unknown): LuaError {
  try {
    work();
  } catch (error) {
    if (error instanceof LuaError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
