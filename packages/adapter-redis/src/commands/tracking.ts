import { type ByteString, LIMITS } from '@lockstep/model';
import type { CommandSpec } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError, SYNTAX_ERROR } from '../errors.ts';
import { parseInteger } from '../integer.ts';
import { error, OK, type Reply } from '../reply.ts';
import type { TrackingMode } from '../tracking.ts';

const SWITCHES_BCAST =
  "ERR You can't switch BCAST mode on/off before disabling tracking for this client, " +
  'and then re-enabling it with a different mode.';
const SWITCHES_CHOICE =
  "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, " +
  'and then re-enabling it with a different mode.';

/** What a prefix takes beside its own bytes. */
const PREFIX_OVERHEAD_BYTES = 32;

interface Options {
  redirect: number;
  bcast: boolean;
  optin: boolean;
  optout: boolean;
  noLoop: boolean;
  readonly prefixes: ByteString[];
}

function parseOptions(session: DoorSession, argv: readonly ByteString[]): Options {
  const options: Options = {
    ...{ redirect: 0, bcast: false, optin: false, optout: false, noLoop: false },
    prefixes: [],
  };
  for (let i = 3; i < argv.length; i++) {
    switch (argv[i]!.toUpperCase()) {
      case 'REDIRECT':
        if (options.redirect !== 0) {
          throw new CommandError('ERR A client can only redirect to a single other client');
        }
        options.redirect = redirection(session, argv[++i]);
        break;
      case 'BCAST':
        options.bcast = true;
        break;
      case 'OPTIN':
        options.optin = true;
        break;
      case 'OPTOUT':
        options.optout = true;
        break;
      case 'NOLOOP':
        options.noLoop = true;
        break;
      case 'PREFIX': {
        const prefix = argv[++i];
        if (prefix === undefined) throw new CommandError(SYNTAX_ERROR);
        options.prefixes.push(prefix);
        break;
      }
      default:
        throw new CommandError(SYNTAX_ERROR);
    }
  }
  return options;
}

function redirection(session: DoorSession, word: ByteString | undefined): number {
  if (word === undefined) throw new CommandError(SYNTAX_ERROR);
  const id = parseInteger(word);
  if (id === undefined) {
    throw new CommandError('ERR value is not an integer or out of range');
  }
  // The others' connections cannot be reached from here: redirection stays within a member.
  if (typeof id !== 'number' || !session.door.sessions.has(id)) {
    throw new CommandError('ERR The client ID you want redirect to does not exist');
  }
  return id;
}

function checkPrefixes(provided: readonly ByteString[], existing: readonly ByteString[]): void {
  let bytes = 0;
  for (const prefix of [...existing, ...provided]) bytes += prefix.length + PREFIX_OVERHEAD_BYTES;
  if (bytes > LIMITS.commandBytesMaxRedis) {
    throw new CommandError('ERR too many prefixes for a single client');
  }
  // In ascending order whatever overlaps does so with its neighbour, too.
  const rows = [
    ...existing.map((prefix) => ({ prefix, at: -1 })),
    ...provided.map((prefix, at) => ({ prefix, at })),
  ].sort((a, b) => (a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : 0));
  const second = rows.findIndex(({ prefix }, i) => i > 0 && prefix.startsWith(rows[i - 1]!.prefix));
  if (second < 0) return;
  const pair = [rows[second - 1]!, rows[second]!].sort((a, b) => a.at - b.at);
  const [first, other] = pair as [(typeof rows)[0], (typeof rows)[0]];
  const isOld = first.at < 0;
  throw new CommandError(
    `ERR Prefix '${(isOld ? other : first).prefix}' overlaps with ` +
      `${isOld ? 'an existing' : 'another provided'} prefix '${(isOld ? first : other).prefix}'. ` +
      'Prefixes for a single client must not overlap.',
  );
}

