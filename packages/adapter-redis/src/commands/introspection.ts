import type { ByteString } from '@lockstep/model';
import type { CommandSpec } from '../command.ts';
import { keysOf } from '../command-keys.ts';
import { type ErrorReply, error, type Reply, status } from '../reply.ts';

type Table = ReadonlyMap<string, CommandSpec>;
type Resolve = (table: Table, argv: readonly ByteString[]) => CommandSpec | ErrorReply;

/** COMMAND … over the table that it belongs to. */
export function introspectionCommands(table: Table, resolve: Resolve): readonly CommandSpec[] {
  const FLAGS = ['loading', 'stale'] as const;
  const NO_KEYS = [0, 0, 0] as const;
  const all = () => [...table.values()];
  const subcommand = (
    name: string,
    arity: number,
    summary: string,
    door: (argv: readonly ByteString[]) => Reply,
  ): [string, CommandSpec] => [
    name,
    {
      name: `command|${name}`,
      arity,
      flags: FLAGS,
      keys: NO_KEYS,
      summary,
      door: (_, argv) => door(argv),
    },
  ];
  const chosen = (argv: readonly ByteString[]) =>
    argv.length === 2 ? all() : argv.slice(2).map((name) => find(table, name));
  const subcommands = new Map<string, CommandSpec>([
    subcommand('count', 2, 'Counts commands.', () => table.size),
    subcommand('list', 2, 'Lists commands.', () => [...table.keys()]),
    subcommand('info', -2, 'Describes commands.', (argv) =>
      chosen(argv).map((spec) => (spec === undefined ? { kind: 'null-array' } : describe(spec))),
    ),
    subcommand('docs', -2, 'Documents commands.', (argv) => ({
      kind: 'map',
      items: chosen(argv).flatMap((spec) => (spec === undefined ? [] : document(spec))),
    })),
    subcommand('getkeys', -3, 'Finds the keys in a command.', (argv) =>
      getKeys(table, resolve, argv.slice(2)),
    ),
  ]);
  const command: CommandSpec = {
    name: 'command',
    arity: -1,
    flags: FLAGS,
    keys: NO_KEYS,
    summary: 'Describes commands.',
    door: () => all().map(describe),
    subcommands,
  };
  return [command];
}

/** By name, `container|subcommand` included. */
function find(table: Table, name: ByteString): CommandSpec | undefined {
  const [container, subcommand] = name.toLowerCase().split('|');
  const spec = table.get(container!);
  return subcommand === undefined ? spec : spec?.subcommands?.get(subcommand);
}

/** The ten elements of COMMAND INFO. */
function describe(spec: CommandSpec): Reply {
  const [first, last, step] = spec.keys;
  const flags: Reply = { kind: 'set', items: spec.flags.map(status) };
  const subcommands = [...(spec.subcommands?.values() ?? [])].map(describe);
  return [spec.name, spec.arity, flags, first, last, step, [], [], [], subcommands];
}

function document(spec: CommandSpec): Reply[] {
  const items: Reply[] = ['summary', spec.summary, 'since', '1.0.0', 'group', 'generic'];
  if (spec.subcommands !== undefined) {
    const nested = [...spec.subcommands.values()].flatMap(document);
    items.push('subcommands', { kind: 'map', items: nested });
  }
  return [spec.name, { kind: 'map', items }];
}

function getKeys(table: Table, resolve: Resolve, argv: readonly ByteString[]): Reply {
  const spec = resolve(table, argv);
  if ('kind' in spec) {
    if (spec.text.startsWith('ERR wrong number')) {
      return error('ERR Invalid number of arguments specified for command');
    }
    return error('ERR Invalid command specified');
  }
  const keys = keysOf(spec, argv, (words) => resolve(table, words));
  if (keys === undefined) return error('ERR Invalid arguments specified for command');
  return keys.length > 0 ? keys : error('ERR The command has no key arguments');
}
