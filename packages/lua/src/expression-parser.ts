import type { Site } from './frame.ts';
import type { FunctionScope } from './scope.ts';
import type {
  BinaryOperator,
  CallExpression,
  Expression,
  FunctionTree,
  TableExpression,
} from './syntax-tree.ts';
import type { TokenStream } from './token-stream.ts';
import type { ByteString } from './value.ts';

// Operator chains such as a+b+c grow the tree without nesting in the source.
const HEIGHT_MAX = 240;
const UNARY_PRIORITY = 8;

// Left and right binding power; right below left means right associative.
const PRIORITY = new Map<string, readonly [left: number, right: number]>([
  ['or', [1, 1]],
  ['and', [2, 2]],
  ['<', [3, 3]],
  ['>', [3, 3]],
  ['<=', [3, 3]],
  ['>=', [3, 3]],
  ['~=', [3, 3]],
  ['==', [3, 3]],
  ['..', [5, 4]],
  ['+', [6, 6]],
  ['-', [6, 6]],
  ['*', [7, 7]],
  ['/', [7, 7]],
  ['%', [7, 7]],
  ['^', [10, 9]],
]);

/** What an expression may contain that is not an expression: function bodies. */
export interface FunctionParser {
  parseFunctionBody(hasSelf: boolean, line: number): FunctionTree;
}

/** Parses expressions into trees with resolved variables. */
export class ExpressionParser {
  scope: FunctionScope;
  private readonly tokens: TokenStream;
  private readonly functions: FunctionParser;

  constructor(tokens: TokenStream, scope: FunctionScope, functions: FunctionParser) {
    this.tokens = tokens;
    this.scope = scope;
    this.functions = functions;
  }

  parseList(): Expression[] {
    const list = [this.parse()];
    while (this.tokens.accept(',')) list.push(this.parse());
    return list;
  }

  parse(limit = 0): Expression {
    const tokens = this.tokens;
    tokens.enterLevel();
    let left = this.parseOperand();
    for (;;) {
      const operator = tokens.token.type;
      const priority = PRIORITY.get(operator);
      if (priority === undefined || priority[0] <= limit) break;
      tokens.advance();
      const right = this.parse(priority[1]);
      left = {
        kind: 'binary',
        operator: operator as BinaryOperator,
        left,
        right,
        site: { line: tokens.lastLine },
        height: this.grow(left, right),
      };
    }
    tokens.leaveLevel();
    return left;
  }

  /** A name, a parenthesis, and every suffix after it. */
  parseSuffixed(): Expression {
    const tokens = this.tokens;
    let left = this.parsePrimary();
    for (;;) {
      switch (tokens.token.type) {
        case '.': {
          tokens.advance();
          left = this.makeIndex(left, this.constant(tokens.expectName()));
          break;
        }
        case '[': {
          const key = this.parseBracketKey();
          left = this.makeIndex(left, key);
          break;
        }
        case ':': {
          tokens.advance();
          const method = tokens.expectName();
          left = this.parseCall(left, method);
          break;
        }
        case '(':
        case '<string>':
        case '{':
          left = this.parseCall(left, null);
          break;
        default:
          return left;
      }
    }
  }

  makeIndex(object: Expression, key: Expression): Expression {
    const site: Site = { line: this.tokens.lastLine };
    return { kind: 'index', object, key, site, height: this.grow(object, key) };
  }

  constant(value: undefined | boolean | number | ByteString): Expression {
    this.scope.weight++;
    return { kind: 'constant', value, height: 1 };
  }

  /** The expression a name stands for. */
  resolve(name: ByteString): Expression {
    this.scope.weight++;
    const site = { line: this.tokens.lastLine };
    return this.scope.resolve(name) ?? { kind: 'global', name, site, height: 1 };
  }

  private grow(...parts: readonly Expression[]): number {
    return this.growAll(parts);
  }

  private growAll(parts: readonly Expression[]): number {
    let height = 0;
    for (const part of parts) if (part.height > height) height = part.height;
    if (height >= HEIGHT_MAX) throw this.tokens.tooDeep();
    this.scope.weight++;
    return height + 1;
  }

