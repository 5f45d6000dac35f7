import type { LuaClosure } from './closure.ts';
import type { LuaState } from './state.ts';
import type { LuaValue } from './value.ts';

/** A place in a script that can fail or call: its line, and how the callee is named there. */
export interface Site {
  readonly line: number;
  /** The name of the called function as error messages show it, when it has one. */
  readonly name?: string | undefined;
  readonly isMethod?: boolean;
}

export const NOWHERE: Site = { line: 0 };

/** A local variable that a closure captured; slots of such variables hold a cell. */
export class Cell {
  value: LuaValue;

  constructor(value: LuaValue) {
    this.value = value;
  }
}

const NO_TEMPORARIES: LuaValue[] = [];

/**
 * One activation of a Lua function, or (closure null) a marker for a library function that
 * calls back, so that error levels count as in C Lua.
 */
export class Frame {
  readonly state: LuaState;
  readonly closure: LuaClosure | null;
  readonly parent: Frame | null;
  /** Values of the local variables by slot; a captured one is a Cell. */
  readonly slots: (LuaValue | Cell)[];
  readonly upvalues: Cell[];
  varargs: LuaValue[] | undefined;
  /** Operands computed before an operation that runs without a chance to yield in between. */
  temporaries: (LuaValue | LuaValue[])[] = NO_TEMPORARIES;
  /** Where this activation stands; written before anything that can raise. */
  site: Site = NOWHERE;
  /** Entered by a tail call: its caller's level has no position. */
  readonly isTail: boolean;

  constructor(
    state: LuaState,
    closure: LuaClosure | null,
    parent: Frame | null,
    slots: (LuaValue | Cell)[],
    upvalues: Cell[],
    isTail: boolean,
  ) {
    this.state = state;
    this.closure = closure;
    this.parent = parent;
    this.slots = slots;
    this.upvalues = upvalues;
    this.varargs = undefined;
    this.isTail = isTail;
  }
}
