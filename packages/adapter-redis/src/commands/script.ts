import type { ByteString } from '@lockstep/model';
import { writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import { CommandError, NO_SCRIPT } from '../errors.ts';
import { clampInteger, requireInteger } from '../integer.ts';
import { evaluatedScriptsMax, scriptKeyspace } from '../keyspaces.ts';
import { compileScript, runScript } from '../lua.ts';
import { error, OK, type Reply } from '../reply.ts';
import type { ScriptIndex } from '../script-index.ts';

interface ScriptCall {
  readonly keys: readonly ByteString[];
  readonly args: readonly ByteString[];
}

/** `… numkeys key… arg…`; throws Redis' errors. */
function parseCall(argv: readonly ByteString[]): ScriptCall {
  const count = clampInteger(requireInteger(argv[2]!));
  if (count > argv.length - 3) {
    throw new CommandError("ERR Number of keys can't be greater than number of args");
  }
  if (count < 0) throw new CommandError("ERR Number of keys can't be negative");
  return { keys: argv.slice(3, 3 + count), args: argv.slice(3 + count) };
}

function keysOfCall(argv: readonly ByteString[]): readonly ByteString[] | undefined {
  const count = Number(argv[2]);
  if (!Number.isInteger(count) || count < 0 || count > argv.length - 3) return undefined;
  return argv.slice(3, 3 + count);
}

/** Kept for EVALSHA at any member. Behind a barrier (EVAL_RO) nothing can be kept. */
function remember(execution: Execution, sha: ByteString, body: ByteString, loaded: boolean): void {
  const { tx } = execution;
  if (tx === undefined) return;
  const present = tx.get(scriptKeyspace, sha);
  if (present !== undefined && (present.value.loaded || !loaded)) return;
  const index = tx.index<ScriptIndex>(scriptKeyspace);
  const isFull = !loaded && index.size >= tx.option(evaluatedScriptsMax);
  const oldest = isFull ? index.oldest() : undefined;
  if (oldest !== undefined) tx.delete(scriptKeyspace, oldest);
  tx.put(scriptKeyspace, sha, { body, loaded });
}

function evaluate(readOnly: boolean) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const { keys, args } = parseCall(argv);
    const script = compileScript(argv[1]!);
    if (!('sha' in script)) return script;
    if (!readOnly) remember(execution, script.sha, argv[1]!, false);
    return runScript(execution, script, keys, args, readOnly);
  };
}

function evaluateSha(readOnly: boolean) {
  return (execution: Execution, argv: readonly ByteString[]): Reply => {
    const { keys, args } = parseCall(argv);
    const record = execution.reader.get(scriptKeyspace, argv[1]!.toLowerCase());
    if (record === undefined) return error(NO_SCRIPT);
    const script = compileScript(record.value.body);
    if (!('sha' in script)) return script;
    return runScript(execution, script, keys, args, readOnly);
  };
}

function load(execution: Execution, argv: readonly ByteString[]): Reply {
  const script = compileScript(argv[2]!);
  if (!('sha' in script)) return script;
  remember(execution, script.sha, argv[2]!, true);
  return script.sha;
}

function exists(execution: Execution, argv: readonly ByteString[]): Reply {
  return argv
    .slice(2)
    .map((sha) => (execution.reader.get(scriptKeyspace, sha.toLowerCase()) === undefined ? 0 : 1));
}

function flush(execution: Execution, argv: readonly ByteString[]): Reply {
  const mode = argv[2]?.toUpperCase();
  if (argv.length > 3 || (mode !== undefined && mode !== 'SYNC' && mode !== 'ASYNC')) {
    throw new CommandError('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
  }
  if (execution.reader.size(scriptKeyspace) > 0) writing(execution).clear(scriptKeyspace);
  return OK;
}

const NO_KEYS = [0, 0, 0] as const;

function evalSpec(
  name: string,
  readOnly: boolean,
  summary: string,
  run: NonNullable<CommandSpec['run']>,
): CommandSpec {
  const flags = ['noscript', 'stale', readOnly ? 'readonly' : 'write', 'movablekeys'] as const;
  return {
    name,
    arity: -3,
    flags,
    keys: NO_KEYS,
    summary,
    run,
    keysOf: keysOfCall,
    identified: true,
  };
}

function scriptSpec(
  name: string,
  arity: number,
  write: boolean,
  summary: string,
  run: NonNullable<CommandSpec['run']>,
): [string, CommandSpec] {
  const flags = ['noscript', write ? 'write' : 'readonly'] as const;
  return [name, { name: `script|${name}`, arity, flags, keys: NO_KEYS, summary, run }];
}

const subcommands = new Map<string, CommandSpec>([
  scriptSpec('load', 3, true, 'Keeps a script and returns its digest.', load),
  scriptSpec('exists', -3, false, 'Tells which digests are known.', exists),
  scriptSpec('flush', -2, true, 'Forgets all scripts.', flush),
  [
    'kill',
    {
      name: 'script|kill',
      arity: 2,
      flags: ['noscript'],
      keys: NO_KEYS,
      summary: 'Scripts end by their budget of steps: there is never one to kill.',
      door: () => error('NOTBUSY No scripts in execution right now.'),
    },
  ],
]);

export const scriptCommands: readonly CommandSpec[] = [
  evalSpec('eval', false, 'Runs a script.', evaluate(false)),
  evalSpec('evalsha', false, 'Runs a script by its digest.', evaluateSha(false)),
  evalSpec('eval_ro', true, 'Runs a script that only reads.', evaluate(true)),
  evalSpec('evalsha_ro', true, 'Runs a script that only reads, by its digest.', evaluateSha(true)),
  {
    name: 'script',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    summary: 'Looks after the scripts kept by the cluster.',
    subcommands,
  },
];
