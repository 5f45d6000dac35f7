import { LuaBudgetError, LuaError } from './error.ts';
import { Frame } from './frame.ts';
import { RandomSequence } from './random.ts';
import type { LuaTable } from './table.ts';
import { type ByteString, LuaFunction, type LuaThread, type LuaValue, typeName } from './value.ts';

/** Allowances of one run. Both count down in the same order on every machine. */
export interface Budget {
  /** One step is about one node of the syntax tree evaluated, or 16 bytes copied. */
  readonly steps: number;
  /** Bytes of strings and tables made over the whole run; nothing is given back. */
  readonly bytes: number;
}

/** What is left of a budget that several runs share. */
export interface Allowance {
  steps: number;
  bytes: number;
}

export const DEFAULT_BUDGET: Budget = { steps: 4_000_000, bytes: 64 << 20 };

// Units of about one JavaScript frame each. Node's default stack (984 KiB) holds about twice
// as many of the largest frames the closures produce; test/stack.test.ts measures it.
const DEPTH_MAX = 2_400;
// Lua's LUAI_MAXCCALLS: library functions, metamethods and coroutines nested in each other.
const NATIVE_DEPTH_MAX = 190;
const NATIVE_DEPTH_COST = 8;

/** Everything that belongs to one run of a chunk: budget, call stack, random sequence, host. */
export class LuaState {
  steps: number;
  bytes: number;
  depth = 0;
  nativeDepth = 0;
  top: Frame | null = null;
  thread: LuaThread | null = null;
  readonly globals: LuaTable;
  readonly stringMetatable: LuaTable | null;
  readonly random = new RandomSequence(0);
  /** The host's own object for this run; host functions find their world here. */
  readonly host: unknown;
  /** A pending tail call: the function here, its arguments in `tailArguments`. */
  tailFunction: LuaFunction | null = null;
  tailArguments: LuaValue[] = [];
  /** What libraries keep for the length of a run, by library name. */
  readonly libraryData = new Map<string, unknown>();
  private identities: Map<object, number> | null = null;

  constructor(
    globals: LuaTable,
    stringMetatable: LuaTable | null,
    budget: Budget,
    host: unknown = undefined,
  ) {
    this.globals = globals;
    this.stringMetatable = stringMetatable;
    this.steps = budget.steps;
    this.bytes = budget.bytes;
    this.host = host;
  }

  /** Takes `steps` from the budget; throws LuaBudgetError when it is used up. */
  charge(steps: number): void {
    this.steps -= steps;
    if (this.steps < 0) throw new LuaBudgetError('steps');
  }

  /** Takes memory of `bytes`, and the steps of writing it. Call it before allocating. */
  allocate(bytes: number): void {
    this.bytes -= bytes;
    if (this.bytes < 0) throw new LuaBudgetError('bytes');
    this.charge(Math.floor(bytes / 16));
  }

  /** Goes `units` deeper, or raises Lua's stack overflow; the caller gives them back. */
  enter(units: number): void {
    this.depth += units;
    if (this.depth > DEPTH_MAX) {
      this.depth -= units;
      throw this.error('stack overflow');
    }
  }

  /** Goes into a library function that calls back, or a metamethod, or a coroutine. */
  enterNative(units: number): void {
    if (this.nativeDepth >= NATIVE_DEPTH_MAX) throw this.error('C stack overflow');
    this.nativeDepth++;
    this.enter(units);
  }

  /** Calls any value from a library function, as lua_call does. */
  call(target: LuaValue, args: LuaValue[]): LuaValue[] {
    return this.asLibrary(() => this.callMeta(target, args));
  }

  /** Runs `work` as C Lua runs a library function: what it raises by itself has no position. */
  asLibrary<T>(work: () => T): T {
    const saved = this.top;
    this.top = new Frame(this, null, saved, [], [], false);
    const result = work();
    this.top = saved;
    return result;
  }

  /** Calls any value on behalf of the running Lua function: metamethods, iterators. */
  callMeta(target: LuaValue, args: LuaValue[]): LuaValue[] {
    this.enterNative(NATIVE_DEPTH_COST);
    const result = this.callable(target, args, '').call(args, this);
    this.depth -= NATIVE_DEPTH_COST;
    this.nativeDepth--;
    return result;
  }

  /** The function to call for `target`; puts `target` before `args` when `__call` is taken. */
  callable(target: LuaValue, args: LuaValue[], description: string): LuaFunction {
    if (target instanceof LuaFunction) return target;
    const handler = this.metamethod(target, '__call');
    if (handler instanceof LuaFunction) {
      args.unshift(target);
      return handler;
    }
    throw this.typeError('call', target, description);
  }

  metatableOf(value: LuaValue): LuaTable | null {
    if (typeof value === 'string') return this.stringMetatable;
    if (typeof value !== 'object' || !('metatable' in value)) return null;
    return value.metatable;
  }

  metamethod(value: LuaValue, event: string): LuaValue {
    const metatable = this.metatableOf(value);
    return metatable === null ? undefined : metatable.getString(event);
  }

  /** An error to throw; the message gets the position of `level`, as luaL_error does. */
  error(message: ByteString, level = 1): LuaError {
    return this.raise(this.where(level) + message);
  }

  /** An error to throw that carries any value, with the innermost Lua position attached. */
  raise(value: LuaValue): LuaError {
    let frame = this.top;
    while (frame !== null && frame.closure === null) frame = frame.parent;
    if (frame === null) return new LuaError(value);
    return new LuaError(value, frame.closure?.proto.source ?? '', frame.site.line);
  }

  /** Lua's "attempt to …" error. `description` is like `global 'x'`, or empty. */
  typeError(verb: string, value: LuaValue, description: string): LuaError {
    const type = typeName(value);
    const what = description === '' ? `a ${type} value` : `${description} (a ${type} value)`;
    return this.error(`attempt to ${verb} ${what}`);
  }

  /** `source:line: ` of the function at `level` (1: the running one), or an empty string. */
  where(level: number): ByteString {
    const frame = this.frameAt(level);
    return frame === null || frame.closure === null
      ? ''
      : `${frame.closure.proto.source}:${frame.site.line}: `;
  }

  /** The frame `level` calls up, null when there is none or it was left by a tail call. */
  frameAt(level: number): Frame | null {
    let left = level;
    for (let frame = this.top; frame !== null; frame = frame.parent) {
      if (--left === 0) return frame;
      if (frame.isTail && --left === 0) return null;
    }
    return null;
  }

  /** A small number that stands for an object's address in this run. */
  identity(value: object): number {
    if (this.identities === null) this.identities = new Map();
    let id = this.identities.get(value);
    if (id === undefined) {
      id = this.identities.size + 1;
      this.identities.set(value, id);
    }
    return id;
  }
}
