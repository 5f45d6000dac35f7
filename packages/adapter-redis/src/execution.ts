import { type Allowance, DEFAULT_BUDGET } from '@lockstep/lua';
import { type ByteString, type ClusterTimeMs, LIMITS, type WallTimeMs } from '@lockstep/model';
import {
  BudgetExceeded,
  type StateReader,
  TRANSACTION_STEPS_OPTION,
  type Transaction,
} from '@lockstep/state-machine';
import type { ClientIdentity, CommandSpec, Execution } from './command.ts';
import { resolveCommand } from './command-table.ts';
import { CommandError, OVER_BUDGET } from './errors.ts';
import { keyspaceOf, type RedisRecord } from './keyspaces.ts';
import { notifyKeyspace } from './notification.ts';
import { type ErrorReply, error, isError, type Reply } from './reply.ts';
import { scanHash } from './scan.ts';

/** Bytes of arguments, values and replies that cost one step of the budget. */
const BYTES_PER_STEP = 64;
/** What an item of a reply takes beside its own bytes. */
const ITEM_BYTES = 16;

export interface ExecutionOptions {
  readonly reader: StateReader;
  readonly tx?: Transaction;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  readonly db: number;
  readonly client?: ClientIdentity | undefined;
  readonly nested?: boolean;
  /** Shared by the commands of an EXEC; left out: one of its own. */
  readonly allowance?: Allowance;
  /** Seed of what must look random where no log entry gives one. */
  readonly seed?: number;
}

/** One command, or one transaction's row of commands, on a state. */
export class CommandExecution implements Execution {
  readonly reader: StateReader;
  readonly tx: Transaction | undefined;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  readonly client: ClientIdentity | undefined;
  nested: boolean;
  db: number;
  #allowance: Allowance | undefined;
  readonly #seed: number | undefined;
  #drawn = 0;
  /** Steps of a read behind a barrier, which has no transaction to count them. */
  #spent = 0;

  constructor(options: ExecutionOptions) {
    this.reader = options.reader;
    this.tx = options.tx;
    this.time = options.time;
    this.wall = options.wall;
    this.db = options.db;
    this.client = options.client;
    this.nested = options.nested ?? false;
    this.#allowance = options.allowance;
    this.#seed = options.seed;
  }

  /** Made when a script asks for it: most commands run none. */
  get allowance(): Allowance {
    this.#allowance ??= { ...DEFAULT_BUDGET };
    return this.#allowance;
  }

  seed(): number {
    this.#drawn++;
    const base = this.tx === undefined ? this.#seed : this.tx.entryIndex;
    return scanHash(`${base}:${this.tx?.sequence}:${this.#drawn}`);
  }

  resolve(argv: readonly ByteString[]): CommandSpec | ErrorReply {
    return resolveCommand(argv, this.reader.featureLevel);
  }

  perform(spec: CommandSpec, argv: readonly ByteString[]): Reply {
    if (spec.run === undefined) throw new CommandError('ERR command has no place in a transaction');
    this.spend(cost(argv));
    try {
      const reply = spec.run(this, argv);
      this.spendBytes(replyBytes(reply));
      return reply;
    } catch (failure) {
      if (failure instanceof CommandError) return failure.reply;
      throw failure;
    }
  }

  spend(steps: number): void {
    if (this.tx !== undefined) {
      this.tx.spend(steps);
      return;
    }
    this.#spent += steps;
    const limit = this.reader.option(TRANSACTION_STEPS_OPTION);
    if (this.#spent > limit) throw new BudgetExceeded(`read spent ${this.#spent} of ${limit}`);
  }

  spendBytes(bytes: number): void {
    if (bytes >= BYTES_PER_STEP) this.spend(Math.floor(bytes / BYTES_PER_STEP));
  }

  get(key: ByteString): RedisRecord | undefined {
    return this.reader.get(keyspaceOf(this.db), key);
  }

  notify(letter: string, event: ByteString, key: ByteString): void {
    if (this.tx !== undefined) notifyKeyspace(this.tx, this.db, letter, event, key);
  }
}

/** A read behind a barrier has no transaction that the machine could undo for it. */
export function performRead(
  execution: CommandExecution,
  spec: CommandSpec,
  argv: readonly ByteString[],
): Reply {
  try {
    return execution.perform(spec, argv);
  } catch (failure) {
    if (failure instanceof BudgetExceeded) return error(OVER_BUDGET);
    throw failure;
  }
}

/** Resolves and runs; what the log holds was resolved at the door before, by the same table. */
export function runCommand(execution: Execution, argv: readonly ByteString[]): Reply {
  const spec = execution.resolve(argv);
  return isError(spec as Reply)
    ? (spec as ErrorReply)
    : execution.perform(spec as CommandSpec, argv);
}

/** About how many bytes it is on the wire: strings in it are references until it is written. */
function replyBytes(reply: Reply): number {
  if (typeof reply === 'string') return reply.length;
  if (typeof reply !== 'object' || reply === null) return 0;
  if ('kind' in reply) {
    if ('items' in reply) return replyBytes(reply.items);
    return 'text' in reply ? reply.text.length : 0;
  }
  let bytes = 0;
  for (const item of reply) bytes += ITEM_BYTES + replyBytes(item);
  return bytes;
}

function cost(argv: readonly ByteString[]): number {
  let bytes = 0;
  for (const argument of argv) bytes += argument.length;
  return argv.length + Math.floor(Math.min(bytes, LIMITS.commandBytesMaxRedis) / BYTES_PER_STEP);
}
