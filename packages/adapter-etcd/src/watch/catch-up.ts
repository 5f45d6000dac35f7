import type { Revision } from '@lockstep/model';
import type { HistoryReference, LiveRecord, StateView } from '@lockstep/state-machine';
import type { Event } from '../gen/kv.ts';
import { contains, type KeyRange } from '../key-range.ts';
import { ETCD, type EtcdRecord, type EtcdValue } from '../keyspace.ts';
import { watchEvent } from '../replies.ts';

/** One change as history names it, with the records that are still live filled in. */
interface Change {
  readonly reference: HistoryReference;
  record: EtcdRecord | undefined;
  readonly previousReference: HistoryReference | undefined;
  previous: EtcdRecord | undefined;
}

/** A stretch of history, whole revisions only; values not live stand in `missing`. */
export interface Stretch {
  readonly changes: readonly Change[];
  /** Distinct revisions among the changes. */
  readonly revisions: number;
  /** First revision not covered: where the next stretch begins. */
  readonly next: Revision;
  readonly missing: readonly HistoryReference[];
}

export interface StretchRequest {
  readonly range: KeyRange;
  readonly first: Revision;
  readonly wantsPuts: boolean;
  readonly wantsDeletes: boolean;
  readonly wantsPrevious: boolean;
  /** Stops at the end of the revision in which either is reached. */
  readonly revisionsMax: number;
  readonly changesMax: number;
}

/** Changes looked at before giving way to other work, matching or not. */
const VISITS_MAX = 10_000;

/** Collects the changes of a range from `first` on; `first` is not compacted. */
export function readStretch(state: StateView, request: StretchRequest): Stretch {
  const { range, first } = request;
  const changes: Change[] = [];
  let visits = 0;
  let revisions = 0;
  let current = 0;
  let full = false;
  // A watcher may wait for a revision that this member has not reached.
  let next = Math.max(first, state.revision + 1);
  state.changesBetween(ETCD, first, state.revision, (reference) => {
    if (full && reference.revision !== current) {
      next = reference.revision;
      return false;
    }
    visits += 1;
    if (visits >= VISITS_MAX) full = true;
    const wanted = reference.live ? request.wantsPuts : request.wantsDeletes;
    if (wanted && contains(range, reference.key)) {
      if (changes.at(-1)?.reference.revision !== reference.revision) revisions += 1;
      changes.push(changeOf(state, reference, request.wantsPrevious));
      if (revisions >= request.revisionsMax || changes.length >= request.changesMax) full = true;
    }
    current = reference.revision;
    return undefined;
  });
  return { changes, revisions, next, missing: changes.flatMap(missingOf) };
}

function changeOf(state: StateView, reference: HistoryReference, wantsPrevious: boolean): Change {
  const previousReference = wantsPrevious ? previousOf(state, reference) : undefined;
  return {
    reference,
    record: liveRecord(state, reference),
    previousReference,
    previous: previousReference && liveRecord(state, previousReference),
  };
}

/** The version before, unless it could no longer be read at the revision before the change. */
function previousOf(state: StateView, reference: HistoryReference): HistoryReference | undefined {
  const { key, revision } = reference;
  if (revision - 1 < state.compactedRevision(ETCD)) return undefined;
  const previous = state.versionBefore(ETCD, key, revision);
  return previous?.live ? previous : undefined;
}

/** The version's record when it is still the live one; never that of a put after a delete. */
function liveRecord(state: StateView, reference: HistoryReference): EtcdRecord | undefined {
  if (!reference.live) return undefined;
  const live = state.get<EtcdValue>(ETCD, reference.key);
  return live?.modRevision === reference.revision ? live : undefined;
}

function missingOf(change: Change): HistoryReference[] {
  const missing: HistoryReference[] = [];
  if (change.reference.live && change.record === undefined) missing.push(change.reference);
  if (change.previousReference !== undefined && change.previous === undefined) {
    missing.push(change.previousReference);
  }
  return missing;
}

/** The stretch as events; `records` are the values of `missing`, in that order. */
export function stretchEvents(stretch: Stretch, records: readonly LiveRecord[]): Event[] {
  let at = 0;
  return stretch.changes.map((change) => {
    const { reference } = change;
    const { key, revision } = reference;
    if (reference.live) change.record ??= records[at++] as EtcdRecord;
    if (change.previousReference !== undefined) change.previous ??= records[at++] as EtcdRecord;
    // A key deleted and created again in one revision has nothing before it.
    const creates = change.record?.createRevision === revision;
    return watchEvent(key, revision, change.record, creates ? undefined : change.previous);
  });
}
