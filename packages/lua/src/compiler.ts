import type { Evaluate, EvaluateMany, Execute, Proto } from './closure.ts';
import type { Block, Expression, FunctionTree } from './syntax-tree.ts';

/** The parts of the compiler as each of its files sees the others. */
export interface Compiler {
  /** One value; a call or `...` is cut to its first. */
  expression(tree: Expression): Evaluate;
  /** All values of a call or `...`; one value of anything else. The array may be shared. */
  many(tree: Expression): EvaluateMany;
  /** A fresh array of the values of a list whose last member may give several. */
  list(trees: readonly Expression[]): EvaluateMany;
  block(trees: Block): Execute;
  proto(tree: FunctionTree): Proto;
}

/** True for the expressions that can give any number of values. */
export function isMultiple(tree: Expression | undefined): boolean {
  if (tree === undefined) return false;
  return (
    tree.kind === 'call' || tree.kind === 'vararg' || (tree.kind === 'temporary' && tree.isList)
  );
}

/** How error messages name an operand, like `local 'x'`; empty when it has no name. */
export function describe(tree: Expression): string {
  switch (tree.kind) {
    case 'local':
      return `local '${tree.variable.name}'`;
    case 'upvalue':
      return `upvalue '${tree.name}'`;
    case 'global':
      return `global '${tree.name}'`;
    case 'index':
      return tree.key.kind === 'constant' && typeof tree.key.value === 'string'
        ? `field '${tree.key.value}'`
        : "field '?'";
    case 'paren':
      return describe(tree.inner);
    case 'temporary':
      return describe(tree.original);
    default:
      return '';
  }
}
