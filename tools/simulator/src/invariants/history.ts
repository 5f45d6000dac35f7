import { BinaryWriter, type Index, type LogEntry, type Term } from '@lockstep/model';
import type {
  AppliedTransaction,
  CommandOutcome,
  LiveRecord,
  StateEvent,
} from '@lockstep/state-machine';
import { mixNumber, mixText } from '../seed.ts';
import type { World } from '../world.ts';

/** What the first member to apply an index made of it; all others must make the same of it. */
interface CanonicalEntry {
  readonly term: Term;
  readonly time: number;
  /** Ordinals of its first transaction and result among those of all entries. */
  readonly firstTransaction: number;
  readonly firstResult: number;
  transactions: number;
  results: number;
  /** State hash behind it; undefined until somebody has finished it. */
  hash: string | undefined;
}

export interface CanonicalResult {
  readonly index: Index;
  readonly ordinal: number;
}

/** Told of each thing when it becomes part of the canonical history, once. */
export interface HistoryListener {
  entry?(index: Index, term: Term, entry: LogEntry): void;
  transaction?(transaction: AppliedTransaction, index: Index): void;
  result?(key: string, outcome: CommandOutcome, at: CanonicalResult): void;
}

/** Place of one machine in the history. */
export interface HistoryCursor {
  index: Index;
  transactions: number;
  results: number;
}

/**
 * StateMachineSafety, StateHash and AppliedOrder: the one history that all members must apply,
 * with the same terms, transactions, outcomes and state hashes at the same indexes.
 */
export class History {
  readonly listeners: HistoryListener[] = [];
  readonly #world: World;
  readonly #entries: (CanonicalEntry | undefined)[] = [];
  readonly #transactions: number[] = [];
  readonly #results: string[] = [];
  readonly #byKey = new Map<string, CanonicalResult>();
  #last: Index = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Highest index that anybody has begun to apply: everything up to it is committed. */
  get lastIndex(): Index {
    return this.#last;
  }

  get transactionCount(): number {
    return this.#transactions.length;
  }

  termAt(index: Index): Term | undefined {
    return this.#entries[index]?.term;
  }

  hashAt(index: Index): string | undefined {
    return this.#entries[index]?.hash;
  }

  /** Where a command's outcome stands, if it was ever applied. */
  resultOf(key: string): CanonicalResult | undefined {
    return this.#byKey.get(key);
  }

  /** Ordinal of the first transaction behind an index. */
  transactionsThrough(index: Index): number {
    return this.#entries[index + 1]?.firstTransaction ?? this.#transactions.length;
  }

