import type { ByteString } from '@lockstep/model';
import { arityFits, type CommandSpec } from './command.ts';
import { clientCommands } from './commands/client.ts';
import { connectionCommands } from './commands/connection.ts';
import { expireCommands } from './commands/expire.ts';
import { guardCommands } from './commands/guard.ts';
import { introspectionCommands } from './commands/introspection.ts';
import { keyCommands } from './commands/keys.ts';
import { lockCommands } from './commands/lock.ts';
import { pubsubCommands } from './commands/pubsub.ts';
import { scriptCommands } from './commands/script.ts';
import { serverCommands } from './commands/server.ts';
import { setCommands } from './commands/set.ts';
import { setTypeCommands } from './commands/set-type.ts';
import { stringCommands } from './commands/string.ts';
import { transactionCommands } from './commands/transaction.ts';
import { unknownCommand, unknownSubcommand, wrongArity } from './errors.ts';
import type { ErrorReply } from './reply.ts';

const groups: readonly (readonly CommandSpec[])[] = [
  connectionCommands,
  clientCommands,
  serverCommands,
  stringCommands,
  setCommands,
  setTypeCommands,
  keyCommands,
  expireCommands,
  transactionCommands,
  scriptCommands,
  pubsubCommands,
  lockCommands,
  guardCommands,
];

/** Every command of this door by lower-case name, COMMAND itself included. */
export const commandTable: ReadonlyMap<string, CommandSpec> = buildTable();

function buildTable(): ReadonlyMap<string, CommandSpec> {
  const table = new Map<string, CommandSpec>();
  for (const spec of groups.flat()) table.set(spec.name, spec);
  for (const spec of introspectionCommands(table, resolveIn)) table.set(spec.name, spec);
  return table;
}

/**
 * The command that the words name, or the error that Redis gives for them. A command that some
 * member of the cluster may not know yet is unknown to all.
 */
export function resolveCommand(
  argv: readonly ByteString[],
  featureLevel: number,
): CommandSpec | ErrorReply {
  const spec = resolveIn(commandTable, argv);
  return 'level' in spec && spec.level > featureLevel ? unknownCommand(argv) : spec;
}

function resolveIn(
  table: ReadonlyMap<string, CommandSpec>,
  argv: readonly ByteString[],
): CommandSpec | ErrorReply {
  // Most clients type names in one case; folding is for the others.
  const spec = table.get(argv[0]!) ?? table.get(argv[0]!.toLowerCase());
  if (spec === undefined) return unknownCommand(argv);
  const { subcommands } = spec;
  if (subcommands === undefined || argv.length < 2) return withArity(spec, argv.length);
  const typed = argv[1]!.toLowerCase();
  const subcommand = subcommands.get(typed) ?? (typed === 'help' ? helpOf(spec) : undefined);
  if (subcommand === undefined) return unknownSubcommand(spec.name, argv[1]!);
  return withArity(subcommand, argv.length);
}

/** What the error of an unknown subcommand points to. */
function helpOf({ name, subcommands }: CommandSpec): CommandSpec {
  const lines = [`${name.toUpperCase()} <subcommand> [<arg> ...]. Subcommands are:`];
  for (const [subcommand, { summary }] of subcommands ?? []) {
    lines.push(subcommand.toUpperCase(), `    ${summary}`);
  }
  lines.push('HELP', '    Shows this.');
  return {
    name: `${name}|help`,
    arity: 2,
    flags: ['loading', 'stale'],
    keys: [0, 0, 0],
    summary: 'Shows the subcommands.',
    door: () => lines.map((text) => ({ kind: 'status', text })),
  };
}

function withArity(spec: CommandSpec, count: number): CommandSpec | ErrorReply {
  return arityFits(spec, count) ? spec : wrongArity(spec.name);
}