function track(session: DoorSession, argv: readonly ByteString[]): Reply {
  const state = argv[2]!.toUpperCase();
  const options = parseOptions(session, argv);
  if (state === 'ON') session.setTracking(chosenMode(session.tracking, options));
  else if (state === 'OFF') session.setTracking(undefined);
  else return error(SYNTAX_ERROR);
  return OK;
}

/** The checks stand in the order in which Redis makes them. */
function chosenMode(present: TrackingMode | undefined, options: Options): TrackingMode {
  const { redirect, bcast, optin, optout, noLoop, prefixes } = options;
  if (!bcast && prefixes.length > 0) {
    throw new CommandError('ERR PREFIX option requires BCAST mode to be enabled');
  }
  if (present !== undefined && (present.prefixes !== undefined) !== bcast) {
    throw new CommandError(SWITCHES_BCAST);
  }
  if (bcast && (optin || optout)) {
    throw new CommandError('ERR OPTIN and OPTOUT are not compatible with BCAST');
  }
  if (optin && optout) {
    throw new CommandError("ERR You can't specify both OPTIN mode and OPTOUT mode");
  }
  const remembers = optin ? 'optin' : optout ? 'optout' : 'always';
  if ((optin && present?.remembers === 'optout') || (optout && present?.remembers === 'optin')) {
    throw new CommandError(SWITCHES_CHOICE);
  }
  if (!bcast) return { redirect, remembers, noLoop, prefixes: undefined };
  const existing = present?.prefixes ?? [];
  checkPrefixes(prefixes, existing);
  const all = [...existing, ...prefixes].sort();
  return { redirect, remembers, noLoop, prefixes: all.length > 0 ? all : [''] };
}

function caching(session: DoorSession, argv: readonly ByteString[]): Reply {
  const remembers = session.tracking?.remembers ?? 'always';
  if (remembers === 'always') {
    return error(
      'ERR CLIENT CACHING can be called only when the client is in tracking mode ' +
        'with OPTIN or OPTOUT mode enabled',
    );
  }
  switch (argv[2]!.toUpperCase()) {
    case 'YES':
      if (remembers !== 'optin') {
        return error(
          'ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.',
        );
      }
      session.caching = true;
      return OK;
    case 'NO':
      if (remembers !== 'optout') {
        return error(
          'ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.',
        );
      }
      session.caching = false;
      return OK;
    default:
      return error(SYNTAX_ERROR);
  }
}

/** -1 when off, 0 when the connection itself is told. */
export function redirectionOf(session: DoorSession): number {
  return session.tracking?.redirect ?? -1;
}

function info(session: DoorSession): Reply {
  const { tracking, caching, door } = session;
  const flags = [tracking === undefined ? 'off' : 'on'];
  if (tracking?.prefixes !== undefined) flags.push('bcast');
  if (tracking !== undefined && tracking.remembers !== 'always') {
    flags.push(tracking.remembers);
    if (caching !== undefined) flags.push(caching ? 'caching-yes' : 'caching-no');
  }
  if (tracking?.noLoop === true) flags.push('noloop');
  const redirect = redirectionOf(session);
  if (redirect > 0 && !door.sessions.has(redirect)) flags.push('broken_redirect');
  const prefixes = tracking?.prefixes ?? [];
  return {
    kind: 'map',
    items: ['flags', { kind: 'set', items: flags }, 'redirect', redirect, 'prefixes', prefixes],
  };
}

type Row = readonly [
  name: string,
  arity: number,
  summary: string,
  door: NonNullable<CommandSpec['door']>,
];

/** Subcommands of CLIENT about client-side caching. */
export const trackingRows: readonly Row[] = [
  ['tracking', -3, 'Tells this connection when keys that it read change.', track],
  ['caching', 3, 'Whether the next reads are remembered for tracking.', caching],
  ['trackinginfo', 2, 'How this connection tracks.', info],
  ['getredir', 2, 'Connection to which tracking redirects.', redirectionOf],
];
