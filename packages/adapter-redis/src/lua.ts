import {
  type ByteString,
  type Chunk,
  compile,
  Environment,
  LuaBudgetError,
  LuaError,
  type LuaState,
  LuaSyntaxError,
  LuaTable,
  type LuaValue,
  makeLibrary,
  run,
} from '@lockstep/lua';
import { invariant } from '@lockstep/model';
import { BudgetExceeded } from '@lockstep/state-machine';
import { type CommandSpec, type Execution, hasFlag } from './command.ts';
import { raisesFence } from './fence.ts';
import { argumentText, luaToReply, replyToLua } from './lua-values.ts';
import { DOOR, type ScriptLogEvent } from './notification.ts';
import { type ErrorReply, error, isError, type Reply } from './reply.ts';
import type { Protocol } from './reply-writer.ts';
import { sha1 } from './sha1.ts';
import { REPORTED_VERSION } from './version.ts';

/** What the functions of `redis` need to know of the run they belong to. */
interface ScriptRun {
  readonly execution: Execution;
  readonly readOnly: boolean;
  protocol: Protocol;
}

export interface Script {
  readonly sha: ByteString;
  readonly chunk: Chunk;
  /** Flag `no-writes` of its first line. */
  readonly readOnly: boolean;
}

const CHUNK_NAME = '@user_script';
const COMPILED_MAX = 1000;
/** A pure function of the text, so that remembering it is invisible. */
const compiled = new Map<ByteString, Script>();

/** Compiles a script, or answers the error EVAL and SCRIPT LOAD give. */
export function compileScript(text: ByteString): Script | ErrorReply {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const head = readShebang(text);
  if ('kind' in head) return head;
  try {
    const { readOnly, body } = head;
    const script = { sha: sha1(text), chunk: compile(body, CHUNK_NAME), readOnly };
    if (compiled.size >= COMPILED_MAX) compiled.clear();
    compiled.set(text, script);
    return script;
  } catch (failure) {
    if (!(failure instanceof LuaSyntaxError)) throw failure;
    return error(`ERR Error compiling script (new function): ${failure.message}`);
  }
}

const FLAGS = ['no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys'];

/** `#!lua flags=a,b` on the first line; the line stays, empty, so that numbers are right. */
function readShebang(text: ByteString): { readOnly: boolean; body: ByteString } | ErrorReply {
  if (!text.startsWith('#!')) return { readOnly: false, body: text };
  const end = text.indexOf('\n');
  if (end < 0) return error('ERR Invalid script shebang');
  const [engine, ...words] = text.slice(0, end).trimEnd().split(' ');
  if (engine !== '#!lua') return error(`ERR Unexpected engine in script shebang: ${engine}`);
  let readOnly = false;
  for (const word of words) {
    if (!word.startsWith('flags=')) return error(`ERR Unknown lua shebang option: ${word}`);
    for (const flag of word.slice(6).split(',')) {
      if (!FLAGS.includes(flag)) return error(`ERR Unexpected flag in script shebang: ${flag}`);
      if (flag === 'no-writes') readOnly = true;
    }
  }
  return { readOnly, body: text.slice(end) };
}

/**
 * Runs a script. Errors are replies in Redis' form; a budget used up undoes the transaction
 * (design §12), so that it leaves as BudgetExceeded.
 */
export function runScript(
  execution: Execution,
  script: Script,
  keys: readonly ByteString[],
  args: readonly ByteString[],
  readOnly: boolean,
): Reply {
  const host: ScriptRun = { execution, readOnly: readOnly || script.readOnly, protocol: 2 };
  const { db, nested, allowance } = execution;
  execution.nested = true;
  try {
    const variables = {
      KEYS: LuaTable.fromArray([...keys]),
      ARGV: LuaTable.fromArray([...args]),
    };
    const [result] = run(script.chunk, { environment, variables, allowance, seed: 0, host });
    return luaToReply(result, host.protocol);
  } catch (failure) {
    if (failure instanceof LuaBudgetError) throw new BudgetExceeded(failure.message);
    if (!(failure instanceof LuaError)) throw failure;
    return uncaught(failure, script.sha);
  } finally {
    execution.db = db;
    execution.nested = nested;
  }
}

function uncaught({ value, source, line }: LuaError, sha: ByteString): ErrorReply {
  const message = errorText(value);
  return error(`${message} script: ${sha}, on @${source || 'user_script'}:${line}.`);
}

function errorText(value: LuaValue): ByteString {
  const err = value instanceof LuaTable ? value.getString('err') : undefined;
  if (typeof err === 'string') return err.startsWith('-') ? err.slice(1) : err;
  return `ERR ${typeof value === 'string' ? value : String(argumentText(value) ?? 'error')}`;
}

function hostOf(state: LuaState): ScriptRun {
  invariant(state.host !== undefined, 'redis.* was called outside of a script run');
  return state.host as ScriptRun;
}

