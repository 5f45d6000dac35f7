import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Address, formatAddress } from './option-value.ts';
import { RespClient } from './resp-client.ts';

export interface LockOptions {
  /** Redis doors of the cluster; the first that answers is used. */
  readonly addresses: readonly Address[];
  readonly password: string;
  readonly ttlMs: number;
  /** How long to queue; 0 for ever. */
  readonly waitMs: number;
  readonly database: number;
}

/** Exit codes of our own; the command's code is passed on otherwise. */
const EXIT_TIMED_OUT = 75;
const EXIT_LOST = 76;
const EXIT_NOT_FOUND = 127;

/**
 * Takes the lock, runs the command with LOCKSTEP_TOKEN, LOCKSTEP_LOCK and LOCKSTEP_OWNER in its
 * environment, and releases. The lock is extended at each third of its TTL; when that fails the
 * command is stopped, since somebody else may hold the lock by then. Returns the exit code.
 */
export async function runLocked(
  name: string,
  command: readonly string[],
  options: LockOptions,
): Promise<number> {
  const client = await openAny(options.addresses);
  const owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  const token = await acquire(client, name, owner, options).catch((error: Error) => {
    // An open connection would keep this process alive after the message.
    client.close();
    const hint = error.message.startsWith('NOAUTH') ? '; give one with --password' : '';
    throw new Error(`${error.message}${hint}`);
  });
  if (typeof token !== 'number') {
    client.close();
    console.error(`lockstep lock: '${name}' was not free within ${options.waitMs} ms`);
    return EXIT_TIMED_OUT;
  }
  if (command.length === 0) {
    console.log(`holding '${name}' with token ${token}; ctrl-c releases it`);
  }
  return holdWhile(client, name, owner, token, command, options);
}

/** The members in turn: each of them serves each lock. Throws one line that names all tried. */
async function openAny(addresses: readonly Address[]): Promise<RespClient> {
  const failures: string[] = [];
  for (const address of addresses) {
    try {
      return await RespClient.open(address);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      failures.push(`${formatAddress(address)}: ${code ?? message}`);
    }
  }
  throw new Error(`no member answered (${failures.join('; ')}); name one with --redis HOST:PORT`);
}

async function acquire(client: RespClient, name: string, owner: string, options: LockOptions) {
  if (options.password !== '') await client.call('AUTH', options.password);
  if (options.database !== 0) await client.call('SELECT', String(options.database));
  const ttl = String(options.ttlMs);
  return client.call(
    ...['LOCK', 'ACQUIRE', name, owner, 'PX', ttl, 'BLOCK', String(options.waitMs), 'SESSION'],
  );
}

async function holdWhile(
  client: RespClient,
  name: string,
  owner: string,
  token: number,
  command: readonly string[],
  options: LockOptions,
): Promise<number> {
  const child = command.length === 0 ? undefined : start(command, name, owner, token);
  return new Promise<number>((resolve) => {
    let settled = false;
    const finish = (code: number): void => {
      if (settled) return;
      settled = true;
      clearInterval(extending);
      client.onClose = () => undefined;
      const closed = client.call('LOCK', 'RELEASE', name, owner, 'TOKEN', String(token));
      closed
        .catch((error: Error) => console.error(`lockstep lock: release: ${error.message}`))
        .finally(() => {
          client.close();
          resolve(code);
        });
    };
    const lost = (why: string): void => {
      if (settled) return;
      console.error(`lockstep lock: '${name}' (token ${token}) is lost: ${why}`);
      child?.kill('SIGTERM');
      finish(EXIT_LOST);
    };
    const extending = setInterval(() => {
      client.call('LOCK', 'EXTEND', name, owner, 'PX', String(options.ttlMs)).then(
        (held) => held === 1 || lost('it expired or was taken'),
        (error: Error) => lost(error.message),
      );
    }, options.ttlMs / 3);
    client.onClose = (error) => lost(error?.message ?? 'the connection was closed');
    child?.on('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ENOENT' ? 'command not found' : error.message;
      console.error(`lockstep lock: ${command[0]}: ${why}`);
      finish(EXIT_NOT_FOUND);
    });
    child?.on('exit', (code, signal) =>
      finish(code ?? (signal === null ? 1 : 128 + signalOf(signal))),
    );
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => (child === undefined ? finish(0) : child.kill(signal)));
    }
  });
}

function start(command: readonly string[], name: string, owner: string, token: number) {
  const [program = '', ...args] = command;
  return spawn(program, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      LOCKSTEP_LOCK: name,
      LOCKSTEP_OWNER: owner,
      LOCKSTEP_TOKEN: String(token),
    },
  });
}

function signalOf(signal: NodeJS.Signals): number {
  return { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGTERM: 15 }[signal as 'SIGINT'] ?? 1;
}
