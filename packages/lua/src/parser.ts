import { ExpressionParser } from './expression-parser.ts';
import { FunctionScope } from './scope.ts';
import type { Block, Expression, FunctionTree, Statement, Variable } from './syntax-tree.ts';
import { TokenStream } from './token-stream.ts';
import type { ByteString } from './value.ts';

const BLOCK_ENDS = new Set(['else', 'elseif', 'end', 'until', '<eof>']);

/** Parses a whole chunk; throws LuaSyntaxError with the text C Lua 5.1 gives. */
export function parseChunk(source: ByteString, name: ByteString): FunctionTree {
  return new Parser(source, name).parseMain();
}

class Parser {
  private readonly tokens: TokenStream;
  private readonly expressions: ExpressionParser;
  private readonly name: ByteString;
  private scope: FunctionScope;

  constructor(source: ByteString, name: ByteString) {
    this.name = name;
    this.tokens = new TokenStream(source, name);
    this.scope = new FunctionScope(null, this.tokens.lexer, 0);
    this.scope.isVararg = true;
    this.expressions = new ExpressionParser(this.tokens, this.scope, this);
  }

  parseMain(): FunctionTree {
    const body = this.parseBlock();
    this.tokens.check('<eof>');
    return this.finishFunction([], null, body, 0);
  }

  /** Called for every function after its keyword and name. */
  parseFunctionBody(hasSelf: boolean, line: number): FunctionTree {
    const tokens = this.tokens;
    const outer = this.scope;
    const scope = new FunctionScope(outer, tokens.lexer, line);
    this.scope = scope;
    this.expressions.scope = scope;
    tokens.expect('(');
    if (hasSelf) scope.activate([scope.create('self', 0)]);
    const parameters = this.parseParameters(hasSelf);
    let argVariable: Variable | null = null;
    if (scope.isVararg) {
      argVariable = scope.create('arg', 0);
      scope.activate([argVariable]);
    }
    tokens.expect(')');
    const body = this.parseBlock();
    tokens.expectMatch('end', 'function', line);
    const tree = this.finishFunction(parameters, argVariable, body, line);
    this.scope = outer;
    this.expressions.scope = outer;
    return tree;
  }

  private parseParameters(hasSelf: boolean): Variable[] {
    const tokens = this.tokens;
    const scope = this.scope;
    const parameters: Variable[] = [];
    if (hasSelf) parameters.push((scope.resolve('self') as { variable: Variable }).variable);
    if (tokens.token.type === ')') return parameters;
    do {
      if (tokens.accept('...')) {
        scope.isVararg = true;
        break;
      }
      if (tokens.token.type !== '<name>') throw tokens.error("<name> or '...' expected");
      const parameter = scope.create(tokens.expectName(), 0);
      scope.activate([parameter]);
      parameters.push(parameter);
    } while (tokens.accept(','));
    return parameters;
  }

  private finishFunction(
    parameters: readonly Variable[],
    argVariable: Variable | null,
    body: Block,
    line: number,
  ): FunctionTree {
    const { isVararg, usesDots, upvalues, weight } = this.scope;
    return {
      source: this.name,
      line,
      parameters,
      isVararg,
      argVariable,
      usesDots,
      upvalues,
      body,
      weight: weight + 1,
      height: heightOf(body),
    };
  }

  private parseBlock(): Statement[] {
    const visible = this.scope.activeCount;
    const statements = this.parseStatements();
    this.scope.leaveTo(visible);
    return statements;
  }

  private parseStatements(): Statement[] {
    const tokens = this.tokens;
    const statements: Statement[] = [];
    tokens.enterLevel();
    while (!BLOCK_ENDS.has(tokens.token.type)) {
      const statement = this.parseStatement();
      statements.push(statement);
      this.scope.weight++;
      tokens.accept(';');
      if (statement.kind === 'return' || statement.kind === 'break') break;
    }
    tokens.leaveLevel();
    return statements;
  }

