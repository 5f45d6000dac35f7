import { BREAK, type Evaluate, type Execute, type Signal } from './closure.ts';
import { compileTailCall } from './compile-call.ts';
import { compileFunction, storeVariable } from './compile-expression.ts';
import { compileLoop } from './compile-loop.ts';
import { type Compiler, describe } from './compiler.ts';
import type { Cell, Frame } from './frame.ts';
import { setIndex } from './operations.ts';
import type { Block, Expression, Statement } from './syntax-tree.ts';
import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

const NO_VALUES: LuaValue[] = [];

/** Compiles a block to one function that stops at the first signal. */
export function compileBlock(c: Compiler, block: Block): Execute {
  const steps = block.map((statement) => compileStatement(c, statement));
  const [a, b, d] = steps as [Execute, Execute, Execute];
  switch (steps.length) {
    case 0:
      return () => undefined;
    case 1:
      return a;
    case 2:
      return (frame) => a(frame) ?? b(frame);
    case 3:
      return (frame) => a(frame) ?? b(frame) ?? d(frame);
    default:
      return (frame) => {
        for (const step of steps) {
          const signal = step(frame);
          if (signal !== undefined) return signal;
        }
        return undefined;
      };
  }
}

/** Compiles one statement. */
export function compileStatement(c: Compiler, tree: Statement): Execute {
  switch (tree.kind) {
    case 'local':
      return compileLocal(c, tree);
    case 'assign':
      return compileAssign(c, tree);
    case 'call': {
      const call = c.many(tree.call);
      return (frame) => {
        call(frame);
        return undefined;
      };
    }
    case 'local-function': {
      const make = compileFunction(c, tree.body);
      const store = storeVariable(tree.variable);
      const { slot, captured } = tree.variable;
      return (frame) => {
        // The cell comes first: the function refers to itself through it.
        store(frame, undefined);
        const closure = make(frame);
        if (captured) (frame.slots[slot] as Cell).value = closure;
        else frame.slots[slot] = closure;
        return undefined;
      };
    }
    case 'do':
      return c.block(tree.body);
    case 'if':
      return compileIf(c, tree);
    case 'return':
      return compileReturn(c, tree.values);
    case 'break':
      return () => BREAK;
    default:
      return compileLoop(c, tree);
  }
}

function compileIf(c: Compiler, tree: Extract<Statement, { kind: 'if' }>): Execute {
  const otherwise = tree.otherwise === null ? null : c.block(tree.otherwise);
  const branches = tree.branches.map(
    ({ condition, body }) => [c.expression(condition), c.block(body)] as const,
  );
  const [first] = branches;
  if (branches.length === 1 && first !== undefined) {
    const [test, body] = first;
    return (frame) => {
      const value = test(frame);
      if (value !== undefined && value !== false) return body(frame);
      return otherwise === null ? undefined : otherwise(frame);
    };
  }
  return (frame) => {
    for (const [test, body] of branches) {
      const value = test(frame);
      if (value !== undefined && value !== false) return body(frame);
    }
    return otherwise === null ? undefined : otherwise(frame);
  };
}

function compileReturn(c: Compiler, values: readonly Expression[]): Execute {
  const [only] = values;
  if (only === undefined) return () => NO_VALUES;
  if (values.length === 1 && only.kind === 'call') {
    return compileTailCall(c, only);
  }
  return c.list(values) as (frame: Frame) => Signal;
}

function compileLocal(c: Compiler, tree: Extract<Statement, { kind: 'local' }>): Execute {
  const stores = tree.variables.map(storeVariable);
  const [store] = stores;
  const [value] = tree.values;
  if (stores.length === 1 && store !== undefined && tree.values.length <= 1) {
    const evaluate: Evaluate = value === undefined ? () => undefined : c.expression(value);
    return (frame) => {
      store(frame, evaluate(frame));
      return undefined;
    };
  }
  const list = c.list(tree.values);
  return (frame) => {
    const values = list(frame);
    for (let i = 0; i < stores.length; i++) stores[i]?.(frame, values[i]);
    return undefined;
  };
}

type Store = (frame: Frame, value: LuaValue, object: LuaValue, key: LuaValue) => void;

/** How to assign to a target: what to evaluate beforehand, and the store itself. */
interface Target {
  readonly object: Evaluate | null;
  readonly key: Evaluate | null;
  readonly store: Store;
}

function compileTarget(c: Compiler, tree: Expression): Target {
  switch (tree.kind) {
    case 'local': {
      const { slot, captured } = tree.variable;
      const store: Store = captured
        ? (frame, value) => {
            (frame.slots[slot] as Cell).value = value;
          }
        : (frame, value) => {
            frame.slots[slot] = value;
          };
      return { object: null, key: null, store };
    }
    case 'upvalue': {
      const at = tree.index;
      const store: Store = (frame, value) => {
        (frame.upvalues[at] as Cell).value = value;
      };
      return { object: null, key: null, store };
    }
    case 'global': {
      const { name, site } = tree;
      const store: Store = (frame, value) => {
        frame.site = site;
        setIndex(frame.state, frame.closure?.environment, name, value, '');
      };
      return { object: null, key: null, store };
    }
    case 'index': {
      const { site } = tree;
      const description = describe(tree.object);
      const store: Store = (frame, value, object, key) => {
        frame.site = site;
        setIndex(frame.state, object, key, value, description);
      };
      return { object: c.expression(tree.object), key: c.expression(tree.key), store };
    }
    default:
      throw new Error(`not assignable: ${tree.kind}`);
  }
}

function compileAssign(c: Compiler, tree: Extract<Statement, { kind: 'assign' }>): Execute {
  const targets = tree.targets.map((target) => compileTarget(c, target));
  const [target] = targets;
  const [value] = tree.values;
  if (targets.length === 1 && target !== undefined && tree.values.length === 1) {
    return compileSingleAssign(target, c.expression(value as Expression));
  }
  const list = c.list(tree.values);
  return (frame) => {
    const objects = targets.map(({ object }) => object?.(frame));
    const keys = targets.map(({ key }) => key?.(frame));
    const values = list(frame);
    // C Lua assigns from the right.
    for (let i = targets.length - 1; i >= 0; i--) {
      targets[i]?.store(frame, values[i], objects[i], keys[i]);
    }
    return undefined;
  };
}

function compileSingleAssign(target: Target, evaluate: Evaluate): Execute {
  const { object, key, store } = target;
  if (object === null || key === null) {
    return (frame) => {
      store(frame, evaluate(frame), undefined, undefined);
      return undefined;
    };
  }
  return (frame) => {
    const into = object(frame);
    const at = key(frame);
    const value = evaluate(frame);
    // Overwriting an array element needs none of the checks.
    if (typeof at === 'number' && into instanceof LuaTable && !into.readonly) {
      const array = into.array;
      if (at > 0 && at <= array.length && array[at - 1] !== undefined) {
        array[at - 1] = value;
        return undefined;
      }
    }
    store(frame, value, into, at);
    return undefined;
  };
}
