import type { Evaluate, EvaluateMany, Execute, Proto, Signal, Suspendable } from './closure.ts';
import { compileCall } from './compile-call.ts';
import { compileSuspendableBlock } from './compile-coroutine.ts';
import { compileExpression, compileList, compileVarargs } from './compile-expression.ts';
import { compileBlock } from './compile-statement.ts';
import type { Compiler } from './compiler.ts';
import type { Block, Expression, FunctionTree } from './syntax-tree.ts';
import type { LuaValue } from './value.ts';

// What a call itself takes of the host's stack besides its syntax tree.
const CALL_HEIGHT = 4;

class ClosureCompiler implements Compiler {
  expression(tree: Expression): Evaluate {
    return compileExpression(this, tree);
  }

  many(tree: Expression): EvaluateMany {
    if (tree.kind === 'call') return compileCall(this, tree);
    if (tree.kind === 'vararg') return compileVarargs();
    if (tree.kind === 'temporary' && tree.isList) {
      const at = tree.index;
      return (frame) => frame.temporaries[at] as LuaValue[];
    }
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
    let suspendable: Suspendable<Signal> | null = null;
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
      coroutineBody: () => {
        if (suspendable === null) suspendable = compileSuspendableBlock(this, tree.body);
        return suspendable;
      },
    };
  }
}

/** Compiles a function tree to closures; the proto holds nothing of any run. */
export function compileTree(tree: FunctionTree): Proto {
  return new ClosureCompiler().proto(tree);
}
