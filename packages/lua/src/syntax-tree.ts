import type { Site } from './frame.ts';
import type { ByteString } from './value.ts';

/** A local variable of one function; `captured` becomes true when a closure uses it. */
export interface Variable {
  readonly name: ByteString;
  readonly slot: number;
  captured: boolean;
}

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | '..'
  | '=='
  | '~='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'and'
  | 'or';

interface Node {
  /** Height of the tree under this node: what evaluating it can need of the host's stack. */
  readonly height: number;
}

export type Expression = Node &
  (
    | { readonly kind: 'constant'; readonly value: undefined | boolean | number | ByteString }
    | { readonly kind: 'vararg' }
    | { readonly kind: 'function'; readonly body: FunctionTree }
    | { readonly kind: 'local'; readonly variable: Variable }
    | { readonly kind: 'upvalue'; readonly index: number; readonly name: ByteString }
    | { readonly kind: 'global'; readonly name: ByteString; readonly site: Site }
    | {
        readonly kind: 'index';
        readonly object: Expression;
        readonly key: Expression;
        readonly site: Site;
      }
    | CallExpression
    | {
        readonly kind: 'binary';
        readonly operator: BinaryOperator;
        readonly left: Expression;
        readonly right: Expression;
        readonly site: Site;
      }
    | {
        readonly kind: 'unary';
        readonly operator: '-' | 'not' | '#';
        readonly operand: Expression;
        readonly site: Site;
      }
    | TableExpression
    | { readonly kind: 'paren'; readonly inner: Expression }
    | TemporaryExpression
  );

/**
 * A value already computed, at `index` of the frame's temporaries. The compiler for coroutines
 * puts it in place of an expression that may yield; error messages still name the original.
 */
export interface TemporaryExpression extends Node {
  readonly kind: 'temporary';
  readonly index: number;
  readonly original: Expression;
  /** All values of a call, as an array. */
  readonly isList: boolean;
}

export interface CallExpression extends Node {
  readonly kind: 'call';
  /** The function, or the object of a method call. */
  readonly target: Expression;
  readonly method: ByteString | null;
  readonly args: readonly Expression[];
  readonly site: Site;
}

export interface TableExpression extends Node {
  readonly kind: 'table';
  /** In source order; a field without a key is positional. */
  readonly fields: readonly { readonly key: Expression | null; readonly value: Expression }[];
  readonly site: Site;
}

export type Statement = Node &
  (
    | {
        readonly kind: 'local';
        readonly variables: readonly Variable[];
        readonly values: readonly Expression[];
      }
    | {
        readonly kind: 'assign';
        readonly targets: readonly Expression[];
        readonly values: readonly Expression[];
      }
    | { readonly kind: 'call'; readonly call: CallExpression }
    | { readonly kind: 'local-function'; readonly variable: Variable; readonly body: FunctionTree }
    | { readonly kind: 'do'; readonly body: Block }
    | {
        readonly kind: 'while';
        readonly condition: Expression;
        readonly body: Block;
        readonly weight: number;
      }
    | {
        readonly kind: 'repeat';
        readonly condition: Expression;
        readonly body: Block;
        readonly weight: number;
      }
    | {
        readonly kind: 'if';
        readonly branches: readonly { readonly condition: Expression; readonly body: Block }[];
        readonly otherwise: Block | null;
      }
    | {
        readonly kind: 'numeric-for';
        readonly variable: Variable;
        readonly start: Expression;
        readonly limit: Expression;
        readonly step: Expression | null;
        readonly body: Block;
        readonly weight: number;
        readonly site: Site;
      }
    | {
        readonly kind: 'generic-for';
        readonly variables: readonly Variable[];
        readonly values: readonly Expression[];
        readonly body: Block;
        readonly weight: number;
        readonly site: Site;
      }
    | { readonly kind: 'return'; readonly values: readonly Expression[] }
    | { readonly kind: 'break' }
  );

export type Block = readonly Statement[];

/** Where a closure finds a captured variable when it is made. */
export type UpvalueSource =
  | { readonly from: 'local'; readonly variable: Variable }
  | { readonly from: 'upvalue'; readonly index: number };

export interface FunctionTree {
  readonly source: ByteString;
  /** Where it begins; 0 for a main chunk. */
  readonly line: number;
  readonly parameters: readonly Variable[];
  readonly isVararg: boolean;
  readonly argVariable: Variable | null;
  readonly usesDots: boolean;
  readonly upvalues: readonly UpvalueSource[];
  readonly body: Block;
  readonly weight: number;
  readonly height: number;
}
