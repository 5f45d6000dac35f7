import type { Evaluate } from './closure.ts';
import { type Compiler, describe } from './compiler.ts';
import {
  type ArithmeticEvent,
  arithmetic,
  concatenate,
  isEqual,
  isLess,
  isLessOrEqual,
  isTruthy,
  lengthOf,
  modulo,
  negate,
} from './operations.ts';
import { power } from './power.ts';
import type { Expression } from './syntax-tree.ts';
import type { LuaValue } from './value.ts';

type Binary = Extract<Expression, { kind: 'binary' }>;
type Unary = Extract<Expression, { kind: 'unary' }>;

/** Compiles an operator of two operands; `and` and `or` evaluate the second only if needed. */
export function compileBinary(c: Compiler, tree: Binary): Evaluate {
  const left = c.expression(tree.left);
  const right = c.expression(tree.right);
  switch (tree.operator) {
    case 'and':
      return (frame) => {
        const value = left(frame);
        return value === undefined || value === false ? value : right(frame);
      };
    case 'or':
      return (frame) => {
        const value = left(frame);
        return value === undefined || value === false ? right(frame) : value;
      };
    case '..':
      return compileConcat(tree, left, right);
    case '==':
    case '~=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compileComparison(tree, left, right);
    default:
      return compileArithmetic(tree, left, right);
  }
}

function compileConcat(tree: Binary, left: Evaluate, right: Evaluate): Evaluate {
  const { site } = tree;
  const leftName = describe(tree.left);
  const rightName = describe(tree.right);
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    frame.site = site;
    return concatenate(frame.state, a, b, leftName, rightName);
  };
}

function compileComparison(tree: Binary, left: Evaluate, right: Evaluate): Evaluate {
  const { site, operator } = tree;
  switch (operator) {
    case '==':
    case '~=': {
      const wanted = operator === '==';
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number') return (a === b) === wanted;
        frame.site = site;
        return isEqual(frame.state, a, b) === wanted;
      };
    }
    case '<':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a < b;
        frame.site = site;
        return isLess(frame.state, a, b);
      };
    case '<=':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a <= b;
        frame.site = site;
        return isLessOrEqual(frame.state, a, b);
      };
    case '>':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a > b;
        frame.site = site;
        return isLess(frame.state, b, a);
      };
    default:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a >= b;
        frame.site = site;
        return isLessOrEqual(frame.state, b, a);
      };
  }
}

function compileArithmetic(tree: Binary, left: Evaluate, right: Evaluate): Evaluate {
  const slow = slowArithmetic(tree);
  switch (tree.operator) {
    case '+':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a + b;
        frame.site = tree.site;
        return slow(frame.state, '__add', a, b);
      };
    case '-':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a - b;
        frame.site = tree.site;
        return slow(frame.state, '__sub', a, b);
      };
    case '*':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a * b;
        frame.site = tree.site;
        return slow(frame.state, '__mul', a, b);
      };
    case '/':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return a / b;
        frame.site = tree.site;
        return slow(frame.state, '__div', a, b);
      };
    case '%':
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        if (typeof a === 'number' && typeof b === 'number') return modulo(a, b);
        frame.site = tree.site;
        return slow(frame.state, '__mod', a, b);
      };
    default:
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        frame.site = tree.site;
        frame.state.charge(8);
        if (typeof a === 'number' && typeof b === 'number') return power(a, b);
        return slow(frame.state, '__pow', a, b);
      };
  }
}

type Slow = (
  state: Parameters<typeof arithmetic>[0],
  event: ArithmeticEvent,
  a: LuaValue,
  b: LuaValue,
) => LuaValue;

function slowArithmetic(tree: Binary): Slow {
  const leftName = describe(tree.left);
  const rightName = describe(tree.right);
  return (state, event, a, b) => arithmetic(state, event, a, b, leftName, rightName);
}

/** Compiles `-x`, `not x` and `#x`. */
export function compileUnary(c: Compiler, tree: Unary): Evaluate {
  const operand = c.expression(tree.operand);
  const name = describe(tree.operand);
  const site = tree.site;
  switch (tree.operator) {
    case 'not':
      return (frame) => !isTruthy(operand(frame));
    case '-':
      return (frame) => {
        const value = operand(frame);
        if (typeof value === 'number') return -value;
        frame.site = site;
        return negate(frame.state, value, name);
      };
    default:
      return (frame) => {
        const value = operand(frame);
        frame.site = site;
        return lengthOf(frame.state, value, name);
      };
  }
}
