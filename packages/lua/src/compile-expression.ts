import { type Evaluate, type EvaluateMany, LuaClosure, type Proto } from './closure.ts';
import { compileBinary, compileUnary } from './compile-operator.ts';
import { type Compiler, describe, isMultiple } from './compiler.ts';
import { Cell, type Frame } from './frame.ts';
import { index, rawSet, SLOT_BYTES, TABLE_BYTES } from './operations.ts';
import type { Expression, FunctionTree, TableExpression } from './syntax-tree.ts';
import { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

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
      for (const value of tail(frame)) values.push(value);
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
  const site = tree.site;
  const positional = c.list(tree.positional);
  const keyed = tree.keyed.map(({ key, value }) => [c.expression(key), c.expression(value)]);
  if (tree.positional.length === 0 && keyed.length === 0) {
    return (frame) => {
      frame.state.allocate(TABLE_BYTES);
      return new LuaTable();
    };
  }
  return (frame) => {
    const state = frame.state;
    const table = new LuaTable();
    frame.site = site;
    for (const [key, value] of keyed as [Evaluate, Evaluate][]) {
      rawSet(state, table, key(frame), value(frame));
      frame.site = site;
    }
    const values = positional(frame);
    state.allocate(TABLE_BYTES + values.length * SLOT_BYTES);
    placePositional(table, values);
    return table;
  };
}

// Positional values come after keyed ones of the same key, as in C Lua's bulk store.
function placePositional(table: LuaTable, values: LuaValue[]): void {
  if (table.slotCount === 0) {
    table.array = values;
    return;
  }
  for (let i = 1; i <= values.length; i++) table.set(i, values[i - 1]);
  if (values.length > 0 && table.array.length === 0) table.array = values;
}

/** Compiles the making of a closure; the function's own code is compiled on first use. */
export function compileFunction(c: Compiler, tree: FunctionTree): (frame: Frame) => LuaClosure {
  const sources = tree.upvalues.map((source) =>
    source.from === 'local' ? source.variable.slot : -1 - source.index,
  );
  let proto: Proto | null = null;
  return (frame) => {
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
