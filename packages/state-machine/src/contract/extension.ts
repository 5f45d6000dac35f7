import type { BinaryReader, LeaseKind } from '@lockstep/model';
import type { Lease, WaiterKind } from './coordination.ts';
import type { AnyKeyspace } from './record.ts';
import type { Transaction } from './writing.ts';

/**
 * A named, versioned step of the replicated state. Rules of design §2: log and state only; decide
 * every branch and error before the first write; no order from Map or Set history.
 */
export interface Procedure<A = unknown, R = unknown> {
  /** See ProcedureFamily; (id, version) is unique and never reused. */
  readonly id: number;
  readonly version: number;
  readonly name: string;
  /** Writes nothing: runs only on the member whose client waits, takes no revision. */
  readonly readOnly: boolean;
  /** Feature level from which it may be written; left out: that of the first release. */
  readonly since?: number;
  /** Applied to the state of a stopped member only: no leader takes it into a log. */
  readonly offline?: boolean;
  /** Views into the log entry: copy what is stored. Throws BinaryFormatError: the command is then
   * void on every member, since all decode alike. */
  decode(reader: BinaryReader): A;
  /** The result goes to the origin's door; errors a client can cause are results, not throws. */
  run(tx: Transaction, args: A): R;
}

// biome-ignore lint/suspicious/noExplicitAny: tables hold procedures of mixed argument types.
export type AnyProcedure = Procedure<any, unknown>;

/** Thrown by `Transaction.spend` over budget; the machine undoes the transaction (design §12). */
export class BudgetExceeded extends Error {
  override name = 'BudgetExceeded';
}

/** Option that changes what apply does: replicated, seeded at formation (design §10). */
export interface ClusterOption<T extends number | string | boolean = number | string | boolean> {
  readonly name: string;
  readonly default: T;
  readonly doc: string;
  /** Feature level from which it may be set; left out: that of the first release. */
  readonly since?: number;
  /** Least and greatest value of a number; numbers are whole. */
  readonly min?: number;
  readonly max?: number;
  /** The only texts that are accepted. */
  readonly choices?: readonly string[];
  /** The only characters that a text may be made of. */
  readonly alphabet?: string;
}

/** What a door contributes. */
export interface Extension {
  readonly name: string;
  readonly keyspaces: readonly AnyKeyspace[];
  readonly procedures: readonly AnyProcedure[];
  readonly waiters?: readonly WaiterKind[];
  readonly options?: readonly ClusterOption[];
  /**
   * Runs inside the transaction in which a lease of that kind ends, before it is removed: deletes
   * the records that hang on it. Left out: they are deleted in (keyspace, key) order.
   */
  readonly leaseEnded?: ReadonlyMap<LeaseKind, (tx: Transaction, lease: Lease) => void>;
}
