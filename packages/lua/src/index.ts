export { type Chunk, compile, type RunOptions, run } from './chunk.ts';
export { Environment, type EnvironmentOptions } from './environment.ts';
export { type BudgetKind, LuaBudgetError, LuaError, LuaSyntaxError } from './error.ts';
export { type LibraryFunctions, makeLibrary } from './library.ts';
export { numberToString } from './number-text.ts';
export { type Allowance, type Budget, DEFAULT_BUDGET, LuaState } from './state.ts';
export { LuaTable } from './table.ts';
export {
  type ByteString,
  LuaFunction,
  LuaUserdata,
  type LuaValue,
  type NativeBody,
  NativeFunction,
  typeName,
} from './value.ts';
