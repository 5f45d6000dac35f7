import type { Allowance } from '@lockstep/lua';
import type { ByteString, ClusterTimeMs, WallTimeMs } from '@lockstep/model';
import type { StateReader, Transaction } from '@lockstep/state-machine';
import type { DoorSession } from './door-session.ts';
import type { RedisRecord } from './keyspaces.ts';
import type { ErrorReply, Reply } from './reply.ts';

/** Flags of COMMAND INFO; those we act on are described where they are used. */
export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'denyoom'
  | 'admin'
  | 'pubsub'
  | 'noscript'
  | 'blocking'
  | 'loading'
  | 'stale'
  | 'fast'
  | 'no_auth'
  | 'no_multi'
  | 'may_replicate'
  | 'movablekeys';

/** First key, last key (negative: from the end), step; zeros when there are none. */
export type KeyPositions = readonly [first: number, last: number, step: number];

export interface CommandSpec {
  /** Lower case; `client|setname` for a subcommand. */
  readonly name: string;
  /** Arguments with the name; negative: at least that many. */
  readonly arity: number;
  readonly flags: readonly CommandFlag[];
  readonly keys: KeyPositions;
  /** One line for COMMAND DOCS. */
  readonly summary: string;
  /** Runs on replicated state: inside the log, or behind a barrier when it only reads. */
  readonly run?: DataCommand;
  /** Runs at the door, on the connection's own state. */
  readonly door?: DoorCommand;
  /** What the door makes of the reply of `run`, at its place in the log; not in scripts. */
  readonly completed?: Completion;
  /** A door command that waits until everything before it is answered. */
  readonly exclusive?: boolean;
  /** The same for a data command whose arguments decide (a blocking LOCK ACQUIRE). */
  readonly blocks?: (argv: readonly ByteString[]) => boolean;
  /** Reply of a command that blocked, from the result of its waiter, at its origin. */
  readonly served?: (
    session: DoorSession,
    argv: readonly ByteString[],
    result: unknown,
    db: number,
  ) => Reply;
  /** Its entry carries who sent it (LOCK shows that to others). */
  readonly identified?: boolean;
  /** Keys when no positions can tell them (EVAL). */
  readonly keysOf?: (argv: readonly ByteString[]) => readonly ByteString[] | undefined;
  /** Feature level from which the log may carry it (design §2); left out: always. */
  readonly level?: number;
  readonly subcommands?: ReadonlyMap<string, CommandSpec>;
  /** The command inside a wrapper (GUARD): where its name stands. */
  readonly wraps?: (argv: readonly ByteString[]) => number;
}

/** Throws CommandError before its first write, never after it. */
export type DataCommand = (execution: Execution, argv: readonly ByteString[]) => Reply;
/** `db` was selected when the command was sent. */
export type Completion = (
  session: DoorSession,
  argv: readonly ByteString[],
  reply: Reply,
  db: number,
) => Reply;
export type DoorCommand = (session: DoorSession, argv: readonly ByteString[]) => Reply;

/** Who sent a command, for the few that store it. */
export interface ClientIdentity {
  readonly id: number;
  readonly address: ByteString;
}

/** Where one command runs: the state it sees, the time that counts, how it calls others. */
export interface Execution {
  readonly reader: StateReader;
  /** Undefined behind a barrier, where only read-only commands run. */
  readonly tx: Transaction | undefined;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  /** Selected database; a script may change its own. */
  db: number;
  readonly client: ClientIdentity | undefined;
  /** True in MULTI and scripts, where nothing blocks. */
  nested: boolean;
  /** What scripts may still use: all of one transaction share it (design §12). */
  readonly allowance: Allowance;
  /** 48 bits that look random and are the same on every member. */
  seed(): number;
  /** The command that `argv` names, or the error of an unknown name or wrong arity. */
  resolve(argv: readonly ByteString[]): CommandSpec | ErrorReply;
  /** Runs a command inside another one (EVAL, GUARD); errors are replies. */
  perform(spec: CommandSpec, argv: readonly ByteString[]): Reply;
  get(key: ByteString): RedisRecord | undefined;
  /** Counts work against the budget (design §12); throws BudgetExceeded over it. */
  spend(steps: number): void;
  /** Counts bytes of values that are gone through or made. */
  spendBytes(bytes: number): void;
  /** Keyspace notification of a change of `key`. */
  notify(letter: string, event: ByteString, key: ByteString): void;
}

export function hasFlag(spec: CommandSpec, flag: CommandFlag): boolean {
  return spec.flags.includes(flag);
}

export function arityFits(spec: CommandSpec, count: number): boolean {
  return spec.arity < 0 ? count >= -spec.arity : count === spec.arity;
}
