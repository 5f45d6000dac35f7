import { type ByteString, compareBytes } from '@lockstep/model';
import type { HistoryReference, LiveRecord, StateReader } from '@lockstep/state-machine';
import { isEmptyRange, type KeyRange, keyRange } from './key-range.ts';
import { ETCD, type EtcdRecord, type EtcdValue, valueBytes } from './keyspace.ts';
import { type RangeOperation, SortOrder, SortTarget } from './operation.ts';
import { bytesCost, COST, UNCOUNTED, type Work } from './procedures/work.ts';

/** A key with its record; the record is missing until history was read. */
interface Row {
  readonly key: ByteString;
  record: EtcdRecord | undefined;
}

/**
 * The answer to a Range, before it is bytes. Records that are no longer live stand in `missing`;
 * `complete` fills them in after apply (design §12).
 */
export interface Selection {
  readonly operation: RangeOperation;
  rows: Row[];
  /** History versions of the rows without a record, in their order. */
  readonly missing: HistoryReference[];
  /** Keys in the range, whatever limit and filters say. */
  readonly count: number;
  more: boolean;
  /** Store revision for the header of the answer. */
  readonly revision: number;
}

/** How a selection is made, where it is not a plain Range at the present. */
export interface SelectionMode {
  /** Whether live records are those asked for. */
  readonly now?: boolean;
  readonly work?: Work;
  /** False where nobody waits for the rows: then they are counted, at the same cost. */
  readonly wanted?: boolean;
}

/**
 * Selects at the present, or at `operation.revision` when that is above 0. The caller has checked
 * that it is neither compacted nor in the future. `present` is the revision of the answer. Throws
 * BudgetExceeded when `work` does.
 */
export function select(
  reader: StateReader,
  operation: RangeOperation,
  present: number,
  mode: SelectionMode = {},
): Selection {
  const range = keyRange(operation.key, operation.rangeEnd);
  const { work = UNCOUNTED, wanted = true } = mode;
  const { now = operation.revision <= 0 || operation.revision === present } = mode;
  work.spend(COST.lookUp);
  const draft: Draft = {
    ...{ operation, work, wanted, rows: [], missing: [] },
    ...{ taken: 0, count: 0, more: false },
  };
  if (!isEmptyRange(range)) {
    if (now) selectLive(reader, range, draft);
    else selectHistory(reader, range, draft);
  }
  const { rows, missing, count, more } = draft;
  const selection = { operation, rows, missing, count, more, revision: present };
  if (draft.missing.length === 0) finish(selection);
  return selection;
}

/** Fills in what was read of history (in the order of `missing`), then sorts and limits. */
export function complete(selection: Selection, records: readonly LiveRecord[]): void {
  let next = 0;
  for (const row of selection.rows) row.record ??= records[next++] as EtcdRecord;
  selection.missing.length = 0;
  finish(selection);
}

interface Draft {
  readonly operation: RangeOperation;
  readonly work: Work;
  readonly wanted: boolean;
  /** Rows so far, kept or not. */
  taken: number;
  readonly rows: Row[];
  readonly missing: HistoryReference[];
  count: number;
  more: boolean;
}

function selectLive(reader: StateReader, range: KeyRange, draft: Draft): void {
  const { operation, work, wanted } = draft;
  const rowsMax = limitWhileReading(operation);
  const rowCost = rowCostOf(operation);
  const take = (key: ByteString, record: EtcdRecord): undefined => {
    draft.count += 1;
    work.spend(COST.visit);
    if (operation.countOnly || draft.taken >= rowsMax) return;
    if (passesMod(operation, record.modRevision) && passesCreate(operation, record)) {
      draft.taken += 1;
      work.spend(rowCost + bytesCost(valueBytes(record.value).length));
      if (wanted) draft.rows.push({ key, record });
    }
  };
  if (range.single) {
    const record = reader.get(ETCD, range.from);
    if (record !== undefined) take(range.from, record);
  } else if (operation.countOnly && range.from <= '\0' && range.to === undefined) {
    draft.count = reader.size(ETCD);
  } else {
    reader.range(ETCD, range.from, range.to, take);
  }
}

function selectHistory(reader: StateReader, range: KeyRange, draft: Draft): void {
  const { operation, work, wanted } = draft;
  const rowsMax = limitWhileReading(operation);
  const rowCost = rowCostOf(operation);
  reader.rangeAt(ETCD, range.from, range.to, operation.revision, (reference) => {
    draft.count += 1;
    work.spend(COST.visit);
    if (operation.countOnly || draft.taken >= rowsMax) return undefined;
    if (!passesMod(operation, reference.revision)) return undefined;
    draft.taken += 1;
    // Most keys have not changed since: their live record is the version asked for.
    const live = reader.get<EtcdValue>(ETCD, reference.key);
    const record = live?.modRevision === reference.revision ? live : undefined;
    const bytes = record && bytesCost(valueBytes(record.value).length);
    work.spend(rowCost + (bytes ?? COST.historyRow));
    if (!wanted) return undefined;
    if (record === undefined) draft.missing.push(reference);
    draft.rows.push({ key: reference.key, record });
    return undefined;
  });
}

const rowCostOf = (operation: RangeOperation): number =>
  sorts(operation) ? COST.sortedRow : COST.row;

/** One more than the limit tells `more`; sorting, or a filter that history answers, needs all. */
function limitWhileReading(operation: RangeOperation): number {
  if (operation.limit === 0 || sorts(operation)) return Number.MAX_SAFE_INTEGER;
  const late = operation.minCreateRevision !== 0 || operation.maxCreateRevision !== 0;
  return late ? Number.MAX_SAFE_INTEGER : operation.limit + 1;
}

/** True when the answer is in another order than that of the keys. */
function sorts(operation: RangeOperation): boolean {
  const { sortOrder, sortTarget } = operation;
  return sortOrder === SortOrder.Descend || sortTarget !== SortTarget.Key;
}

function passesMod(operation: RangeOperation, revision: number): boolean {
  const { minModRevision: min, maxModRevision: max } = operation;
  return (min === 0 || revision >= min) && (max === 0 || revision <= max);
}

function passesCreate(operation: RangeOperation, record: EtcdRecord): boolean {
  const { minCreateRevision: min, maxCreateRevision: max } = operation;
  const revision = record.createRevision;
  return (min === 0 || revision >= min) && (max === 0 || revision <= max);
}

function finish(selection: Selection): void {
  const { operation } = selection;
  selection.rows = selection.rows.filter((row) => passesCreate(operation, row.record!));
  if (sorts(operation)) {
    const compare = COMPARERS[operation.sortTarget]!;
    const sign = operation.sortOrder === SortOrder.Descend ? -1 : 1;
    selection.rows.sort((a, b) => sign * compare(a, b));
  }
  if (operation.limit > 0 && selection.rows.length > operation.limit) {
    selection.rows.length = operation.limit;
    selection.more = true;
  }
}

const COMPARERS: Readonly<Record<number, (a: Row, b: Row) => number>> = {
  [SortTarget.Key]: (a, b) => (a.key < b.key ? -1 : 1),
  [SortTarget.Version]: (a, b) => a.record!.version - b.record!.version,
  [SortTarget.Create]: (a, b) => a.record!.createRevision - b.record!.createRevision,
  [SortTarget.Mod]: (a, b) => a.record!.modRevision - b.record!.modRevision,
  [SortTarget.Value]: (a, b) =>
    compareBytes(valueBytes(a.record!.value), valueBytes(b.record!.value)),
};
