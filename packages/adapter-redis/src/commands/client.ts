import type { ByteString } from '@lockstep/model';
import type { CommandSpec } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError, SYNTAX_ERROR } from '../errors.ts';
import { parseInteger } from '../integer.ts';
import { error, NO_REPLY, OK, type Reply } from '../reply.ts';
import { redirectionOf, trackingRows } from './tracking.ts';

const BAD_NAME = 'ERR Client names cannot contain spaces, newlines or special characters.';

/** Printable and without spaces, since CLIENT LIST separates by them. */
export function isClientName(name: ByteString): boolean {
  return /^[!-~]*$/.test(name);
}

function setName(session: DoorSession, argv: readonly ByteString[]): Reply {
  if (!isClientName(argv[2]!)) return error(BAD_NAME);
  session.name = argv[2]!;
  return OK;
}

function setInfo(session: DoorSession, argv: readonly ByteString[]): Reply {
  const option = argv[2]!.toUpperCase();
  const value = argv[3]!;
  if (option !== 'LIB-NAME' && option !== 'LIB-VER') {
    return error(`ERR Unrecognized option '${argv[2]!}'`);
  }
  if (!isClientName(value)) {
    const shown = option.toLowerCase();
    return error(`ERR ${shown} cannot contain spaces, newlines or special characters.`);
  }
  if (option === 'LIB-NAME') session.libraryName = value;
  else session.libraryVersion = value;
  return OK;
}

function flagsOf(session: DoorSession): string {
  let flags = session.blocked ? 'b' : session.subscribed ? 'P' : session.transaction ? 'x' : '';
  if (session.tracking !== undefined) flags += session.tracking.prefixes === undefined ? 't' : 'tB';
  return flags === '' ? 'N' : flags;
}

/** One line of CLIENT LIST. Fields that we do not measure are zero, as on an idle connection. */
export function describeClient(session: DoorSession): ByteString {
  const nowMs = session.door.clock.monotonicMs();
  const seconds = (sinceMs: number) => Math.floor((nowMs - sinceMs) / 1000);
  const flags = flagsOf(session);
  const fields: readonly [string, string | number][] = [
    ['id', session.id],
    ['addr', session.address],
    ['laddr', session.localAddress],
    ['fd', 0],
    ['name', session.name],
    ['age', seconds(session.connectedMs)],
    ['idle', seconds(session.activeMs)],
    ['flags', flags],
    ['db', session.db],
    ['sub', session.counts.channel],
    ['psub', session.counts.pattern],
    ['ssub', session.counts.shard],
    ['multi', session.transaction?.held.length ?? -1],
    ['qbuf', 0],
    ['qbuf-free', 0],
    ['argv-mem', 0],
    ['multi-mem', 0],
    ['rbs', 0],
    ['rbp', 0],
    ['obl', 0],
    ['oll', 0],
    ['omem', 0],
    ['tot-mem', 0],
    ['events', 'r'],
    ['cmd', session.lastCommand],
    ['user', 'default'],
    ['redir', redirectionOf(session)],
    ['resp', session.protocol],
    ['lib-name', session.libraryName],
    ['lib-ver', session.libraryVersion],
  ];
  return fields.map(([name, value]) => `${name}=${value}`).join(' ');
}

function list(session: DoorSession, argv: readonly ByteString[]): Reply {
  const { sessions } = session.door;
  let chosen = [...sessions.values()];
  const filter = argv[2]?.toUpperCase();
  if (filter === 'ID' && argv.length > 3) {
    const ids = argv.slice(3).map((text) => {
      const id = parseInteger(text);
      if (typeof id !== 'number' || id <= 0) throw new CommandError('ERR Invalid client ID');
      return id;
    });
    chosen = ids.map((id) => sessions.get(id)).filter((found) => found !== undefined);
  } else if (filter === 'TYPE' && argv.length === 4) {
    const type = argv[3]!.toLowerCase();
    if (!['normal', 'master', 'replica', 'slave', 'pubsub'].includes(type)) {
      return error(`ERR Unknown client type '${argv[3]!}'`);
    }
    chosen = chosen.filter((one) => (one.subscribed ? 'pubsub' : 'normal') === type);
  } else if (filter !== undefined) return error(SYNTAX_ERROR);
  const text = chosen.map((one) => `${describeClient(one)}\n`).join('');
  return { kind: 'verbatim', format: 'txt', text };
}

interface KillFilter {
  id?: number;
  address?: ByteString;
  localAddress?: ByteString;
  type?: string;
  user?: ByteString;
  skipMe: boolean;
}

