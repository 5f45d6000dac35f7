import type { ByteString } from '@lockstep/model';
import type { CommandSpec } from './command.ts';
import type { DoorSession, HeldCommand } from './door-session.ts';
import { CommandError } from './errors.ts';
import { DATABASES } from './keyspace-numbers.ts';
import type { QueuedCommand } from './procedures.ts';
import { isError, type Reply } from './reply.ts';

/** Runs a command of the connection itself; its refusals are replies. */
export function runAtDoor(
  session: DoorSession,
  spec: CommandSpec,
  argv: readonly ByteString[],
): Reply {
  try {
    return spec.door!(session, argv);
  } catch (failure) {
    if (failure instanceof CommandError) return failure.reply;
    throw failure;
  }
}

/** Commands that MULTI held and the log runs, each with its database: a SELECT among them counts
 * for those behind it. */
export function loggedCommands(held: readonly HeldCommand[], first: number): QueuedCommand[] {
  const databases = databasesOf(held, first);
  return held.flatMap(({ spec, argv }, i) =>
    spec.door === undefined ? [{ db: databases[i]!, argv }] : [],
  );
}

/** Replies of the log's commands and of the door's own, in the order of MULTI. */
export function mergeReplies(
  session: DoorSession,
  held: readonly HeldCommand[],
  results: readonly Reply[],
  first: number,
): Reply {
  const databases = databasesOf(held, first);
  let at = 0;
  return held.map(({ spec, argv }, i) => {
    if (spec.door !== undefined) return runAtDoor(session, spec, argv);
    const reply = results[at++]!;
    if (spec.completed === undefined || isError(reply)) return reply;
    return spec.completed(session, argv, reply, databases[i]!);
  });
}

function databasesOf(held: readonly HeldCommand[], first: number): number[] {
  let db = first;
  return held.map(({ spec, argv }) => {
    const chosen = spec.name === 'select' && /^\d{1,2}$/.test(argv[1]!) ? Number(argv[1]) : db;
    if (chosen < DATABASES) db = chosen;
    return db;
  });
}
