import type { LuaSyntaxError } from './error.ts';
import { Lexer, type Token } from './lexer.ts';
import type { ByteString } from './value.ts';

// LUAI_MAXCCALLS: how deep blocks and expressions may nest.
const SYNTAX_LEVELS_MAX = 200;

/** The parser's view of the source: one token, one more on demand, and its ways to complain. */
export class TokenStream {
  readonly lexer: Lexer;
  token: Token;
  /** Line of the token before the current one: where an instruction just parsed belongs. */
  lastLine = 1;
  private ahead: Token | null = null;
  private levels = 0;

  constructor(source: ByteString, name: ByteString) {
    this.lexer = new Lexer(source, name);
    this.token = this.lexer.next();
  }

  get line(): number {
    return this.lexer.line;
  }

  advance(): void {
    this.lastLine = this.lexer.line;
    if (this.ahead !== null) {
      this.token = this.ahead;
      this.ahead = null;
    } else this.token = this.lexer.next();
  }

  lookahead(): Token {
    if (this.ahead === null) this.ahead = this.lexer.next();
    return this.ahead;
  }

  accept(type: string): boolean {
    if (this.token.type !== type) return false;
    this.advance();
    return true;
  }

  check(type: string): void {
    if (this.token.type !== type) throw this.error(`'${type}' expected`);
  }

  expect(type: string): void {
    this.check(type);
    this.advance();
  }

  /** Expects the token that closes `opener` of line `line`. */
  expectMatch(type: string, opener: string, line: number): void {
    if (this.accept(type)) return;
    if (line === this.line) throw this.error(`'${type}' expected`);
    throw this.error(`'${type}' expected (to close '${opener}' at line ${line})`);
  }

  expectName(): ByteString {
    this.check('<name>');
    const name = this.token.text;
    this.advance();
    return name;
  }

  error(message: string): LuaSyntaxError {
    return this.lexer.error(message, this.token.raw);
  }

  enterLevel(): void {
    if (++this.levels > SYNTAX_LEVELS_MAX) throw this.tooDeep();
  }

  leaveLevel(): void {
    this.levels--;
  }

  tooDeep(): LuaSyntaxError {
    return this.lexer.error('chunk has too many syntax levels');
  }
}
