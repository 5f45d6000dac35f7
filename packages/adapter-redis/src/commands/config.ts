import type { ByteString } from '@lockstep/model';
import { writing } from '../access.ts';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { wrongArity } from '../errors.ts';
import { globMatches } from '../glob.ts';
import { normalizeNotifyFlags, notifyKeyspaceEvents } from '../notification.ts';
import { error, isError, OK, type Reply } from '../reply.ts';
import { isTuning, NOTIFY_DIRECTIVE } from '../settings.ts';

function get(session: DoorSession, argv: readonly ByteString[]): Reply {
  const { door } = session;
  const all = new Map(door.settings);
  all.set(NOTIFY_DIRECTIVE, door.replica.state.option(notifyKeyspaceEvents));
  const patterns = argv.slice(2).map((pattern) => pattern.toLowerCase());
  const items: Reply[] = [];
  for (const name of [...all.keys()].sort()) {
    if (patterns.some((pattern) => globMatches(pattern, name))) items.push(name, all.get(name)!);
  }
  return { kind: 'map', items };
}

interface Setting {
  readonly name: string;
  readonly value: ByteString;
}

/** Directives to set, or the error for the first that cannot be. */
function parseSet(argv: readonly ByteString[]): readonly Setting[] | Reply {
  if (argv.length % 2 !== 0) return wrongArity('config|set');
  const settings: Setting[] = [];
  for (let i = 2; i < argv.length; i += 2) {
    const name = argv[i]!.toLowerCase();
    if (name !== NOTIFY_DIRECTIVE && !isTuning(name)) {
      const shown = argv[i]!;
      return error(`ERR Unknown option or number of arguments for CONFIG SET - '${shown}'`);
    }
    settings.push({ name, value: argv[i + 1]! });
  }
  return settings;
}

const isSettings = (parsed: readonly Setting[] | Reply): parsed is readonly Setting[] =>
  Array.isArray(parsed);

/** Notifications change what apply emits, hence a replicated option; the rest is the door's. */
function set(execution: Execution, argv: readonly ByteString[]): Reply {
  const settings = parseSet(argv);
  if (!isSettings(settings)) return settings;
  const notify = settings.find(({ name }) => name === NOTIFY_DIRECTIVE);
  if (notify === undefined) return OK;
  const flags = normalizeNotifyFlags(notify.value);
  if (flags === undefined) {
    return error(
      `ERR CONFIG SET failed (possibly related to argument '${NOTIFY_DIRECTIVE}') - ` +
        'Invalid event class character. Use one of KEAgxzl$shtmdn',
    );
  }
  writing(execution).setOption(notifyKeyspaceEvents, flags);
  return OK;
}

function setAtDoor(session: DoorSession, argv: readonly ByteString[], reply: Reply): Reply {
  const settings = parseSet(argv);
  if (isError(reply) || !isSettings(settings)) return reply;
  for (const { name, value } of settings) {
    if (name !== NOTIFY_DIRECTIVE) session.door.settings.set(name, value);
  }
  return reply;
}

function resetStatistics(session: DoorSession): Reply {
  const { statistics } = session.door;
  statistics.commands = 0;
  statistics.errors = 0;
  statistics.connections = 0;
  statistics.rejectedConnections = 0;
  return OK;
}

const FLAGS = ['admin', 'noscript', 'loading', 'stale'] as const;
const NO_KEYS = [0, 0, 0] as const;

function atDoor(
  name: string,
  arity: number,
  summary: string,
  door: NonNullable<CommandSpec['door']>,
): [string, CommandSpec] {
  const spec = { name: `config|${name}`, arity, flags: FLAGS, keys: NO_KEYS, summary, door };
  return [name, { ...spec, exclusive: true }];
}

const subcommands = new Map<string, CommandSpec>([
  atDoor('get', -3, 'Shows directives.', get),
  atDoor('resetstat', 2, 'Sets counters to zero.', resetStatistics),
  atDoor('rewrite', 2, 'There is no file to rewrite.', () =>
    error('ERR The server is running without a config file'),
  ),
  [
    'set',
    {
      name: 'config|set',
      arity: -4,
      flags: [...FLAGS, 'write'],
      keys: NO_KEYS,
      summary: 'Changes directives.',
      run: set,
      completed: setAtDoor,
    },
  ],
]);

export const configCommands: readonly CommandSpec[] = [
  {
    name: 'config',
    arity: -2,
    flags: [],
    keys: NO_KEYS,
    summary: 'Looks at directives and changes them.',
    subcommands,
  },
];