  begin(who: string, cursor: HistoryCursor, index: Index, term: Term, decoded: LogEntry): void {
    const { time } = decoded;
    if (index !== cursor.index + 1) {
      this.#fail('AppliedOrder', `${who} applies ${index} behind ${cursor.index}`);
    }
    cursor.index = index;
    cursor.transactions = 0;
    cursor.results = 0;
    const known = this.#entries[index];
    if (known !== undefined) {
      if (known.term !== term || known.time !== time) {
        const what = `term ${term} time ${time}, was term ${known.term} time ${known.time}`;
        this.#fail('StateMachineSafety', `${who} applies index ${index} of ${what}`);
      }
      return;
    }
    if (index !== this.#last + 1) {
      this.#fail('AppliedOrder', `${who} applies ${index}, nobody applied ${this.#last + 1}`);
    }
    this.#last = index;
    this.#entries[index] = {
      term,
      time,
      firstTransaction: this.#transactions.length,
      firstResult: this.#results.length,
      transactions: 0,
      results: 0,
      hash: undefined,
    };
    for (const listener of this.listeners) listener.entry?.(index, term, decoded);
  }

  /** Returns the transaction's ordinal. */
  transaction(who: string, cursor: HistoryCursor, transaction: AppliedTransaction): number {
    const entry = this.#entries[cursor.index]!;
    const at = cursor.transactions++;
    const digest = digestOf(transaction);
    const ordinal = entry.firstTransaction + at;
    if (at < entry.transactions) {
      if (this.#transactions[ordinal] !== digest) {
        this.#fail('SameEvents', `${who}: transaction ${at} of index ${cursor.index} differs`);
      }
      return ordinal;
    }
    if (entry.hash !== undefined || ordinal !== this.#transactions.length) {
      this.#fail('SameEvents', `${who}: index ${cursor.index} has a transaction ${at} too many`);
      return ordinal;
    }
    entry.transactions += 1;
    this.#transactions.push(digest);
    this.#world.note(`${cursor.index}/${at}=${digest}`);
    for (const listener of this.listeners) listener.transaction?.(transaction, cursor.index);
    return ordinal;
  }

  result(who: string, cursor: HistoryCursor, key: string, outcome: CommandOutcome): void {
    const entry = this.#entries[cursor.index]!;
    const at = cursor.results++;
    const ordinal = entry.firstResult + at;
    const text = outcome.kind === 'void' ? outcome.reason : `done at ${outcome.revision}`;
    const line = `${key} ${text}`;
    if (at < entry.results) {
      if (this.#results[ordinal] !== line) {
        const other = this.#results[ordinal];
        this.#fail('SameOutcomes', `${who} at index ${cursor.index}: ${line}, was ${other}`);
      }
      return;
    }
    if (entry.hash !== undefined || ordinal !== this.#results.length) {
      this.#fail('SameOutcomes', `${who}: index ${cursor.index} has an outcome too many: ${line}`);
      return;
    }
    entry.results += 1;
    this.#results.push(line);
    const place = { index: cursor.index, ordinal };
    if (outcome.kind === 'done' || outcome.reason === 'budget') this.#byKey.set(key, place);
    for (const listener of this.listeners) listener.result?.(key, outcome, place);
  }

  finish(who: string, cursor: HistoryCursor, hash: string): void {
    const entry = this.#entries[cursor.index]!;
    if (entry.hash === undefined) {
      entry.hash = hash;
    } else if (entry.hash !== hash) {
      this.#fail('StateHash', `${who}: ${hash} at index ${cursor.index}, was ${entry.hash}`);
    }
    if (cursor.transactions !== entry.transactions || cursor.results !== entry.results) {
      this.#fail('SameOutcomes', `${who}: index ${cursor.index} ends too early`);
    }
  }

  #fail(invariant: string, message: string): void {
    this.#world.fail(invariant, message);
  }
}

/** Everything of a transaction that members must agree on, as a number. */
export function digestOf(transaction: AppliedTransaction): number {
  const { revision, time, wall, origin, sequence, events } = transaction;
  let digest = mixText(0x811c9dc5, `${revision} ${time} ${wall} ${origin} ${sequence}`);
  for (const event of events) digest = digestEvent(digest, event);
  return digest;
}

function digestEvent(digest: number, event: StateEvent): number {
  switch (event.kind) {
    case 'change': {
      const { keyspace, key, revision, sub, record, previous } = event;
      let mixed = mixText(digest, `change ${keyspace.id} ${key} ${revision}/${sub}`);
      mixed = digestRecord(mixed, keyspace, record);
      return digestRecord(mixed, keyspace, previous);
    }
    case 'clear':
      return mixText(digest, `clear ${event.keyspace.id} ${event.revision}`);
    case 'lease-ended':
      return mixText(digest, `lease ${event.lease.handle} ${event.cause}`);
    case 'door':
      return mixText(digest, `door ${event.door} ${textOf(event.payload)}`);
    case 'waiter':
      return mixText(digest, `waiter ${event.waiter.id} ${event.outcome} ${textOf(event.result)}`);
  }
}

function digestRecord(
  digest: number,
  keyspace: { readonly codec: { encode(writer: BinaryWriter, value: unknown): void } },
  record: LiveRecord | undefined,
): number {
  if (record === undefined) return mixText(digest, 'none');
  const { createRevision, modRevision, version, token, lease, deadline, value } = record;
  const numbers = `${createRevision} ${modRevision} ${version} ${token} ${lease} ${deadline}`;
  const writer = new BinaryWriter(64);
  keyspace.codec.encode(writer, value);
  let mixed = mixText(digest, numbers);
  for (const byte of writer.take()) mixed = mixNumber(mixed, byte);
  return mixed;
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? `${each}n` : each));
}
