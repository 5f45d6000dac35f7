import { isMultiple } from './compiler.ts';
import type { Block, Expression, Statement, TemporaryExpression } from './syntax-tree.ts';

/** Whether evaluating an expression may yield: whether it contains a call of its own function. */
export function mayYield(tree: Expression): boolean {
  return tree.kind === 'call' || operandsOf(tree).some(mayYield);
}

/** Whether a statement may yield. */
export function statementMayYield(tree: Statement): boolean {
  return operandsOf(tree).some(mayYield) || bodiesOf(tree).some((b) => b.some(statementMayYield));
}

function bodiesOf(tree: Statement): readonly Block[] {
  switch (tree.kind) {
    case 'do':
    case 'while':
    case 'repeat':
    case 'numeric-for':
    case 'generic-for':
      return [tree.body];
    case 'if': {
      const bodies = tree.branches.map((branch) => branch.body);
      return tree.otherwise === null ? bodies : [...bodies, tree.otherwise];
    }
    default:
      return [];
  }
}

function operandsOf(tree: Expression | Statement): readonly Expression[] {
  if (tree.kind === 'if') return tree.branches.map((branch) => branch.condition);
  if (tree.kind === 'while' || tree.kind === 'repeat') return [tree.condition];
  const operands: Expression[] = [];
  mapOperands(tree, (operand) => {
    operands.push(operand);
    return operand;
  });
  return operands;
}

/** A tree whose operands are temporaries, and what to compute into each, in order. */
export interface Replaced {
  readonly rest: Expression | Statement;
  readonly children: readonly TemporaryExpression[];
}

/** Takes the operands out of a tree. The last of a list of values keeps all its values. */
export function replaceChildren(tree: Expression | Statement): Replaced {
  const children: TemporaryExpression[] = [];
  const rest = mapOperands(tree, (original, isLast) => {
    const isList = isLast === true && isMultiple(original);
    const child: TemporaryExpression = {
      kind: 'temporary',
      index: children.length,
      original,
      isList,
      height: 1,
    };
    children.push(child);
    return child;
  });
  return { rest, children };
}

type MapOperand = (operand: Expression, isLastOfList?: boolean) => Expression;

function mapList(list: readonly Expression[], map: MapOperand): readonly Expression[] {
  return list.map((operand, i) => map(operand, i === list.length - 1));
}

/** Copies a node with each operand replaced, in the order of evaluation. */
function mapOperands(tree: Expression | Statement, map: MapOperand): Expression | Statement {
  switch (tree.kind) {
    case 'index': {
      const object = map(tree.object);
      // A constant key names the field in error messages: it stays.
      return { ...tree, object, key: mapKey(tree.key, map) };
    }
    case 'call':
      // Shared by expression and statement; the statement has `call`, the expression `target`.
      if ('call' in tree) return { ...tree, call: map(tree.call) as typeof tree.call };
      return { ...tree, target: map(tree.target), args: mapList(tree.args, map) };
    case 'binary': {
      const left = map(tree.left);
      return { ...tree, left, right: map(tree.right) };
    }
    case 'unary':
      return { ...tree, operand: map(tree.operand) };
    case 'paren':
      return { ...tree, inner: map(tree.inner) };
    case 'table': {
      const last = tree.fields.length - 1;
      const fields = tree.fields.map(({ key, value }, i) => {
        const mappedKey = key === null ? null : map(key);
        return { key: mappedKey, value: map(value, key === null && i === last) };
      });
      return { ...tree, fields };
    }
    case 'local':
      if ('variable' in tree) return tree;
      return { ...tree, values: mapList(tree.values, map) };
    case 'return':
    case 'generic-for':
      return { ...tree, values: mapList(tree.values, map) };
    case 'assign': {
      const targets = tree.targets.map((target) => {
        if (target.kind !== 'index') return target;
        const object = map(target.object);
        return { ...target, object, key: mapKey(target.key, map) };
      });
      return { ...tree, targets, values: mapList(tree.values, map) };
    }
    case 'numeric-for': {
      const start = map(tree.start);
      const limit = map(tree.limit);
      return { ...tree, start, limit, step: tree.step === null ? null : map(tree.step) };
    }
    default:
      return tree;
  }
}

function mapKey(key: Expression, map: MapOperand): Expression {
  return key.kind === 'constant' ? key : map(key);
}
