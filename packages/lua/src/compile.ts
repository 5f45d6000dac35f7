import type { Evaluate, EvaluateMany, Execute, Proto } from './closure.ts';
import { compileCall } from './compile-call.ts';
import { compileExpression, compileList, compileVarargs } from './compile-expression.ts';
import { compileBlock } from './compile-statement.ts';
import { type Compiler, isMultiple } from './compiler.ts';
import type { Block, Expression, FunctionTree } from './syntax-tree.ts';

// What a call itself takes of the host's stack besides its syntax tree.
const CALL_HEIGHT = 4;

class ClosureCompiler implements Compiler {
  expression(tree: Expression): Evaluate {
    return compileExpression(this, tree);
  }

  many(tree: Expression): EvaluateMany {
    if (tree.kind === 'call') return compileCall(this, tree);
    if (isMultiple(tree)) return compileVarargs();
    const one = compileExpression(this, tree);
    return (frame) => [one(frame)];
  }

  list(trees: readonly Expression[]): EvaluateMany {
    return compileList(this, trees);
  }

  block(trees: Block): Execute {
    return compileBlock(this, trees);
  }

  proto(tree: FunctionTree): Proto {
    const { argVariable } = tree;
    return {
      source: tree.source,
      parameterCount: tree.parameters.length,
      isVararg: tree.isVararg,
      argSlot: argVariable?.slot ?? -1,
      argNeeded: argVariable !== null && !tree.usesDots,
      argCaptured: argVariable?.captured ?? false,
      capturedParameters: tree.parameters.filter((p) => p.captured).map((p) => p.slot),
      weight: tree.weight,
      depthCost: tree.height + CALL_HEIGHT,
      body: this.block(tree.body),
    };
  }
}

/** Compiles a function tree to closures; the proto holds nothing of any run. */
export function compileTree(tree: FunctionTree): Proto {
  return new ClosureCompiler().proto(tree);
}
