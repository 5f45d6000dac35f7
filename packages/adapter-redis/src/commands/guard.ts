import type { ByteString } from '@lockstep/model';
import { writing } from '../access.ts';
import { type CommandSpec, type Execution, hasFlag } from '../command.ts';
import { CommandError } from '../errors.ts';
import { admitToken, parseToken, raisesFence } from '../fence.ts';
import { error, isError, type Reply } from '../reply.ts';

/** Where the guarded command begins: after `HIGH name token`, or after `lockkey token`. */
function commandAt(argv: readonly ByteString[]): number {
  return raisesFence(argv) ? 4 : 3;
}

/** GUARD lockkey token command …, GUARD HIGH name token command … (design §9). */
function guard(execution: Execution, argv: readonly ByteString[]): Reply {
  const at = commandAt(argv);
  const words = argv.slice(at);
  if (words.length === 0) return error("ERR wrong number of arguments for 'guard' command");
  const spec = execution.resolve(words) as CommandSpec | Reply;
  if (isError(spec as Reply)) return spec as Reply;
  const command = spec as CommandSpec;
  if (command.run === undefined || hasFlag(command, 'no_multi')) {
    return error('ERR This command cannot be guarded');
  }
  const token = parseToken(argv[at - 1]!);
  if (at === 4) admitToken(writing(execution), argv[2]!, argv[2]!, token);
  else requireHeld(execution, argv[1]!, token);
  const { nested } = execution;
  execution.nested = true;
  const reply = execution.perform(command, words);
  execution.nested = nested;
  return reply;
}

function requireHeld(execution: Execution, key: ByteString, token: number): void {
  const current = execution.get(key)?.token;
  if (current === token) return;
  const shown = current ?? 'none';
  throw new CommandError(`FENCED Stale token ${token} for '${key}', current is ${shown}`);
}

/** Keys of the command inside come on top, which COMMAND GETKEYS finds by `wraps`. */
export const guardCommands: readonly CommandSpec[] = [
  {
    name: 'guard',
    arity: -4,
    flags: ['write', 'movablekeys'],
    keys: [0, 0, 0],
    summary: 'Runs a command only under a valid fencing token.',
    run: guard,
    wraps: commandAt,
    identified: true,
  },
];
