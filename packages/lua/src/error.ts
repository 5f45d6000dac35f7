import type { ByteString, LuaValue } from './value.ts';

/** A script that does not parse; `message` has Lua's form, `user_script:1: … near 'x'`. */
export class LuaSyntaxError extends Error {
  override readonly name = 'LuaSyntaxError';
}

/**
 * A Lua error on its way to the nearest pcall, or to the host. `value` is what was raised;
 * `source` and `line` are where the innermost Lua function stood (line 0: no Lua function).
 */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  readonly value: LuaValue;
  readonly source: ByteString;
  readonly line: number;

  constructor(value: LuaValue, source: ByteString = '', line = 0) {
    super(typeof value === 'string' ? value : `(error object is a ${typeof value} value)`);
    this.value = value;
    this.source = source;
    this.line = line;
  }
}

/** Which of the two allowances of a run was used up. */
export type BudgetKind = 'steps' | 'bytes';

/** A run used up its budget. No script can catch it; it comes at the same step everywhere. */
export class LuaBudgetError extends Error {
  override readonly name = 'LuaBudgetError';
  readonly kind: BudgetKind;

  constructor(kind: BudgetKind) {
    super(`script budget exceeded: ${kind}`);
    this.kind = kind;
  }
}
