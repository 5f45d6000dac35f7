import { BREAK, type Evaluate, type Execute } from './closure.ts';
import { storeVariable } from './compile-expression.ts';
import type { Compiler } from './compiler.ts';
import type { Frame } from './frame.ts';
import { toNumber } from './operations.ts';
import type { Statement } from './syntax-tree.ts';
import { LuaFunction, type LuaValue } from './value.ts';

type Loop = Extract<Statement, { kind: 'while' | 'repeat' | 'numeric-for' | 'generic-for' }>;
type NumericFor = Extract<Statement, { kind: 'numeric-for' }>;
type GenericFor = Extract<Statement, { kind: 'generic-for' }>;

/** Compiles a loop; every turn is charged the weight of its body. */
export function compileLoop(c: Compiler, tree: Loop): Execute {
  switch (tree.kind) {
    case 'while': {
      const condition = c.expression(tree.condition);
      const body = c.block(tree.body);
      const weight = tree.weight;
      return (frame) => {
        for (;;) {
          frame.state.charge(weight);
          const value = condition(frame);
          if (value === undefined || value === false) return undefined;
          const signal = body(frame);
          if (signal !== undefined) return signal === BREAK ? undefined : signal;
        }
      };
    }
    case 'repeat': {
      const condition = c.expression(tree.condition);
      const body = c.block(tree.body);
      const weight = tree.weight;
      return (frame) => {
        for (;;) {
          frame.state.charge(weight);
          const signal = body(frame);
          if (signal !== undefined) return signal === BREAK ? undefined : signal;
          const value = condition(frame);
          if (value !== undefined && value !== false) return undefined;
        }
      };
    }
    case 'numeric-for':
      return compileNumericFor(c, tree);
    default:
      return compileGenericFor(c, tree);
  }
}

/** The start, limit and step of a numeric for; raises when one is not a number. */
export function compileRange(
  c: Compiler,
  tree: NumericFor,
): (frame: Frame) => [start: number, limit: number, step: number] {
  const parts: Evaluate[] = [c.expression(tree.start), c.expression(tree.limit)];
  if (tree.step !== null) parts.push(c.expression(tree.step));
  return (frame) => {
    const values: LuaValue[] = [];
    for (const part of parts) values.push(part(frame));
    return checkRange(frame, tree, values);
  };
}

const RANGE_PARTS = ['initial value', 'limit', 'step'];

/** Turns the evaluated parts of a numeric for into numbers. */
export function checkRange(
  frame: Frame,
  tree: NumericFor,
  values: LuaValue[],
): [start: number, limit: number, step: number] {
  if (values.length < 3) values.push(1);
  frame.site = tree.site;
  const numbers = values.map((value, i) => {
    const number = toNumber(value);
    if (number === undefined) {
      throw frame.state.error(`'for' ${RANGE_PARTS[i]} must be a number`);
    }
    return number;
  });
  return numbers as [number, number, number];
}

function compileNumericFor(c: Compiler, tree: NumericFor): Execute {
  const range = compileRange(c, tree);
  const body = c.block(tree.body);
  const store = storeVariable(tree.variable);
  const weight = tree.weight;
  return (frame) => {
    const [start, limit, step] = range(frame);
    for (let i = start; step > 0 ? i <= limit : i >= limit; i += step) {
      frame.state.charge(weight);
      store(frame, i);
      const signal = body(frame);
      if (signal !== undefined) return signal === BREAK ? undefined : signal;
    }
    return undefined;
  };
}

function compileGenericFor(c: Compiler, tree: GenericFor): Execute {
  const list = c.list(tree.values);
  const body = c.block(tree.body);
  const stores = tree.variables.map(storeVariable);
  const { weight, site } = tree;
  return (frame) => {
    const state = frame.state;
    let [iterator, subject, control] = list(frame) as [LuaValue, LuaValue, LuaValue];
    frame.site = site;
    for (;;) {
      state.charge(weight);
      const results = iterate(frame, iterator, subject, control);
      control = results[0];
      if (control === undefined) return undefined;
      for (let i = 0; i < stores.length; i++) stores[i]?.(frame, results[i]);
      const signal = body(frame);
      if (signal !== undefined) return signal === BREAK ? undefined : signal;
      frame.site = site;
    }
  };
}

/** One call of a for loop's iterator. `frame.site` is the loop. */
export function iterate(
  frame: Frame,
  iterator: LuaValue,
  subject: LuaValue,
  control: LuaValue,
): LuaValue[] {
  const args = [subject, control];
  if (iterator instanceof LuaFunction) return iterator.call(args, frame.state);
  return frame.state.callable(iterator, args, '').call(args, frame.state);
}
