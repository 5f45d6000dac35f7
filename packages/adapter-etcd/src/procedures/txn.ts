import { type ByteString, invariant } from '@lockstep/model';
import {
  BudgetExceeded,
  type Procedure,
  type StateReader,
  TRANSACTION_STEPS_OPTION,
  type Transaction,
} from '@lockstep/state-machine';
import type { EtcdErrorName } from '../errors.ts';
import { contains, type KeyRange, keyRange } from '../key-range.ts';
import { ETCD, valueBytes } from '../keyspace.ts';
import {
  type DeleteOperation,
  type Operation,
  type RangeOperation,
  readTxn,
  type TxnOperation,
} from '../operation.ts';
import { type Selection, select } from '../selection.ts';
import { holds } from './compare.ts';
import { applyDelete, type DeleteResult } from './delete-range.ts';
import { type Failure, failure, ProcedureId } from './outcome.ts';
import { applyPut, checkKept, checkLease, type PutResult } from './put.ts';
import { bytesCost, COST, ReadWork, type Work } from './work.ts';

/** One answer per executed operation, with the store revision it saw or made. */
export type OperationResult =
  | { readonly kind: 'range'; readonly selection: Selection }
  | {
      readonly kind: 'put';
      readonly key: ByteString;
      readonly put: PutResult;
      readonly revision: number;
    }
  | { readonly kind: 'delete'; readonly delete: DeleteResult; readonly revision: number }
  | TxnResult;

export interface TxnResult {
  readonly kind: 'txn';
  readonly succeeded: boolean;
  readonly results: readonly OperationResult[];
}

/** The branch to run at each level, chosen before anything is written. */
interface Plan {
  readonly succeeded: boolean;
  readonly steps: readonly (Step | Plan)[];
}

/** All compares, those of nested transactions too, see the state before the transaction. */
function choose(reader: StateReader, txn: TxnOperation, work: Work): Plan {
  const succeeded = txn.comparisons.every((comparison) => holds(reader, comparison, work));
  const branch = succeeded ? txn.success : txn.failure;
  const steps = branch.map((step) => (step.kind === 'txn' ? choose(reader, step, work) : step));
  return { succeeded, steps };
}

type Step = Exclude<Operation, TxnOperation>;

/** The first error of the chosen path, which is then not run: puts are looked at before reads. */
function check(reader: StateReader, plan: Plan, work: Work): EtcdErrorName | undefined {
  const deleted: KeyRange[] = [];
  return (
    firstError(plan, (step) => checkPut(reader, step, deleted, work)) ??
    firstError(plan, (step) => (step.kind === 'range' ? checkRevision(reader, step) : undefined))
  );
}

/**
 * A put that keeps value or lease needs a key that no earlier step has deleted. What writes cost
 * is spent here, before the first of them.
 */
function checkPut(
  reader: StateReader,
  step: Step,
  deleted: KeyRange[],
  work: Work,
): EtcdErrorName | undefined {
  if (step.kind === 'delete') spendDeletion(reader, step, work);
  if (step.kind === 'delete') deleted.push(keyRange(step.key, step.rangeEnd));
  if (step.kind !== 'put') return undefined;
  work.spend(COST.put + (step.previous ? previousCost(reader, step.key) : 0));
  const keeps = step.ignoreValue || step.ignoreLease;
  if (keeps) work.spend(deleted.length);
  if (keeps && deleted.some((range) => contains(range, step.key))) return 'KEY_NOT_FOUND';
  return checkKept(reader, step) ?? checkLease(reader, step);
}

function previousCost(reader: StateReader, key: ByteString): number {
  const record = reader.get(ETCD, key);
  return record === undefined ? 0 : bytesCost(valueBytes(record.value).length);
}

function spendDeletion(reader: StateReader, step: DeleteOperation, work: Work): void {
  const { from, to, single } = keyRange(step.key, step.rangeEnd);
  work.spend(COST.put);
  if (single) {
    if (step.previous) work.spend(previousCost(reader, from));
    return;
  }
  if (to !== undefined && to <= from) return;
  reader.range(ETCD, from, to, (_key, { value }) => {
    work.spend(COST.deletion + (step.previous ? bytesCost(valueBytes(value).length) : 0));
    return undefined;
  });
}

function firstError(
  plan: Plan,
  test: (step: Step) => EtcdErrorName | undefined,
): EtcdErrorName | undefined {
  for (const step of plan.steps) {
    const error = 'kind' in step ? test(step) : firstError(step, test);
    if (error !== undefined) return error;
  }
  return undefined;
}

/** Inside a transaction a negative revision is not "now" but compacted. */
function checkRevision(reader: StateReader, range: RangeOperation): EtcdErrorName | undefined {
  const { revision } = range;
  if (revision > reader.revision) return 'FUTURE_REVISION';
  if (revision !== 0 && revision < Math.max(1, reader.compactedRevision(ETCD))) return 'COMPACTED';
  return undefined;
}

class Execution {
  readonly #reader: StateReader;
  readonly #tx: Transaction | undefined;
  readonly #work: Work;
  readonly #before: number;
  /** Store revision as the operations see it: moves once, with the first write. */
  #revision: number;

  constructor(reader: StateReader, tx: Transaction | undefined, work: Work) {
    this.#reader = reader;
    this.#tx = tx;
    this.#work = work;
    this.#before = reader.revision;
    this.#revision = this.#before;
  }

  run(plan: Plan): TxnResult {
    const results = plan.steps.map((step) => this.#step(step));
    return { kind: 'txn', succeeded: plan.succeeded, results };
  }

  #step(step: Step | Plan): OperationResult {
    if (!('kind' in step)) return this.run(step);
    if (step.kind === 'range') return { kind: 'range', selection: this.#select(step) };
    const tx = this.#tx;
    invariant(tx !== undefined, 'a read-only transaction holds a write');
    if (step.kind === 'put') {
      const put = applyPut(tx, step);
      this.#revision = put.revision;
      return { kind: 'put', key: step.key, put, revision: put.revision };
    }
    const written = tx.nextRevision;
    const result = applyDelete(tx, step);
    if (result.deleted > 0) this.#revision = written;
    return { kind: 'delete', delete: result, revision: this.#revision };
  }

  /** Revision 0 sees the writes made so far; one named by the client does not. */
  #select(range: RangeOperation): Selection {
    const unwritten = this.#revision === this.#before;
    const now = range.revision === 0 || (unwritten && range.revision === this.#before);
    const mode = { now, work: this.#work, wanted: this.#tx?.wanted ?? true };
    return select(this.#reader, range, this.#revision, mode);
  }
}

/** Runs a transaction of reads on applied state, outside of the log. */
export function readTransaction(reader: StateReader, txn: TxnOperation): TxnResult | Failure {
  const work = new ReadWork(reader.option(TRANSACTION_STEPS_OPTION));
  try {
    const plan = choose(reader, txn, work);
    const error = check(reader, plan, work);
    return error === undefined ? new Execution(reader, undefined, work).run(plan) : failure(error);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return failure('TOO_MANY_OPERATIONS');
  }
}

export const txnProcedure: Procedure<TxnOperation, TxnResult | Failure> = {
  id: ProcedureId.Txn,
  version: 1,
  name: 'etcd.txn',
  readOnly: false,
  decode: readTxn,
  run(tx, txn) {
    const plan = choose(tx, txn, tx);
    const error = check(tx, plan, tx);
    return error === undefined ? new Execution(tx, tx, tx).run(plan) : failure(error);
  },
};
