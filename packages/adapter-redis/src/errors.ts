import {
  type ByteString,
  LIMITS,
  type LockstepError,
  toByteString,
  utf8Bytes,
} from '@lockstep/model';
import { type ErrorReply, error } from './reply.ts';

/** A refusal on its way to the client as an error reply; thrown before the first write. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly reply: ErrorReply;

  constructor(text: ByteString) {
    super(text);
    this.reply = error(text);
  }
}

/** Texts as Redis 7.0.15 words them; clients switch on them. */
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const SYNTAX_ERROR = 'ERR syntax error';
export const NO_SUCH_KEY = 'ERR no such key';
export const NO_AUTH = 'NOAUTH Authentication required.';
export const NO_SCRIPT = 'NOSCRIPT No matching script. Please use EVAL.';
export const OVERFLOW = 'ERR increment or decrement would overflow';
export const DB_OUT_OF_RANGE = 'ERR DB index is out of range';
export const OVER_BUDGET = 'ERR the transaction exceeds its budget and was undone';

const UNKNOWN_ARGS_BYTES_MAX = 128;

/** `name` as typed; arguments are shown until about 128 bytes are used up. */
export function unknownCommand(argv: readonly ByteString[]): ErrorReply {
  let shown = '';
  for (let i = 1; i < argv.length && shown.length < UNKNOWN_ARGS_BYTES_MAX; i++) {
    shown += `'${untilNul(argv[i]!).slice(0, UNKNOWN_ARGS_BYTES_MAX - shown.length)}' `;
  }
  const name = untilNul(argv[0]!).slice(0, UNKNOWN_ARGS_BYTES_MAX);
  return error(`ERR unknown command '${name}', with args beginning with: ${shown}`);
}

export function unknownSubcommand(container: ByteString, typed: ByteString): ErrorReply {
  const shown = untilNul(typed).slice(0, UNKNOWN_ARGS_BYTES_MAX);
  return error(`ERR unknown subcommand '${shown}'. Try ${container.toUpperCase()} HELP.`);
}

export function wrongArity(name: ByteString): ErrorReply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

export function tooLarge(sizeBytes: number): ErrorReply {
  const limit = LIMITS.commandBytesMaxRedis;
  return error(`ERR command of ${sizeBytes} bytes exceeds the limit of ${limit} bytes`);
}

export function invalidExpire(name: ByteString): ByteString {
  return `ERR invalid expire time in '${name}' command`;
}

/** What a client may learn of an operating error; undefined: close the connection (design §4). */
export function replyOf(failure: LockstepError): ErrorReply | undefined {
  switch (failure.code) {
    case 'UNKNOWN_OUTCOME':
    case 'STOPPING':
      return undefined;
    case 'NO_LEADER':
      return error('CLUSTERDOWN No leader');
    case 'NOT_READY':
      return error('LOADING Lockstep is loading the dataset in memory');
    case 'OVERLOADED':
      return error(`TRYAGAIN ${asBytes(failure.message)}`);
    case 'NO_SPACE':
      return error("OOM command not allowed when used memory > 'maxmemory'.");
    case 'BUDGET_EXCEEDED':
      return error(OVER_BUDGET);
    default:
      return error(`ERR ${asBytes(failure.message)}`);
  }
}

function asBytes(text: string): ByteString {
  return toByteString(utf8Bytes(text));
}

function untilNul(text: ByteString): ByteString {
  const at = text.indexOf('\0');
  return at < 0 ? text : text.slice(0, at);
}
