import type { ByteString } from '@lockstep/model';
import type { CommandSpec, Execution } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { error, OK, type Reply } from '../reply.ts';

function multi(session: DoorSession): Reply {
  if (session.transaction !== undefined) return error('ERR MULTI calls can not be nested');
  session.transaction = { held: [], sizeBytes: 0, failed: false };
  return OK;
}

function discard(session: DoorSession): Reply {
  if (session.transaction === undefined) return error('ERR DISCARD without MULTI');
  session.transaction = undefined;
  session.door.watches.clear(session);
  return OK;
}

/** Revision of each key's last change, 0 for an absent one; `watched` keeps them. */
function watch(execution: Execution, argv: readonly ByteString[]): Reply {
  return argv.slice(1).map((key) => execution.get(key)?.modRevision ?? 0);
}

function watched(
  session: DoorSession,
  argv: readonly ByteString[],
  reply: Reply,
  db: number,
): Reply {
  const revisions = reply as readonly number[];
  revisions.forEach((revision, i) => {
    const key = argv[i + 1]!;
    session.watched.push({ db, key, revision });
    session.door.watches.add(session, db, key);
  });
  return OK;
}

const NO_KEYS = [0, 0, 0] as const;
const FLAGS = ['noscript', 'loading', 'stale', 'fast'] as const;

/** EXEC has neither `run` nor `door`: the session makes its entry from what MULTI held. */
export const transactionCommands: readonly CommandSpec[] = [
  {
    name: 'multi',
    arity: 1,
    flags: FLAGS,
    keys: NO_KEYS,
    summary: 'Opens a transaction.',
    door: multi,
  },
  {
    name: 'exec',
    arity: 1,
    flags: ['noscript', 'loading', 'stale'],
    keys: NO_KEYS,
    summary: 'Runs the transaction.',
  },
  {
    name: 'discard',
    arity: 1,
    flags: FLAGS,
    keys: NO_KEYS,
    summary: 'Drops the transaction.',
    exclusive: true,
    door: discard,
  },
  {
    name: 'watch',
    arity: -2,
    flags: [...FLAGS, 'readonly'],
    keys: [1, -1, 1],
    summary: 'Makes EXEC depend on keys staying as they are.',
    run: watch,
    completed: watched,
  },
  {
    name: 'unwatch',
    arity: 1,
    flags: FLAGS,
    keys: NO_KEYS,
    summary: 'Forgets watched keys.',
    exclusive: true,
    door(session) {
      session.door.watches.clear(session);
      return OK;
    },
  },
];
