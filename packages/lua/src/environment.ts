import { type LibraryFunctions, makeLibrary, protect } from './library.ts';
import { baseFunctions, redisProtectedCall } from './library-base.ts';
import { makeBitLibrary } from './library-bit.ts';
import { makeCjsonLibrary } from './library-cjson.ts';
import { makeCmsgpackLibrary } from './library-cmsgpack.ts';
import { makeCoroutineLibrary } from './library-coroutine.ts';
import { environmentFunctions, loadFunctions } from './library-load.ts';
import { mathConstants, mathFunctions } from './library-math.ts';
import { stringFunctions } from './library-string.ts';
import { makeStructLibrary } from './library-struct.ts';
import { tableFunctions } from './library-table.ts';
import { LuaTable } from './table.ts';
import { type LuaValue, NativeFunction } from './value.ts';

/** What a set of globals contains besides Lua's own. */
export interface EnvironmentOptions {
  /** Host tables and values by global name, for instance `redis`; they become readonly. */
  readonly globals?: Readonly<Record<string, LuaValue>>;
  /** Names whose values each run brings, for instance `KEYS` and `ARGV`. */
  readonly variables?: readonly string[];
  /**
   * True (the default): as in Redis, all tables are readonly, reading an unknown global raises,
   * pcall answers an error table's `err`, and getfenv, setfenv are absent. Such an environment
   * serves any number of runs. False: plain 5.1; what one run writes the next sees, so make one
   * for each run.
   */
  readonly isProtected?: boolean;
}

/** A set of globals. Runs of one environment follow each other, they never nest. */
export class Environment {
  readonly globals: LuaTable;
  readonly stringMetatable: LuaTable;
  readonly variables: readonly string[];
  isRunning = false;

  constructor(options: EnvironmentOptions = {}) {
    const isProtected = options.isProtected ?? true;
    this.variables = options.variables ?? [];
    const globals = new LuaTable();
    this.globals = globals;
    addFunctions(globals, baseFunctions);
    addFunctions(globals, loadFunctions);
    if (!isProtected) addFunctions(globals, environmentFunctions);
    const string = makeLibrary(stringFunctions);
    globals.set('string', string);
    globals.set('coroutine', makeCoroutineLibrary());
    globals.set('table', makeLibrary(tableFunctions));
    globals.set('math', makeLibrary(mathFunctions, mathConstants));
    globals.set('cjson', makeCjsonLibrary());
    globals.set('cmsgpack', makeCmsgpackLibrary());
    globals.set('bit', makeBitLibrary());
    globals.set('struct', makeStructLibrary());
    for (const [name, value] of Object.entries(options.globals ?? {})) globals.set(name, value);
    globals.set('_VERSION', 'Lua 5.1');
    globals.set('_G', globals);
    // The names take their places now: traversal must not depend on which run came first.
    for (const name of this.variables) globals.set(name, false);
    this.stringMetatable = LuaTable.fromObject({ __index: string });
    if (isProtected) this.protect();
  }

  private protect(): void {
    this.globals.set('pcall', new NativeFunction('pcall', redisProtectedCall));
    this.globals.metatable = LuaTable.fromObject({
      __index: new NativeFunction('__index', (args, state) => {
        const name = typeof args[1] === 'string' ? args[1] : '?';
        throw state.error(`Script attempted to access nonexistent global variable '${name}'`);
      }),
    });
    protect(this.globals);
    protect(this.stringMetatable);
  }
}

function addFunctions(table: LuaTable, functions: LibraryFunctions): void {
  for (const [name, body] of Object.entries(functions)) {
    table.set(name, new NativeFunction(name, body));
  }
}
