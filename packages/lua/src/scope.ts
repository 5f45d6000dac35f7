import type { Lexer } from './lexer.ts';
import type { Expression, UpvalueSource, Variable } from './syntax-tree.ts';
import type { ByteString } from './value.ts';

const LOCALS_MAX = 200;
const UPVALUES_MAX = 60;

type Resolution = { kind: 'local'; variable: Variable } | { kind: 'upvalue'; index: number };

/** The names visible while one function is parsed, and the variables it captures. */
export class FunctionScope {
  readonly upvalues: UpvalueSource[] = [];
  isVararg = false;
  usesDots = false;
  /** Nodes seen since the innermost loop or the function began. */
  weight = 0;
  loopDepth = 0;
  readonly parent: FunctionScope | null;
  private readonly lexer: Lexer;
  private readonly line: number;
  private readonly active: Variable[] = [];

  constructor(parent: FunctionScope | null, lexer: Lexer, line: number) {
    this.parent = parent;
    this.lexer = lexer;
    this.line = line;
  }

  /** A new variable, not visible before `activate`. `pending` counts others not yet active. */
  create(name: ByteString, pending: number): Variable {
    const slot = this.active.length + pending;
    if (slot >= LOCALS_MAX) throw this.limitError(LOCALS_MAX, 'local variables');
    return { name, slot, captured: false };
  }

  activate(variables: readonly Variable[]): void {
    this.active.push(...variables);
  }

  get activeCount(): number {
    return this.active.length;
  }

  /** Leaves a block: the variables activated since `count` go out of sight. */
  leaveTo(count: number): void {
    this.active.length = count;
  }

  /** The expression a visible name stands for, or null for a global. */
  resolve(name: ByteString): Expression | null {
    const found = this.find(name);
    if (found === null) return null;
    return found.kind === 'local'
      ? { kind: 'local', variable: found.variable, height: 1 }
      : { kind: 'upvalue', index: found.index, name, height: 1 };
  }

  private find(name: ByteString): Resolution | null {
    for (let i = this.active.length - 1; i >= 0; i--) {
      const variable = this.active[i] as Variable;
      if (variable.name === name) return { kind: 'local', variable };
    }
    const known = this.findUpvalue(name);
    if (known !== null) return known;
    return null;
  }

  private findUpvalue(name: ByteString): Resolution | null {
    const outer = this.parent?.find(name) ?? null;
    if (outer === null) return null;
    let source: UpvalueSource;
    if (outer.kind === 'local') {
      outer.variable.captured = true;
      source = { from: 'local', variable: outer.variable };
    } else source = { from: 'upvalue', index: outer.index };
    const index = this.upvalues.findIndex((known) => isSameSource(known, source));
    if (index >= 0) return { kind: 'upvalue', index };
    if (this.upvalues.length >= UPVALUES_MAX) throw this.limitError(UPVALUES_MAX, 'upvalues');
    this.upvalues.push(source);
    return { kind: 'upvalue', index: this.upvalues.length - 1 };
  }

  private limitError(limit: number, what: string): Error {
    const where = this.line === 0 ? 'main function' : `function at line ${this.line}`;
    return this.lexer.error(`${where} has more than ${limit} ${what}`);
  }
}

function isSameSource(a: UpvalueSource, b: UpvalueSource): boolean {
  if (a.from === 'local') return b.from === 'local' && a.variable === b.variable;
  return b.from === 'upvalue' && a.index === b.index;
}
