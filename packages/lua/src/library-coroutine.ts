import { argumentError } from './arguments.ts';
import { LuaClosure } from './closure.ts';
import { LuaCoroutine, yieldFunction } from './coroutine.ts';
import { LuaError } from './error.ts';
import { makeLibrary } from './library.ts';
import { TABLE_BYTES } from './operations.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import { type LuaValue, NativeFunction } from './value.ts';

function create(args: LuaValue[], state: LuaState): LuaCoroutine {
  const body = args[0];
  if (!(body instanceof LuaClosure)) throw argumentError(state, 1, 'Lua function expected');
  state.allocate(TABLE_BYTES * 4);
  return new LuaCoroutine(body);
}

function checkCoroutine(args: LuaValue[], state: LuaState): LuaCoroutine {
  const coroutine = args[0];
  if (coroutine instanceof LuaCoroutine) return coroutine;
  throw argumentError(state, 1, 'coroutine expected');
}

function resume(args: LuaValue[], state: LuaState): LuaValue[] {
  const coroutine = checkCoroutine(args, state);
  try {
    return [true, ...coroutine.resume(state, args.slice(1))];
  } catch (error) {
    if (!(error instanceof LuaError)) throw error;
    return [false, error.value];
  }
}

function wrap(args: LuaValue[], state: LuaState): LuaValue[] {
  const coroutine = create(args, state);
  return [
    new NativeFunction('wrap', (values, run) => {
      try {
        return coroutine.resume(run, values);
      } catch (error) {
        if (!(error instanceof LuaError)) throw error;
        // The position of the resumer goes before what the coroutine said.
        if (typeof error.value !== 'string') throw run.raise(error.value);
        throw run.error(error.value);
      }
    }),
  ];
}

/** The coroutine library. As in 5.1 a yield cannot cross a metamethod, an iterator or pcall. */
export function makeCoroutineLibrary(): LuaTable {
  const library = makeLibrary({
    create: (args, state) => [create(args, state)],
    resume,
    running: (_args, state) => [state.thread ?? undefined],
    status: (args, state) => [checkCoroutine(args, state).status],
    wrap,
  });
  library.set('yield', yieldFunction);
  return library;
}
