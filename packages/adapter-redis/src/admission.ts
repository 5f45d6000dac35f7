import type { ByteString } from '@lockstep/model';
import type { Request } from './codec.ts';
import { arityFits, type CommandSpec, hasFlag } from './command.ts';
import { resolveCommand } from './command-table.ts';
import type { DoorSession } from './door-session.ts';
import { NO_AUTH } from './errors.ts';
import { type ErrorReply, error } from './reply.ts';

/** Commands that run at once although MULTI is open; EXEC is the session's own business. */
export const RUNS_IN_MULTI: ReadonlySet<string> = new Set([
  'multi',
  'discard',
  'watch',
  'quit',
  'reset',
]);

const RUNS_SUBSCRIBED: ReadonlySet<string> = new Set([
  'ping',
  'quit',
  'reset',
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'unsubscribe',
  'punsubscribe',
  'sunsubscribe',
]);

/** Refused inside MULTI without spoiling it. */
const WATCH_IN_MULTI = error('ERR WATCH inside MULTI is not allowed');

/** The command a request names, the error it gets, or `close` for what is not Redis at all. */
export function admit(
  session: DoorSession,
  request: Request,
  simple: ReadonlyMap<string, CommandSpec>,
): CommandSpec | ErrorReply | 'close' {
  const name = request.argument(0);
  const known = simple.get(name);
  const level = session.door.replica.state.featureLevel;
  if (known !== undefined && arityFits(known, request.count) && (known.level ?? 0) <= level) {
    return refusal(session, known) ?? known;
  }
  // A browser tricked into talking to us sends these first (`reference/redis.md` §1.1).
  if (/^(post|host:)$/i.test(name)) return 'close';
  const resolved = resolveWords(request.argv(), level);
  if (isErrorReply(resolved)) return resolved;
  return refusal(session, resolved) ?? resolved;
}

/** Checks what a wrapper (GUARD) has inside as well. */
function resolveWords(argv: readonly ByteString[], level: number): CommandSpec | ErrorReply {
  const spec = resolveCommand(argv, level);
  if (isErrorReply(spec) || spec.wraps === undefined) return spec;
  const inner = argv.slice(spec.wraps(argv));
  const wrapped = inner.length > 0 ? resolveCommand(inner, level) : spec;
  return isErrorReply(wrapped) ? wrapped : spec;
}

function refusal(session: DoorSession, spec: CommandSpec): ErrorReply | undefined {
  if (!session.authenticated && !hasFlag(spec, 'no_auth')) return error(NO_AUTH);
  if (session.protocol === 2 && session.subscribed && !RUNS_SUBSCRIBED.has(spec.name)) {
    return error(
      `ERR Can't execute '${spec.name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / ` +
        'RESET are allowed in this context',
    );
  }
  if (session.transaction === undefined) return undefined;
  if (spec.name === 'watch') return WATCH_IN_MULTI;
  if (!hasFlag(spec, 'no_multi')) return undefined;
  return error('ERR Command not allowed inside a transaction');
}

/** Books a refusal with the open transaction; the reply may change by it. */
export function refuse(session: DoorSession, reply: ErrorReply): ErrorReply {
  if (reply.text === "ERR wrong number of arguments for 'exec' command") {
    session.transaction = undefined;
    session.door.watches.clear(session);
    return error(`EXECABORT Transaction discarded because of: ${reply.text.slice(4)}`);
  }
  if (session.transaction !== undefined && reply !== WATCH_IN_MULTI) {
    session.transaction.failed = true;
  }
  return reply;
}

export function isErrorReply(resolved: CommandSpec | ErrorReply): resolved is ErrorReply {
  return 'kind' in resolved;
}
