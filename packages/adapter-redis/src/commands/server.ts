import type { ByteString } from '@lockstep/model';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { clampInteger, parseInteger } from '../integer.ts';
import { error, type Reply } from '../reply.ts';
import { configCommands } from './config.ts';
import { info } from './info.ts';

/** Whole milliseconds are what entries carry; the microseconds end in zeros. */
function time(execution: Execution): Reply {
  const { wall } = execution;
  const seconds = Math.floor(wall / 1000);
  return [String(seconds), String(Math.floor(wall - seconds * 1000) * 1000)];
}

/** Members besides this one that certainly hold what was answered: a majority does. */
function acknowledged(session: DoorSession): number {
  const voters = session.door.replica.state.members().filter(({ learner }) => !learner).length;
  return Math.floor(voters / 2);
}

function wait(session: DoorSession, argv: readonly ByteString[]): Reply {
  const replicas = parseInteger(argv[1]!);
  const timeout = parseInteger(argv[2]!);
  if (replicas === undefined || timeout === undefined) {
    return error('ERR value is not an integer or out of range');
  }
  if (timeout < 0) return error('ERR timeout is negative');
  return acknowledged(session);
}

function waitaof(session: DoorSession, argv: readonly ByteString[]): Reply {
  const numbers = argv.slice(1).map((text) => parseInteger(text));
  if (numbers.includes(undefined)) return error('ERR value is not an integer or out of range');
  const [local = 0, , timeout = 0] = numbers.map((value) => clampInteger(value ?? 0));
  if (local > 1) return error('ERR value is out of range, must be between 0 and 1');
  if (timeout < 0) return error('ERR timeout is negative');
  return [1, acknowledged(session)];
}

function role({ door }: DoorSession): Reply {
  return ['master', door.replica.state.appliedIndex, []];
}

const DEBUG_DENIED =
  'ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can ' +
  'run it from a local connection, otherwise you need to set this option in the configuration ' +
  'file, and then restart the server.';
const CLUSTER_DISABLED = 'ERR This instance has cluster support disabled';

const NO_KEYS = [0, 0, 0] as const;

function atDoor(
  name: string,
  arity: number,
  flags: CommandSpec['flags'],
  summary: string,
  door: NonNullable<CommandSpec['door']>,
): CommandSpec {
  return { name, arity, flags, keys: NO_KEYS, summary, door, exclusive: true };
}

export const serverCommands: readonly CommandSpec[] = [
  {
    name: 'time',
    arity: 1,
    flags: ['readonly', 'loading', 'stale', 'fast'],
    keys: NO_KEYS,
    summary: 'Wall time of the cluster.',
    run: time,
  },
  atDoor('info', -1, ['loading', 'stale'], 'Describes this member.', info),
  atDoor('role', 1, ['noscript', 'loading', 'stale', 'fast'], 'Every member is a master.', role),
  atDoor('wait', 3, ['noscript'], 'What was answered is on a majority already.', wait),
  atDoor('waitaof', 4, ['noscript'], 'What was answered is synced already.', waitaof),
  atDoor('debug', -2, ['admin', 'noscript', 'loading', 'stale'], 'Not allowed.', () =>
    error(DEBUG_DENIED),
  ),
  ...['readonly', 'readwrite', 'asking'].map((name) =>
    atDoor(name, 1, ['fast'], 'Redis Cluster is off.', () => error(CLUSTER_DISABLED)),
  ),
  atDoor('cluster', -2, [], 'Redis Cluster is off.', () => error(CLUSTER_DISABLED)),
  ...configCommands,
];
