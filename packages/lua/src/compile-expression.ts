import { type Evaluate, type EvaluateMany, LuaClosure, type Proto } from './closure.ts';
import { compileBinary, compileUnary } from './compile-operator.ts';
import { type Compiler, describe, isMultiple } from './compiler.ts';
import { Cell, type Frame } from './frame.ts';
import { index, rawSet, SLOT_BYTES, TABLE_BYTES } from './operations.ts';
import type { Expression, FunctionTree, TableExpression } from './syntax-tree.ts';
import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

// Stack the compiler takes for each level of a function's tree, in the units of LuaState.
const COMPILE_DEPTH = 3;

const NO_VALUES: LuaValue[] = [];

/** Compiles an expression that gives one value. Calls are compiled by `compile-call.ts`. */
export function compileExpression(c: Compiler, tree: Expression): Evaluate {
  switch (tree.kind) {
    case 'constant': {
      const value = tree.value;
      return () => value;
    }
    case 'vararg':
      return (frame) => frame.varargs?.[0];
    case 'function':
      return compileFunction(c, tree.body);
    case 'local': {
      const { slot, captured } = tree.variable;
      if (captured) return (frame) => (frame.slots[slot] as Cell).value;
      return (frame) => frame.slots[slot] as LuaValue;
    }
    case 'upvalue': {
      const at = tree.index;
      return (frame) => (frame.upvalues[at] as Cell).value;
    }
    case 'global':
      return compileGlobal(tree);
    case 'index':
      return compileIndex(c, tree);
    case 'call': {
      const many = c.many(tree);
      return (frame) => many(frame)[0];
    }
    case 'binary':
      return compileBinary(c, tree);
    case 'unary':
      return compileUnary(c, tree);
    case 'table':
      return compileTable(c, tree);
    case 'paren':
      return c.expression(tree.inner);
    case 'temporary': {
      const at = tree.index;
      if (tree.isList) return (frame) => (frame.temporaries[at] as LuaValue[])[0];
      return (frame) => frame.temporaries[at] as LuaValue;
    }
  }
}

/** Compiles a list to a fresh array; the last expression gives all its values. */
export function compileList(c: Compiler, trees: readonly Expression[]): EvaluateMany {
  const last = trees.at(-1);
  if (last === undefined) return () => [];
  if (isMultiple(last)) {
    const heads = trees.slice(0, -1).map((tree) => c.expression(tree));
    const tail = c.many(last);
    return (frame) => {
      const values: LuaValue[] = [];
      for (const head of heads) values.push(head(frame));
      const rest = tail(frame);
      frame.state.charge(rest.length >> 2);
      for (const value of rest) values.push(value);
      return values;
    };
  }
  const parts = trees.map((tree) => c.expression(tree));
  const [a, b, d] = parts as [Evaluate, Evaluate, Evaluate];
  switch (parts.length) {
    case 1:
      return (frame) => [a(frame)];
    case 2:
      return (frame) => [a(frame), b(frame)];
    case 3:
      return (frame) => [a(frame), b(frame), d(frame)];
    default:
      return (frame) => {
        const values: LuaValue[] = [];
        for (const part of parts) values.push(part(frame));
        return values;
      };
  }
}

/** All values of `...`, shared with the frame. */
export function compileVarargs(): EvaluateMany {
  return (frame) => {
    const values = frame.varargs ?? NO_VALUES;
    frame.state.charge(values.length);
    return values;
  };
}

function compileGlobal(tree: Extract<Expression, { kind: 'global' }>): Evaluate {
  const { name, site } = tree;
  return (frame) => {
    const environment = frame.closure?.environment as LuaTable;
    const value = environment.getString(name);
    if (value !== undefined || environment.metatable === null) return value;
    frame.site = site;
    return index(frame.state, environment, name, '');
  };
}

