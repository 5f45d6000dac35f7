import { type EvaluateMany, type Execute, LuaClosure, TAIL_CALL } from './closure.ts';
import { type Compiler, describe } from './compiler.ts';
import type { Frame } from './frame.ts';
import { index } from './operations.ts';
import type { CallExpression } from './syntax-tree.ts';
import { LuaTable } from './table.ts';
import { LuaFunction, type LuaValue } from './value.ts';

/** A call about to happen: the function found, its arguments evaluated. */
export interface PreparedCall {
  readonly target: LuaFunction;
  readonly values: LuaValue[];
}

/** Compiles a call to all its results. */
export function compileCall(c: Compiler, tree: CallExpression): EvaluateMany {
  const { site } = tree;
  const args = c.list(tree.args);
  if (tree.method !== null) {
    const find = compileMethod(c, tree, tree.method);
    const name = `method '${tree.method}'`;
    return (frame) => {
      const values: LuaValue[] = [undefined];
      const target = find(frame, values);
      for (const value of args(frame)) values.push(value);
      frame.site = site;
      if (target instanceof LuaFunction) return target.call(values, frame.state);
      return frame.state.callable(target, values, name).call(values, frame.state);
    };
  }
  const callee = c.expression(tree.target);
  const name = describe(tree.target);
  return (frame) => {
    const target = callee(frame);
    const values = args(frame);
    frame.site = site;
    if (target instanceof LuaFunction) return target.call(values, frame.state);
    return frame.state.callable(target, values, name).call(values, frame.state);
  };
}

/** Finds the method on the object and puts the object into `values[0]`. */
export function compileMethod(
  c: Compiler,
  tree: CallExpression,
  method: string,
): (frame: Frame, values: LuaValue[]) => LuaValue {
  const object = c.expression(tree.target);
  const description = describe(tree.target);
  return (frame, values) => {
    const self = object(frame);
    values[0] = self;
    if (self instanceof LuaTable && self.metatable === null) return self.getString(method);
    frame.site = tree.site;
    return index(frame.state, self, method, description);
  };
}

/** Compiles everything of a call but the call itself; `frame.site` is left at it. */
export function compilePrepare(c: Compiler, tree: CallExpression): (frame: Frame) => PreparedCall {
  const { site, method } = tree;
  const args = c.list(tree.args);
  const find = method === null ? null : compileMethod(c, tree, method);
  const callee = method === null ? c.expression(tree.target) : null;
  const name = method === null ? describe(tree.target) : `method '${method}'`;
  return (frame) => {
    let target: LuaValue;
    let values: LuaValue[];
    if (find !== null) {
      values = [undefined];
      target = find(frame, values);
      for (const value of args(frame)) values.push(value);
    } else {
      target = callee?.(frame);
      values = args(frame);
    }
    frame.site = site;
    if (target instanceof LuaFunction) return { target, values };
    return { target: frame.state.callable(target, values, name), values };
  };
}

/**
 * Compiles `return f(…)`. A Lua callee is left to whoever called this function, so that its
 * frame is gone first; a library function runs here, where it still has a line number.
 */
export function compileTailCall(c: Compiler, tree: CallExpression): Execute {
  const prepare = compilePrepare(c, tree);
  return (frame) => {
    const { target, values } = prepare(frame);
    const state = frame.state;
    if (!(target instanceof LuaClosure)) return target.call(values, state);
    state.tailFunction = target;
    state.tailArguments = values;
    return TAIL_CALL;
  };
}
