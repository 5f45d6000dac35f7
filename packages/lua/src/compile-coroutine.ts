import { BREAK, LuaClosure, type Signal, type Suspendable, TAIL_CALL } from './closure.ts';
import { compilePrepare } from './compile-call.ts';
import { storeVariable } from './compile-expression.ts';
import { compileRange, iterate } from './compile-loop.ts';
import { compileStatement } from './compile-statement.ts';
import type { Compiler } from './compiler.ts';
import { callSuspendable } from './coroutine.ts';
import type { Frame } from './frame.ts';
import { isTruthy } from './operations.ts';
import { mayYield, replaceChildren, statementMayYield } from './suspension.ts';
import type { Block, CallExpression, Expression, Statement } from './syntax-tree.ts';
import type { LuaValue } from './value.ts';

/**
 * Code for use inside coroutines. JavaScript can suspend a function only as a generator, which
 * is slow, so just the parts that contain a call become generators; the operands of any other
 * operation around a call are computed into temporaries, and the operation itself, like every
 * statement without a call, is the code the ordinary compiler makes.
 */
export function compileSuspendableBlock(c: Compiler, block: Block): Suspendable<Signal> {
  const steps = block.map((tree) => compileSuspendableStatement(c, tree));
  return function* (frame) {
    for (const step of steps) {
      const signal = step.direct === null ? yield* step.suspendable(frame) : step.direct(frame);
      if (signal !== undefined) return signal;
    }
    return undefined;
  };
}

/** Code in one of two forms: run at once, or as a generator. */
type Step<T> =
  | { readonly direct: (frame: Frame) => T }
  | { readonly direct: null; readonly suspendable: Suspendable<T> };

function suspend<T>(suspendable: Suspendable<T>): Step<T> {
  return { direct: null, suspendable };
}

function compileSuspendableStatement(c: Compiler, tree: Statement): Step<Signal> {
  if (!statementMayYield(tree)) return { direct: compileStatement(c, tree) };
  switch (tree.kind) {
    case 'do':
      return suspend(compileSuspendableBlock(c, tree.body));
    case 'if':
      return suspend(compileIf(c, tree));
    case 'while':
    case 'repeat':
      return suspend(compileConditionLoop(c, tree));
    case 'numeric-for':
      return suspend(compileNumericFor(c, tree));
    case 'generic-for':
      return suspend(compileGenericFor(c, tree));
    case 'return': {
      const [only] = tree.values;
      if (tree.values.length === 1 && only?.kind === 'call') {
        return suspend(compileTailCall(c, only));
      }
      return suspend(withOperands(c, tree, (rest) => compileStatement(c, rest)));
    }
    case 'call': {
      const call = compileCall(c, tree.call);
      return suspend(function* (frame) {
        yield* call(frame);
        return undefined;
      });
    }
    default:
      return suspend(withOperands(c, tree, (rest) => compileStatement(c, rest)));
  }
}

/** One value. */
function compileOperand(c: Compiler, tree: Expression): Step<LuaValue> {
  if (!mayYield(tree)) return { direct: c.expression(tree) };
  if (tree.kind === 'call') {
    const call = compileCall(c, tree);
    return suspend(function* (frame) {
      return (yield* call(frame))[0];
    });
  }
  if (tree.kind === 'binary' && (tree.operator === 'and' || tree.operator === 'or')) {
    const left = compileOperand(c, tree.left);
    const right = compileOperand(c, tree.right);
    const stopsAt = tree.operator === 'or';
    return suspend(function* (frame) {
      const value = left.direct === null ? yield* left.suspendable(frame) : left.direct(frame);
      if (isTruthy(value) === stopsAt) return value;
      return right.direct === null ? yield* right.suspendable(frame) : right.direct(frame);
    });
  }
  return suspend(withOperands(c, tree, (rest) => c.expression(rest)));
}

/** Computes the operands of `tree` into temporaries, then runs it without them. */
function withOperands<Tree extends Expression | Statement, T>(
  c: Compiler,
  tree: Tree,
  compile: (rest: Tree) => (frame: Frame) => T,
): Suspendable<T> {
  const { rest, children } = replaceChildren(tree);
  const operation = compile(rest as Tree);
  const steps: Step<LuaValue | LuaValue[]>[] = children.map(({ original, isList }) => {
    if (!isList) return compileOperand(c, original);
    if (!mayYield(original)) return { direct: c.many(original) };
    return suspend(compileCall(c, original as CallExpression));
  });
  return function* (frame) {
    const values: (LuaValue | LuaValue[])[] = [];
    for (const step of steps) {
      values.push(step.direct === null ? yield* step.suspendable(frame) : step.direct(frame));
    }
    frame.temporaries = values;
    return operation(frame);
  };
}

