import { argumentError, checkAny, checkFunction, checkString, checkTable } from './arguments.ts';
import { displayName } from './chunk-name.ts';
import { LuaClosure } from './closure.ts';
import { compileTree } from './compile.ts';
import { LuaSyntaxError } from './error.ts';
import type { LibraryFunctions } from './library.ts';
import { checkLevel } from './library-base.ts';
import { parseChunk } from './parser.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import { type ByteString, LuaFunction, type LuaValue } from './value.ts';

// Reading source costs about this many steps a byte, and the parser this much of the stack.
const STEPS_PER_BYTE = 4;
const PARSER_DEPTH = 1_200;

/** Compiles source met while a script runs; a syntax error is answered, not raised. */
function load(state: LuaState, source: ByteString, chunkName: ByteString): LuaValue[] {
  state.charge(source.length * STEPS_PER_BYTE);
  state.allocate(source.length * STEPS_PER_BYTE);
  if (source.startsWith('\x1b')) return [undefined, 'attempt to load a binary chunk'];
  state.enter(PARSER_DEPTH);
  try {
    const proto = compileTree(parseChunk(source, displayName(chunkName)));
    return [new LuaClosure(proto, [], state.globals)];
  } catch (error) {
    if (!(error instanceof LuaSyntaxError)) throw error;
    return [undefined, error.message];
  } finally {
    state.depth -= PARSER_DEPTH;
  }
}

/** `load` and `loadstring`; text only, since byte code could break the sandbox. */
export const loadFunctions: LibraryFunctions = {
  load: (args, state) => {
    const reader = checkFunction(state, args, 1);
    const name = args[1] === undefined ? '=(load)' : checkString(state, args, 2);
    const pieces: string[] = [];
    for (;;) {
      const [piece] = state.call(reader, []);
      if (piece === undefined || piece === '') break;
      if (typeof piece !== 'string') return [undefined, 'reader function must return a string'];
      state.allocate(piece.length);
      pieces.push(piece);
    }
    return load(state, pieces.join(''), name);
  },
  loadstring: (args, state) => {
    const source = checkString(state, args, 1);
    return load(state, source, args[1] === undefined ? source : checkString(state, args, 2));
  },
};

function functionAt(args: LuaValue[], state: LuaState): LuaFunction {
  if (args[0] instanceof LuaFunction) return args[0];
  const level = checkLevel(state, args);
  const frame = state.frameAt(level);
  if (frame?.closure == null) throw argumentError(state, 1, 'invalid level');
  return frame.closure;
}

/** `getfenv` and `setfenv`; Redis hides them from scripts, plain 5.1 has them. */
export const environmentFunctions: LibraryFunctions = {
  getfenv: (args, state) => {
    if (args[0] === 0) return [state.globals];
    const target = functionAt(args, state);
    return [target instanceof LuaClosure ? target.environment : state.globals];
  },
  setfenv: (args, state) => {
    checkAny(state, args, 1);
    const environment: LuaTable = checkTable(state, args, 2);
    const target = functionAt(args, state);
    if (!(target instanceof LuaClosure)) {
      throw state.error("'setfenv' cannot change environment of given object");
    }
    target.environment = environment;
    return [target];
  },
};