  private parseStatement(): Statement {
    const tokens = this.tokens;
    const line = tokens.line;
    switch (tokens.token.type) {
      case 'if':
        return this.parseIf(line);
      case 'while':
        return this.parseWhile(line);
      case 'do': {
        tokens.advance();
        const body = this.parseBlock();
        tokens.expectMatch('end', 'do', line);
        return { kind: 'do', body, height: heightOf(body) };
      }
      case 'for':
        return this.parseFor(line);
      case 'repeat':
        return this.parseRepeat(line);
      case 'function':
        return this.parseFunctionStatement(line);
      case 'local':
        tokens.advance();
        return tokens.accept('function') ? this.parseLocalFunction() : this.parseLocal();
      case 'return':
        return this.parseReturn();
      case 'break':
        tokens.advance();
        if (this.scope.loopDepth === 0) throw tokens.error('no loop to break');
        return { kind: 'break', height: 1 };
      default:
        return this.parseExpressionStatement();
    }
  }

  private parseIf(line: number): Statement {
    const tokens = this.tokens;
    const branches: { condition: Expression; body: Block }[] = [];
    let height = 0;
    do {
      tokens.advance();
      const condition = this.expressions.parse();
      tokens.expect('then');
      const body = this.parseBlock();
      branches.push({ condition, body });
      height = Math.max(height, condition.height, heightOf(body));
    } while (tokens.token.type === 'elseif');
    const otherwise = tokens.accept('else') ? this.parseBlock() : null;
    tokens.expectMatch('end', 'if', line);
    if (otherwise !== null) height = Math.max(height, heightOf(otherwise));
    return { kind: 'if', branches, otherwise, height: height + 1 };
  }

  /** Runs `parse` as a loop body; its weight is charged per turn, not to the surroundings. */
  private inLoop<T>(parse: () => T): [result: T, weight: number] {
    const scope = this.scope;
    const outside = scope.weight;
    scope.weight = 1;
    scope.loopDepth++;
    const result = parse();
    const weight = scope.weight;
    scope.loopDepth--;
    scope.weight = outside + 1;
    return [result, weight];
  }

  private parseWhile(line: number): Statement {
    const tokens = this.tokens;
    tokens.advance();
    const [{ condition, body }, weight] = this.inLoop(() => {
      const test = this.expressions.parse();
      tokens.expect('do');
      return { condition: test, body: this.parseBlock() };
    });
    tokens.expectMatch('end', 'while', line);
    const height = Math.max(condition.height, heightOf(body)) + 1;
    return { kind: 'while', condition, body, weight, height };
  }

  private parseRepeat(line: number): Statement {
    const tokens = this.tokens;
    tokens.advance();
    const visible = this.scope.activeCount;
    const [{ condition, body }, weight] = this.inLoop(() => {
      const statements = this.parseStatements();
      tokens.expectMatch('until', 'repeat', line);
      // The condition still sees the body's locals.
      return { condition: this.expressions.parse(), body: statements };
    });
    this.scope.leaveTo(visible);
    const height = Math.max(condition.height, heightOf(body)) + 1;
    return { kind: 'repeat', condition, body, weight, height };
  }

  private parseFor(line: number): Statement {
    const tokens = this.tokens;
    tokens.advance();
    const name = tokens.expectName();
    let statement: Statement;
    if (tokens.token.type === '=') statement = this.parseNumericFor(name);
    else if (tokens.token.type === ',' || tokens.token.type === 'in') {
      statement = this.parseGenericFor(name, line);
    } else throw tokens.error("'=' or 'in' expected");
    tokens.expectMatch('end', 'for', line);
    return statement;
  }

  private parseNumericFor(name: ByteString): Statement {
    const tokens = this.tokens;
    tokens.advance();
    const start = this.expressions.parse();
    tokens.expect(',');
    const limit = this.expressions.parse();
    const step = tokens.accept(',') ? this.expressions.parse() : null;
    tokens.expect('do');
    const site = { line: tokens.lastLine };
    const variable = this.scope.create(name, 0);
    const [body, weight] = this.parseLoopBlock([variable]);
    const height = Math.max(start.height, limit.height, step?.height ?? 0, heightOf(body)) + 1;
    return {
      kind: 'numeric-for',
      variable,
      start,
      limit,
      step,
      body,
      weight,
      site,
      height,
    };
  }