  private parsePrimary(): Expression {
    const tokens = this.tokens;
    if (tokens.token.type === '<name>') return this.resolve(tokens.expectName());
    if (tokens.token.type === '(') {
      const line = tokens.line;
      tokens.advance();
      const inner = this.parse();
      tokens.expectMatch(')', '(', line);
      if (inner.kind !== 'call' && inner.kind !== 'vararg') {
        // The parentheses only keep it from being an assignment target.
        return { kind: 'paren', inner, height: inner.height };
      }
      return { kind: 'paren', inner, height: this.grow(inner) };
    }
    throw tokens.error('unexpected symbol');
  }

  private parseBracketKey(): Expression {
    this.tokens.advance();
    const key = this.parse();
    this.tokens.expect(']');
    return key;
  }

  private parseOperand(): Expression {
    const tokens = this.tokens;
    const token = tokens.token;
    switch (token.type) {
      case '-':
      case 'not':
      case '#':
        return this.parseUnary(token.type);
      case '<number>':
        tokens.advance();
        return this.constant(token.number);
      case '<string>':
        tokens.advance();
        return this.constant(token.text);
      case 'nil':
        tokens.advance();
        return this.constant(undefined);
      case 'true':
      case 'false':
        tokens.advance();
        return this.constant(token.type === 'true');
      case '...':
        if (!this.scope.isVararg) {
          throw tokens.error("cannot use '...' outside a vararg function");
        }
        this.scope.usesDots = true;
        tokens.advance();
        this.scope.weight++;
        return { kind: 'vararg', height: 1 };
      case '{':
        return this.parseTable();
      case 'function': {
        tokens.advance();
        const body = this.functions.parseFunctionBody(false, tokens.line);
        this.scope.weight += 2;
        return { kind: 'function', body, height: 1 };
      }
      default:
        return this.parseSuffixed();
    }
  }

  private parseUnary(operator: '-' | 'not' | '#'): Expression {
    const tokens = this.tokens;
    tokens.advance();
    const operand = this.parse(UNARY_PRIORITY);
    if (operator === '-' && operand.kind === 'constant' && typeof operand.value === 'number') {
      return { ...operand, value: -operand.value };
    }
    const site = { line: tokens.lastLine };
    return { kind: 'unary', operator, operand, site, height: this.grow(operand) };
  }

  private parseCall(target: Expression, method: ByteString | null): CallExpression {
    const tokens = this.tokens;
    const line = tokens.line;
    const args = this.parseArguments(line);
    const name = method ?? calleeName(target);
    const site: Site = { line, name, isMethod: method !== null };
    return {
      kind: 'call',
      target,
      method,
      args,
      site,
      height: this.growAll([target, ...args]) + 1,
    };
  }

  private parseArguments(line: number): Expression[] {
    const tokens = this.tokens;
    const token = tokens.token;
    if (token.type === '<string>') {
      tokens.advance();
      return [this.constant(token.text)];
    }
    if (token.type === '{') return [this.parseTable()];
    if (token.type !== '(') throw tokens.error('function arguments expected');
    if (line !== tokens.lastLine) {
      throw tokens.error('ambiguous syntax (function call x new statement)');
    }
    tokens.advance();
    const args = tokens.token.type === ')' ? [] : this.parseList();
    tokens.expectMatch(')', '(', line);
    return args;
  }

  private parseTable(): TableExpression {
    const tokens = this.tokens;
    const line = tokens.line;
    const fields: { key: Expression | null; value: Expression }[] = [];
    const parts: Expression[] = [];
    tokens.expect('{');
    while (tokens.token.type !== '}') {
      let key: Expression | null = null;
      if (tokens.token.type === '[') key = this.parseBracketKey();
      else if (tokens.token.type === '<name>' && tokens.lookahead().type === '=') {
        key = this.constant(tokens.expectName());
      }
      if (key !== null) tokens.expect('=');
      const value = this.parse();
      fields.push({ key, value });
      if (key !== null) parts.push(key);
      parts.push(value);
      if (!tokens.accept(',') && !tokens.accept(';')) break;
    }
    tokens.expectMatch('}', '{', line);
    const site = { line };
    let height = 0;
    for (const part of parts) height = Math.max(height, this.grow(part));
    return { kind: 'table', fields, site, height: height + 1 };
  }
}

/** How messages name a called value; undefined when it has no name. */
function calleeName(target: Expression): ByteString | undefined {
  switch (target.kind) {
    case 'local':
      return target.variable.name;
    case 'upvalue':
    case 'global':
      return target.name;
    case 'index':
      return target.key.kind === 'constant' && typeof target.key.value === 'string'
        ? target.key.value
        : '?';
    default:
      return undefined;
  }
}
