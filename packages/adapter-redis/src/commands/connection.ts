import type { ByteString } from '@lockstep/model';
import type { CommandSpec } from '../command.ts';
import type { DoorSession } from '../door-session.ts';
import { CommandError, DB_OUT_OF_RANGE, SYNTAX_ERROR, wrongArity } from '../errors.ts';
import { parseInteger } from '../integer.ts';
import { DATABASES } from '../keyspace-numbers.ts';
import { error, OK, PONG, type Reply, status } from '../reply.ts';
import { REPORTED_VERSION } from '../version.ts';
import { isClientName } from './client.ts';

const NO_PASSWORD =
  'ERR AUTH <password> called without any password configured for the default user. ' +
  'Are you sure your configuration is correct?';
const WRONG_PASSWORD = 'WRONGPASS invalid username-password pair or user is disabled.';
const HELLO_NEEDS_AUTH =
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH ' +
  '<user> <pass> option can be used to authenticate the client and select the RESP protocol ' +
  'version at the same time';
const BAD_NAME = 'ERR Client names cannot contain spaces, newlines or special characters.';

function ping(session: DoorSession, argv: readonly ByteString[]): Reply {
  if (argv.length > 2) return wrongArity('ping');
  if (session.protocol === 2 && session.subscribed) return ['pong', argv[1] ?? ''];
  return argv[1] ?? PONG;
}

/** Empty when the words are a database number, so that SELECT works in scripts too. */
function databaseArgument(text: ByteString): number {
  const db = parseInteger(text);
  if (typeof db !== 'number') throw new CommandError('ERR value is not an integer or out of range');
  if (db < 0 || db >= DATABASES) throw new CommandError(DB_OUT_OF_RANGE);
  return db;
}

function auth(session: DoorSession, argv: readonly ByteString[]): Reply {
  if (argv.length > 3) return error(SYNTAX_ERROR);
  if (argv.length === 2 && session.door.password === '') return error(NO_PASSWORD);
  const user = argv.length === 3 ? argv[1]! : 'default';
  return session.authenticate(user, argv[argv.length - 1]!) ? OK : error(WRONG_PASSWORD);
}

interface HelloOptions {
  readonly credentials?: readonly [user: ByteString, password: ByteString];
  readonly name?: ByteString;
}

function helloOptions(argv: readonly ByteString[]): HelloOptions {
  let options: HelloOptions = {};
  for (let i = 2; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    if (word === 'AUTH' && i + 2 < argv.length) {
      options = { ...options, credentials: [argv[i + 1]!, argv[i + 2]!] };
      i += 2;
    } else if (word === 'SETNAME' && i + 1 < argv.length) {
      options = { ...options, name: argv[++i]! };
    } else throw new CommandError(`ERR Syntax error in HELLO option '${argv[i]!}'`);
  }
  return options;
}

function hello(session: DoorSession, argv: readonly ByteString[]): Reply {
  const version = argv[1] === undefined ? session.protocol : parseInteger(argv[1]);
  if (version === undefined) {
    return error('ERR Protocol version is not an integer or out of range');
  }
  if (version !== 2 && version !== 3) return error('NOPROTO unsupported protocol version');
  const { credentials, name } = helloOptions(argv);
  if (credentials !== undefined && !session.authenticate(...credentials)) {
    return error(WRONG_PASSWORD);
  }
  if (!session.authenticated) return error(HELLO_NEEDS_AUTH);
  if (name !== undefined) {
    if (!isClientName(name)) return error(BAD_NAME);
    session.name = name;
  }
  session.protocol = version;
  const items: Reply[] = ['server', 'redis', 'version', REPORTED_VERSION, 'proto', version];
  items.push('id', session.id, 'mode', 'standalone', 'role', 'master', 'modules', []);
  return { kind: 'map', items };
}

const NO_KEYS = [0, 0, 0] as const;

export const connectionCommands: readonly CommandSpec[] = [
  {
    name: 'ping',
    arity: -1,
    flags: ['fast'],
    keys: NO_KEYS,
    summary: 'Answers PONG.',
    run: (_, argv) => (argv.length > 2 ? wrongArity('ping') : (argv[1] ?? PONG)),
    door: ping,
  },
  {
    name: 'echo',
    arity: 2,
    flags: ['loading', 'stale', 'fast'],
    keys: NO_KEYS,
    summary: 'Answers its argument.',
    run: (_, argv) => argv[1]!,
    door: (_, argv) => argv[1]!,
  },
  {
    name: 'select',
    arity: 2,
    flags: ['loading', 'stale', 'fast'],
    keys: NO_KEYS,
    summary: 'Chooses the database of this connection.',
    run(execution, argv) {
      execution.db = databaseArgument(argv[1]!);
      return OK;
    },
    door(session, argv) {
      session.db = databaseArgument(argv[1]!);
      return OK;
    },
  },
  {
    name: 'auth',
    arity: -2,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
    keys: NO_KEYS,
    summary: 'Authenticates the connection.',
    door: auth,
  },
  {
    name: 'hello',
    arity: -1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
    keys: NO_KEYS,
    summary: 'Chooses the protocol version, and greets.',
    door: hello,
    exclusive: true,
  },
  {
    name: 'quit',
    arity: -1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
    keys: NO_KEYS,
    summary: 'Closes the connection.',
    exclusive: true,
    door(session) {
      session.end();
      return OK;
    },
  },
  {
    name: 'reset',
    arity: 1,
    flags: ['noscript', 'loading', 'stale', 'fast', 'no_auth'],
    keys: NO_KEYS,
    summary: 'Puts the connection back to its initial state.',
    exclusive: true,
    door(session) {
      session.reset();
      return status('RESET');
    },
  },
];
