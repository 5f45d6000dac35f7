import type { ByteString, Revision } from '@lockstep/model';
import type { AnyKeyspace, ChangeEvent, LiveRecord } from './contract.ts';
import type { HistoryTable } from './history.ts';
import type { Slot } from './keyspace.ts';
import { encodeRecord, RECORD_OVERHEAD_BYTES } from './record.ts';
import type { Store } from './store.ts';

/** A change of a record: the event that subscribers see, and what commit and undo need. */
export class RecordChange implements ChangeEvent {
  readonly kind = 'change';
  readonly keyspace: AnyKeyspace;
  readonly key: ByteString;
  readonly revision: Revision;
  readonly sub: number;
  readonly record: LiveRecord | undefined;
  readonly previous: LiveRecord | undefined;
  readonly slot: Slot;

  constructor(
    slot: Slot,
    revision: Revision,
    sub: number,
    record: LiveRecord | undefined,
    previous: LiveRecord | undefined,
  ) {
    this.keyspace = slot.generation.table.definition;
    this.key = slot.key;
    this.revision = revision;
    this.sub = sub;
    this.record = record;
    this.previous = previous;
    this.slot = slot;
  }
}

/**
 * Makes a change last: bytes, hash, image, history. Of several changes of one record in a
 * transaction only the last is encoded, save where history keeps each.
 */
export function commitChange(store: Store, change: RecordChange): void {
  const { slot } = change;
  const { table } = slot.generation;
  slot.pending--;
  table.lastRevision = change.revision;
  if (table.history !== undefined) commitVersion(store, table.history, change);
  else if (slot.pending === 0) commitSlot(store, slot);
}

function commitSlot(store: Store, slot: Slot): void {
  const { generation, record, key } = slot;
  const { codec } = generation.table.definition;
  const { image } = store;
  generation.sum.subtract(slot.a, slot.b);
  generation.liveBytes -= slot.sizeBytes;
  if (record === undefined) {
    slot.a = 0;
    slot.b = 0;
    slot.sizeBytes = 0;
    image.set(slot.imageKey, undefined);
    return;
  }
  slot.sizeBytes = RECORD_OVERHEAD_BYTES + key.length + codec.sizeBytes(record.value);
  generation.liveBytes += slot.sizeBytes;
  encodeRecord(image.begin(), codec, record);
  const bytes = image.seal(slot.keyA, slot.keyB);
  setSlotHash(slot, image.hasher.a, image.hasher.b);
  image.set(slot.imageKey, bytes);
}

/** Takes over lanes of a record whose former ones are already subtracted. */
export function setSlotHash(slot: Slot, a: number, b: number): void {
  slot.a = a;
  slot.b = b;
  slot.generation.sum.add(a, b);
}

const TOMBSTONE = 0;
const LIVE = 1;

/**
 * A version's row is both history and, while it is the newest, the live record: values are
 * written once. Its hash counts in the state only while it is live and newest.
 */
function commitVersion(store: Store, history: HistoryTable, change: RecordChange): void {
  const { slot, record, key, revision } = change;
  const { generation } = slot;
  const { codec } = generation.table.definition;
  const { image } = store;
  const versions = slot.history!;
  let { sub } = change;
  let row = revision;
  generation.sum.subtract(slot.a, slot.b);
  slot.a = 0;
  slot.b = 0;
  let size = RECORD_OVERHEAD_BYTES + key.length;
  if (record !== undefined) size += codec.sizeBytes(record.value);
  if (record !== undefined && record.modRevision !== revision) {
    // Only lease or deadline moved: the newest version is written again in its place.
    const newest = versions.count - 1;
    row = versions.revision(newest);
    sub = versions.sub(newest);
    size = versions.sizeBytes(newest);
  } else {
    history.append(versions, row, sub, record !== undefined, size);
    generation.liveBytes += size;
  }
  const writer = image.begin();
  writer
    .byteString(key)
    .u8(record === undefined ? TOMBSTONE : LIVE)
    .varint(size);
  if (record !== undefined) encodeRecord(writer, codec, record);
  const bytes = image.seal(slot.keyA, slot.keyB);
  if (record !== undefined) setSlotHash(slot, image.hasher.a, image.hasher.b);
  image.set(history.imageKey(row, sub), bytes);
}