  private parseGenericFor(first: ByteString, line: number): Statement {
    const tokens = this.tokens;
    const variables = [this.scope.create(first, 0)];
    while (tokens.accept(',')) {
      variables.push(this.scope.create(tokens.expectName(), variables.length));
    }
    tokens.expect('in');
    const values = this.expressions.parseList();
    tokens.expect('do');
    const [body, weight] = this.parseLoopBlock(variables);
    const height = Math.max(heightOf(body), tallest(values)) + 1;
    const site = { line, name: '(for generator)' };
    return { kind: 'generic-for', variables, values, body, weight, site, height };
  }

  private parseLoopBlock(variables: readonly Variable[]): [body: Block, weight: number] {
    const visible = this.scope.activeCount;
    this.scope.activate(variables);
    const result = this.inLoop(() => this.parseBlock());
    this.scope.leaveTo(visible);
    return result;
  }

  private parseFunctionStatement(line: number): Statement {
    const tokens = this.tokens;
    tokens.advance();
    let target = this.expressions.resolve(tokens.expectName());
    let isMethod = false;
    while (tokens.token.type === '.' || tokens.token.type === ':') {
      isMethod = tokens.token.type === ':';
      tokens.advance();
      const key = this.expressions.constant(tokens.expectName());
      target = this.expressions.makeIndex(target, key);
      if (isMethod) break;
    }
    const body = this.parseFunctionBody(isMethod, line);
    const value: Expression = { kind: 'function', body, height: 1 };
    return { kind: 'assign', targets: [target], values: [value], height: target.height + 1 };
  }

  private parseLocalFunction(): Statement {
    const variable = this.scope.create(this.tokens.expectName(), 0);
    // Visible inside its own body.
    this.scope.activate([variable]);
    const body = this.parseFunctionBody(false, this.tokens.line);
    return { kind: 'local-function', variable, body, height: 2 };
  }

  private parseLocal(): Statement {
    const tokens = this.tokens;
    const variables: Variable[] = [];
    do variables.push(this.scope.create(tokens.expectName(), variables.length));
    while (tokens.accept(','));
    const values = tokens.accept('=') ? this.expressions.parseList() : [];
    this.scope.activate(variables);
    return { kind: 'local', variables, values, height: tallest(values) + 1 };
  }

  private parseReturn(): Statement {
    const tokens = this.tokens;
    tokens.advance();
    const isEmpty = BLOCK_ENDS.has(tokens.token.type) || tokens.token.type === ';';
    const values = isEmpty ? [] : this.expressions.parseList();
    return { kind: 'return', values, height: tallest(values) + 1 };
  }

  private parseExpressionStatement(): Statement {
    const tokens = this.tokens;
    const first = this.expressions.parseSuffixed();
    if (first.kind === 'call') return { kind: 'call', call: first, height: first.height + 1 };
    const targets: Expression[] = [first];
    for (;;) {
      const target = targets.at(-1) as Expression;
      if (!isAssignable(target)) throw tokens.error('syntax error');
      if (!tokens.accept(',')) break;
      if (targets.length >= 200) throw tokens.lexer.error('chunk has too many syntax levels');
      targets.push(this.expressions.parseSuffixed());
    }
    tokens.expect('=');
    const values = this.expressions.parseList();
    const height = Math.max(tallest(targets), tallest(values)) + 1;
    return { kind: 'assign', targets, values, height };
  }
}

function isAssignable(target: Expression): boolean {
  const kind = target.kind;
  return kind === 'local' || kind === 'upvalue' || kind === 'global' || kind === 'index';
}

function tallest(list: readonly Expression[]): number {
  let height = 0;
  for (const { height: each } of list) if (each > height) height = each;
  return height;
}

function heightOf(block: Block): number {
  let height = 0;
  for (const statement of block) if (statement.height > height) height = statement.height;
  return height + 1;
}
