import { displayName } from './chunk-name.ts';
import { LuaClosure, type Proto } from './closure.ts';
import { compileTree } from './compile.ts';
import type { Environment } from './environment.ts';
import { parseChunk } from './parser.ts';
import { type Allowance, type Budget, DEFAULT_BUDGET, LuaState } from './state.ts';
import type { ByteString, LuaValue } from './value.ts';

/** A compiled script. It holds nothing of any run: cache it and run it as often as needed. */
export interface Chunk {
  readonly proto: Proto;
}

/**
 * Compiles source (one char per byte). `chunkName` is `=name` or `@name` for a name shown as it
 * is in messages; anything else is taken as source text. Throws LuaSyntaxError.
 */
export function compile(source: ByteString, chunkName: ByteString): Chunk {
  return { proto: compileTree(parseChunk(source, displayName(chunkName))) };
}

export interface RunOptions {
  readonly environment: Environment;
  /** Values of the environment's variables for this run, by name; missing ones are nil. */
  readonly variables?: Readonly<Record<string, LuaValue>>;
  /** Arguments of the chunk, seen as `...`. */
  readonly args?: readonly LuaValue[];
  readonly budget?: Budget;
  /** Instead of a budget of its own: what runs before left, counted down by this one. */
  readonly allowance?: Allowance;
  /** Start of math.random's sequence, a 32-bit integer; Redis uses 0. */
  readonly seed?: number;
  /** What host functions find as `state.host`. */
  readonly host?: unknown;
}

/**
 * Runs a chunk from its beginning and returns what it returns. Throws LuaError for an error no
 * pcall caught and LuaBudgetError when the budget is used up; both depend on nothing but the
 * chunk and the options.
 */
export function run(chunk: Chunk, options: RunOptions): LuaValue[] {
  const { environment, variables } = options;
  if (environment.isRunning) throw new Error('an environment runs one script at a time');
  const { globals } = environment;
  const state = new LuaState(
    globals,
    environment.stringMetatable,
    options.allowance ?? options.budget ?? DEFAULT_BUDGET,
    options.host,
  );
  if (options.seed !== undefined) state.random.seed(options.seed);
  for (const name of environment.variables) globals.set(name, variables?.[name]);
  environment.isRunning = true;
  try {
    const main = new LuaClosure(chunk.proto, [], globals);
    return main.call(options.args === undefined ? [] : [...options.args], state);
  } finally {
    environment.isRunning = false;
    if (options.allowance !== undefined) {
      options.allowance.steps = Math.max(0, state.steps);
      options.allowance.bytes = Math.max(0, state.bytes);
    }
  }
}