function perform(args: LuaValue[], state: LuaState): Reply {
  const host = hostOf(state);
  if (args.length === 0) {
    return error('ERR Please specify at least one argument for this redis lib call');
  }
  const argv: ByteString[] = [];
  for (const value of args) {
    const text = argumentText(value);
    if (text === undefined) {
      return error('ERR Lua redis lib command arguments must be strings or integers');
    }
    argv.push(text);
  }
  const spec = host.execution.resolve(argv);
  if (isErrorReply(spec)) return unresolved(spec);
  if (spec.run === undefined || hasFlag(spec, 'noscript')) {
    return error('ERR This Redis command is not allowed from script');
  }
  if (host.readOnly && changes(host.execution, spec, argv)) {
    return error('ERR Write commands are not allowed from read-only scripts.');
  }
  const reply = host.execution.perform(spec, argv);
  // The budget counts what a script makes the store hand over.
  state.charge(8 + argv.length);
  return reply;
}

/** A wrapper changes something if it raises a fence itself, or if the command inside does. */
function changes(execution: Execution, spec: CommandSpec, argv: readonly ByteString[]): boolean {
  if (spec.wraps === undefined) return hasFlag(spec, 'write') || hasFlag(spec, 'may_replicate');
  if (raisesFence(argv)) return true;
  const inner = execution.resolve(argv.slice(spec.wraps(argv)));
  return !isErrorReply(inner) && changes(execution, inner, argv.slice(spec.wraps(argv)));
}

function isErrorReply(spec: CommandSpec | ErrorReply): spec is ErrorReply {
  return 'kind' in spec;
}

function unresolved(reply: ErrorReply): ErrorReply {
  if (reply.text.startsWith('ERR wrong number')) {
    return error('ERR Wrong number of args calling Redis command from script');
  }
  if (reply.text.startsWith('ERR unknown subcommand')) return reply;
  return error('ERR Unknown Redis command called from script');
}

function call(args: LuaValue[], state: LuaState): LuaValue[] {
  const reply = perform(args, state);
  const value = replyToLua(reply, hostOf(state).protocol);
  if (isError(reply)) throw state.raise(value);
  return [value];
}

function pcall(args: LuaValue[], state: LuaState): LuaValue[] {
  return [replyToLua(perform(args, state), hostOf(state).protocol)];
}

function singleField(name: 'ok' | 'err') {
  return (args: LuaValue[], state: LuaState): LuaValue[] => {
    const text = args[0];
    if (args.length !== 1 || typeof text !== 'string') {
      return [LuaTable.fromObject({ err: 'ERR wrong number or type of arguments' })];
    }
    state.allocate(text.length);
    return [LuaTable.fromObject({ [name]: name === 'ok' ? text : errorCode(text) })];
  };
}

/** A text without a code gets `ERR`; a leading dash is not doubled. */
function errorCode(text: ByteString): ByteString {
  const bare = text.startsWith('-') ? text.slice(1) : text;
  return bare.includes(' ') ? bare : `ERR ${bare}`;
}

/** An error of the library itself: unlike Lua's own it names no position. */
function refusal(state: LuaState, text: ByteString): LuaError {
  return state.raise(LuaTable.fromObject({ err: `ERR ${text}` }));
}

function sha1hex(args: LuaValue[], state: LuaState): LuaValue[] {
  const text = argumentText(args[0]);
  if (args.length !== 1 || text === undefined) throw refusal(state, 'wrong number of arguments');
  state.charge(text.length >> 2);
  return [sha1(text)];
}

function log(args: LuaValue[], state: LuaState): LuaValue[] {
  if (args.length < 2) throw refusal(state, 'redis.log() requires two arguments or more.');
  const level = args[0];
  if (typeof level !== 'number') {
    throw refusal(state, 'First argument must be a number (log level).');
  }
  if (level < 0 || level > 3) throw refusal(state, 'Invalid debug level.');
  const text = args.slice(1).map((value) => argumentText(value) ?? '');
  const event: ScriptLogEvent = { kind: 'script-log', level, text: text.join(' ') };
  hostOf(state).execution.tx?.emit(DOOR, event);
  return [];
}

function setresp(args: LuaValue[], state: LuaState): LuaValue[] {
  if (args.length !== 1) throw refusal(state, 'redis.setresp() requires one argument.');
  const version = args[0];
  if (version !== 2 && version !== 3) throw refusal(state, 'RESP version must be 2 or 3.');
  hostOf(state).protocol = version;
  return [];
}

const [major = 0, minor = 0, patch = 0] = REPORTED_VERSION.split('.').map(Number);

const redisLibrary = makeLibrary(
  {
    call,
    pcall,
    error_reply: singleField('err'),
    status_reply: singleField('ok'),
    sha1hex,
    log,
    setresp,
    // Scripts replicate by their own entry: there is nothing to choose.
    set_repl: () => [],
    replicate_commands: () => [true],
    breakpoint: () => [false],
    acl_check_cmd: () => [true],
  },
  {
    LOG_DEBUG: 0,
    LOG_VERBOSE: 1,
    LOG_NOTICE: 2,
    LOG_WARNING: 3,
    REPL_NONE: 0,
    REPL_AOF: 1,
    REPL_SLAVE: 2,
    REPL_REPLICA: 2,
    REPL_ALL: 3,
    REDIS_VERSION: REPORTED_VERSION,
    REDIS_VERSION_NUM: major * 65_536 + minor * 256 + patch,
  },
);

const environment = new Environment({
  globals: { redis: redisLibrary, server: redisLibrary },
  variables: ['KEYS', 'ARGV'],
});