function compileCall(c: Compiler, tree: CallExpression): Suspendable<LuaValue[]> {
  const prepare = withOperands<Expression, { target: unknown; values: LuaValue[] }>(
    c,
    tree,
    (rest) => compilePrepare(c, rest as CallExpression),
  ) as Suspendable<ReturnType<ReturnType<typeof compilePrepare>>>;
  return function* (frame) {
    const { target, values } = yield* prepare(frame);
    return yield* callSuspendable(target, values, frame.state);
  };
}

function compileTailCall(c: Compiler, tree: CallExpression): Suspendable<Signal> {
  const prepare = withOperands<Expression, { target: unknown; values: LuaValue[] }>(
    c,
    tree,
    (rest) => compilePrepare(c, rest as CallExpression),
  ) as Suspendable<ReturnType<ReturnType<typeof compilePrepare>>>;
  return function* (frame) {
    const { target, values } = yield* prepare(frame);
    if (!(target instanceof LuaClosure)) {
      return yield* callSuspendable(target, values, frame.state);
    }
    frame.state.tailFunction = target;
    frame.state.tailArguments = values;
    return TAIL_CALL;
  };
}

function compileIf(c: Compiler, tree: Extract<Statement, { kind: 'if' }>): Suspendable<Signal> {
  const otherwise = tree.otherwise === null ? null : compileSuspendableBlock(c, tree.otherwise);
  const branches = tree.branches.map(
    ({ condition, body }) =>
      [compileOperand(c, condition), compileSuspendableBlock(c, body)] as const,
  );
  return function* (frame) {
    for (const [test, body] of branches) {
      const value = test.direct === null ? yield* test.suspendable(frame) : test.direct(frame);
      if (isTruthy(value)) return yield* body(frame);
    }
    return otherwise === null ? undefined : yield* otherwise(frame);
  };
}

function compileConditionLoop(
  c: Compiler,
  tree: Extract<Statement, { kind: 'while' | 'repeat' }>,
): Suspendable<Signal> {
  const test = compileOperand(c, tree.condition);
  const body = compileSuspendableBlock(c, tree.body);
  const { weight } = tree;
  const isWhile = tree.kind === 'while';
  return function* (frame) {
    for (let isFirst = true; ; isFirst = false) {
      // A while tests before each turn, a repeat before each turn but the first.
      if (isWhile || !isFirst) {
        const value = test.direct === null ? yield* test.suspendable(frame) : test.direct(frame);
        if (isTruthy(value) !== isWhile) return undefined;
      }
      frame.state.charge(weight);
      const signal = yield* body(frame);
      if (signal !== undefined) return signal === BREAK ? undefined : signal;
    }
  };
}

function compileNumericFor(
  c: Compiler,
  tree: Extract<Statement, { kind: 'numeric-for' }>,
): Suspendable<Signal> {
  const range = withOperands<Statement, [number, number, number]>(c, tree, (rest) =>
    compileRange(c, rest as typeof tree),
  );
  const body = compileSuspendableBlock(c, tree.body);
  const store = storeVariable(tree.variable);
  const { weight } = tree;
  return function* (frame) {
    const [start, limit, step] = yield* range(frame);
    for (let i = start; step > 0 ? i <= limit : i >= limit; i += step) {
      frame.state.charge(weight);
      store(frame, i);
      const signal = yield* body(frame);
      if (signal !== undefined) return signal === BREAK ? undefined : signal;
    }
    return undefined;
  };
}

function compileGenericFor(
  c: Compiler,
  tree: Extract<Statement, { kind: 'generic-for' }>,
): Suspendable<Signal> {
  const list = withOperands<Statement, LuaValue[]>(c, tree, (rest) =>
    c.list((rest as typeof tree).values),
  );
  const body = compileSuspendableBlock(c, tree.body);
  const stores = tree.variables.map(storeVariable);
  const { weight, site } = tree;
  return function* (frame) {
    const [iterator, subject, first] = yield* list(frame);
    let control: LuaValue = first;
    for (;;) {
      frame.state.charge(weight);
      frame.site = site;
      const results = iterate(frame, iterator, subject, control);
      control = results[0];
      if (control === undefined) return undefined;
      for (let i = 0; i < stores.length; i++) stores[i]?.(frame, results[i]);
      const signal = yield* body(frame);
      if (signal !== undefined) return signal === BREAK ? undefined : signal;
    }
  };
}