function compileIndex(c: Compiler, tree: Extract<Expression, { kind: 'index' }>): Evaluate {
  const object = c.expression(tree.object);
  const site = tree.site;
  const description = describe(tree.object);
  if (tree.key.kind === 'constant' && typeof tree.key.value === 'string') {
    const key = tree.key.value;
    return (frame) => {
      const from = object(frame);
      if (from instanceof LuaTable) {
        const value = from.getString(key);
        if (value !== undefined || from.metatable === null) return value;
      }
      frame.site = site;
      return index(frame.state, from, key, description);
    };
  }
  const key = c.expression(tree.key);
  return (frame) => {
    const from = object(frame);
    const at = key(frame);
    if (typeof at === 'number' && from instanceof LuaTable) {
      const value = from.getNumber(at);
      if (value !== undefined || from.metatable === null) return value;
    }
    frame.site = site;
    return index(frame.state, from, at, description);
  };
}

function compileTable(c: Compiler, tree: TableExpression): Evaluate {
  const { fields } = tree;
  if (fields.length === 0) {
    return (frame) => {
      frame.state.allocate(TABLE_BYTES);
      return new LuaTable();
    };
  }
  if (fields.some(({ key }) => key !== null)) return compileMixedTable(c, tree);
  const list = c.list(fields.map(({ value }) => value));
  return (frame) => {
    const values = list(frame);
    frame.state.allocate(TABLE_BYTES + values.length * SLOT_BYTES);
    return LuaTable.fromArray(values);
  };
}

// Fields are evaluated in source order; only a last positional one gives all its values.
function compileMixedTable(c: Compiler, { fields, site }: TableExpression): Evaluate {
  const last = fields.at(-1);
  const tail = last?.key === null && isMultiple(last.value) ? c.many(last.value) : null;
  const heads = (tail === null ? fields : fields.slice(0, -1)).map(({ key, value }) => ({
    key: key === null ? null : c.expression(key),
    value: c.expression(value),
  }));
  return (frame) => {
    const { state } = frame;
    const table = new LuaTable();
    const values: LuaValue[] = [];
    for (const { key, value } of heads) {
      if (key === null) values.push(value(frame));
      else {
        const at = key(frame);
        const stored = value(frame);
        frame.site = site;
        rawSet(state, table, at, stored);
      }
    }
    if (tail !== null) for (const value of tail(frame)) values.push(value);
    state.allocate(TABLE_BYTES + values.length * SLOT_BYTES);
    placePositional(table, values);
    return table;
  };
}

// Positional values come after keyed ones of the same key, as in C Lua's bulk store.
function placePositional(table: LuaTable, values: LuaValue[]): void {
  if (values.length === 0) return;
  for (const [i] of values.entries()) table.set(i + 1, undefined);
  table.array = values;
  table.absorb();
}

/** Compiles the making of a closure; the function's own code is compiled on first use. */
export function compileFunction(c: Compiler, tree: FunctionTree): (frame: Frame) => LuaClosure {
  const sources = tree.upvalues.map((source) =>
    source.from === 'local' ? source.variable.slot : -1 - source.index,
  );
  let proto: Proto | null = null;
  const site = { line: tree.line };
  const compileDepth = tree.height * COMPILE_DEPTH;
  return (frame) => {
    // Checked on every run, compiled or not: whether it fits must not depend on the cache.
    frame.site = site;
    frame.state.enter(compileDepth);
    frame.state.depth -= compileDepth;
    if (proto === null) proto = c.proto(tree);
    const upvalues: Cell[] = [];
    frame.state.allocate(TABLE_BYTES + sources.length * 8);
    for (const source of sources) {
      upvalues.push(
        source >= 0 ? (frame.slots[source] as Cell) : (frame.upvalues[-1 - source] as Cell),
      );
    }
    const environment = frame.closure?.environment as LuaTable;
    return new LuaClosure(proto, upvalues, environment);
  };
}

/** Stores into a variable slot, making its cell when closures share it. */
export function storeVariable(variable: {
  readonly slot: number;
  readonly captured: boolean;
}): (frame: Frame, value: LuaValue) => void {
  const { slot, captured } = variable;
  if (captured) {
    return (frame, value) => {
      frame.slots[slot] = new Cell(value);
    };
  }
  return (frame, value) => {
    frame.slots[slot] = value;
  };
}