function parseKill(argv: readonly ByteString[]): KillFilter {
  const filter: KillFilter = { skipMe: true };
  for (let i = 2; i < argv.length; i += 2) {
    const value = argv[i + 1];
    if (value === undefined) throw new CommandError(SYNTAX_ERROR);
    switch (argv[i]!.toUpperCase()) {
      case 'ID': {
        const id = parseInteger(value);
        if (typeof id !== 'number' || id < 1) {
          throw new CommandError('ERR client-id should be greater than 0');
        }
        filter.id = id;
        break;
      }
      case 'ADDR':
        filter.address = value;
        break;
      case 'LADDR':
        filter.localAddress = value;
        break;
      case 'TYPE':
        filter.type = value.toLowerCase();
        break;
      case 'USER':
        filter.user = value;
        break;
      case 'SKIPME':
        if (!/^(yes|no)$/i.test(value)) throw new CommandError(SYNTAX_ERROR);
        filter.skipMe = value.toLowerCase() === 'yes';
        break;
      default:
        throw new CommandError(SYNTAX_ERROR);
    }
  }
  return filter;
}

function killMatches(one: DoorSession, filter: KillFilter): boolean {
  if (filter.id !== undefined && one.id !== filter.id) return false;
  if (filter.address !== undefined && one.address !== filter.address) return false;
  if (filter.localAddress !== undefined && one.localAddress !== filter.localAddress) return false;
  if (filter.user !== undefined && filter.user !== 'default') return false;
  const type = one.subscribed ? 'pubsub' : 'normal';
  return filter.type === undefined || filter.type === type;
}

function kill(session: DoorSession, argv: readonly ByteString[]): Reply {
  const oldForm = argv.length === 3;
  const filter = oldForm ? { address: argv[2]!, skipMe: false } : parseKill(argv);
  let killed = 0;
  for (const one of [...session.door.sessions.values()]) {
    if (!killMatches(one, filter) || (one === session && filter.skipMe)) continue;
    killed++;
    if (one === session) one.end();
    else one.destroy();
  }
  if (!oldForm) return killed;
  return killed > 0 ? OK : error('ERR No such client');
}

function reply(session: DoorSession, argv: readonly ByteString[]): Reply {
  switch (argv[2]!.toUpperCase()) {
    case 'ON':
      session.replyMode = 'on';
      return OK;
    case 'OFF':
      session.replyMode = 'off';
      return NO_REPLY;
    case 'SKIP':
      if (session.replyMode === 'on') session.replyMode = 'skip-next';
      return NO_REPLY;
    default:
      return error(SYNTAX_ERROR);
  }
}

function unblock(session: DoorSession, argv: readonly ByteString[]): Reply {
  const id = parseInteger(argv[2]!);
  if (id === undefined) return error('ERR value is not an integer or out of range');
  const how = argv[3]?.toUpperCase() ?? 'TIMEOUT';
  if (argv.length > 4 || (how !== 'TIMEOUT' && how !== 'ERROR')) {
    return error('ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR');
  }
  const blocked = typeof id === 'number' ? session.door.sessions.get(id) : undefined;
  return blocked?.leaveQueue(how === 'ERROR') === true ? 1 : 0;
}

/** Eviction and access times do not exist here, so both settings hold already. */
function acceptOnOff(_: DoorSession, argv: readonly ByteString[]): Reply {
  return /^(on|off)$/i.test(argv[2]!) ? OK : error(SYNTAX_ERROR);
}

type Row = readonly [
  name: string,
  arity: number,
  summary: string,
  door: NonNullable<CommandSpec['door']>,
];

const rows: readonly Row[] = [
  ['id', 2, 'Number of this connection, unique in the cluster.', (session) => session.id],
  ['getname', 2, 'Name of this connection.', (session) => session.name || null],
  ['setname', 3, 'Names this connection.', setName],
  ['setinfo', 4, "Tells the client library's name or version.", setInfo],
  [
    'info',
    2,
    'Describes this connection.',
    (session) => ({ kind: 'verbatim', format: 'txt', text: `${describeClient(session)}\n` }),
  ],
  ['list', -2, 'Describes the connections of this member.', list],
  ['kill', -3, 'Closes connections of this member.', kill],
  ['unblock', -3, 'Ends the wait of a blocked connection of this member.', unblock],
  ['reply', 3, 'Turns replies on or off.', reply],
  ['no-evict', 3, 'Nothing is ever evicted here.', acceptOnOff],
  ['no-touch', 3, 'Access times are not kept here.', acceptOnOff],
  ['capa', -3, 'Tells capabilities of the client library.', () => OK],
  ...trackingRows,
];

const flags = ['noscript', 'loading', 'stale'] as const;
const subcommands = new Map<string, CommandSpec>(
  rows.map(([name, arity, summary, door]) => [
    name,
    { name: `client|${name}`, arity, flags, keys: [0, 0, 0], summary, door, exclusive: true },
  ]),
);

export const clientCommands: readonly CommandSpec[] = [
  {
    name: 'client',
    arity: -2,
    flags: [],
    keys: [0, 0, 0],
    summary: 'Looks at connections and sets them up.',
    subcommands,
  },
];
