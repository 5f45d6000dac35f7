import {
  BinaryReader,
  type ByteString,
  InvariantError,
  invariant,
  toByteString,
  UnknownFormatError,
} from '@lockstep/model';
import { decodeDuplicate } from './duplicate-table.ts';
import { CHECK_BYTES, type SystemRow, Table } from './image.ts';
import { Generation, type KeyspaceTable } from './keyspace.ts';
import { decodeLease } from './lease/lease-table.ts';
import { FenceRow } from './lock/fence-table.ts';
import { decodeLockNote, LockNoteRow, noteBytes } from './lock/lock-note.ts';
import { decodeWaiter } from './lock/wait-queue.ts';
import { decodeRecord, RECORD_OVERHEAD_BYTES } from './record.ts';
import { setSlotHash } from './record-change.ts';
import { hashText } from './state-hash.ts';
import { IMAGE_FORMAT, type MetaRow, type Store } from './store.ts';
import { decodeMember } from './system/member-table.ts';
import { decodeOption } from './system/option-table.ts';
import { decodeRemoved } from './system/removed-table.ts';

/** Verifies the check of a row, whatever it holds. */
export function checkRow(store: Store, keyBytes: Uint8Array, value: Uint8Array): void {
  const text = toByteString(keyBytes);
  invariant(text.length >= 2, () => `image key of ${text.length} bytes`);
  const table = text.charCodeAt(0) * 256 + text.charCodeAt(1);
  const space = store.tableById(table);
  const key =
    space?.history === undefined
      ? // Behind the number of the generation.
        text.slice(space === undefined ? 2 : 6)
      : new BinaryReader(value, CHECK_BYTES).byteString();
  store.image.open(table, key, value);
}

/**
 * Rebuilds a store from image rows in key order: meta and system tables come before keyspaces by
 * their numbers, so that a record finds its generation, lease and compaction progress known.
 */
export class ImageLoader {
  readonly #store: Store;
  /** Keys of generations that a crash left half freed, by prefix. */
  readonly #stale = new Map<ByteString, ByteString[]>();
  #meta = false;

  constructor(store: Store) {
    this.#store = store;
    store.forgetBootstrap();
  }

  row(keyBytes: Uint8Array, value: Uint8Array): void {
    const text = toByteString(keyBytes);
    invariant(text.length >= 2, () => `image key of ${text.length} bytes`);
    const table = text.charCodeAt(0) * 256 + text.charCodeAt(1);
    const key = text.slice(2);
    if (table >= Table.FirstKeyspace) this.#keyspaceRow(table, key, value);
    else this.#systemRow(table, key, this.#store.image.open(table, key, value));
  }

  #systemRow(table: number, key: ByteString, reader: BinaryReader): void {
    const { image } = this.#store;
    if (table === Table.Meta) {
      this.#meta = true;
      decodeMeta(this.#store.meta, reader);
      this.#store.checkFeatureLevel(this.#store.meta.featureLevel);
      this.#store.meta.a = image.hasher.a;
      this.#store.meta.b = image.hasher.b;
      return;
    }
    invariant(this.#meta, 'image has no meta row');
    const { a, b } = image.hasher;
    const row = this.#addSystemRow(table, key, reader);
    image.hasher.resume(a, b);
    image.loadHash(row);
  }

  #addSystemRow(table: number, key: ByteString, reader: BinaryReader): SystemRow {
    const store = this.#store;
    switch (table) {
      case Table.Keyspaces:
        return decodeKeyspaceRow(store, key, reader);
      case Table.Options: {
        const row = decodeOption(key, reader);
        store.options.set(row.name, row);
        return row;
      }
      case Table.Members: {
        const row = decodeMember(numberOf(key), reader);
        store.members.set(row.id, row);
        return row;
      }
      case Table.Duplicates: {
        const row = decodeDuplicate(numberOf(key), reader);
        store.duplicates.rows.set(row.member, row);
        return row;
      }
      case Table.Leases: {
        const lease = decodeLease(numberOf(key), reader);
        store.leases.add(lease);
        return lease;
      }
      case Table.LeaseDeadlines: {
        const lease = store.leases.get(numberOf(key));
        invariant(lease !== undefined, () => `deadline of unknown lease ${numberOf(key)}`);
        store.setLeaseDeadline(lease, reader.f64());
        return lease.deadlineRow;
      }
      case Table.Waiters: {
        const waiter = decodeWaiter(numberOf(key), reader, (id) => this.#space(id));
        store.queues.add(waiter);
        store.setWaiterDeadline(waiter, waiter.deadline);
        return waiter;
      }
      case Table.LockNotes: {
        const space = this.#space(key.charCodeAt(0) * 256 + key.charCodeAt(1));
        const row = new LockNoteRow(space, key.slice(2), decodeLockNote(reader));
        space.notes.set(row.key, row);
        store.noteBytes += noteBytes(row);
        return row;
      }
      case Table.Fences: {
        const row = new FenceRow(key, reader.f64());
        store.fences.add(row);
        return row;
      }
      case Table.RemovedMembers: {
        const row = decodeRemoved(numberOf(key), reader);
        store.removed.set(row.id, row);
        return row;
      }
      default:
        throw new UnknownFormatError(`image table ${table} is unknown`);
    }
  }

  #space(id: number): KeyspaceTable {
    const space = this.#store.tableById(id);
    invariant(space !== undefined, () => `keyspace ${id} of the image is unknown here`);
    return space;
  }

  #keyspaceRow(table: number, key: ByteString, value: Uint8Array): void {
    const space = this.#space(table);
    if (space.history !== undefined) {
      this.#version(space, key, value);
      return;
    }
    const { generation } = space;
    const prefix = key.slice(0, 4);
    const name = key.slice(4);
    if (generation.prefix.slice(2) !== prefix) {
      const full = generation.prefix.slice(0, 2) + prefix;
      const keys = this.#stale.get(full);
      if (keys === undefined) this.#stale.set(full, [name]);
      else keys.push(name);
      return;
    }
    const { image } = this.#store;
    const reader = image.open(table, name, value);
    const { a, b } = image.hasher;
    const slot = space.addSlot(name, image.hasher);
    setSlotHash(slot, a, b);
    slot.record = decodeRecord(reader, space.definition.codec);
    slot.sizeBytes = recordBytes(space, name, slot.record.value);
    generation.liveBytes += slot.sizeBytes;
  }

  /** A version of a keyspace with history; the newest live one of a key becomes its record. */
  #version(space: KeyspaceTable, place: ByteString, value: Uint8Array): void {
    const { image } = this.#store;
    const history = space.history!;
    const { generation } = space;
    const revision = numberOf(place);
    const sub = numberOf(place.slice(8), 4);
    const reader = new BinaryReader(value, CHECK_BYTES);
    const key = reader.byteString();
    image.open(space.definition.id, key, value);
    const { a, b } = image.hasher;
    const live = reader.u8() === 1;
    const size = reader.varint();
    history.load(history.ofKey(key), revision, sub, live, size);
    generation.liveBytes += size;
    const present = generation.slots.get(key);
    if (present !== undefined) generation.sum.subtract(present.a, present.b);
    if (!live) {
      if (present !== undefined) space.dropSlot(present);
      return;
    }
    const slot = present ?? space.addSlot(key, image.hasher);
    setSlotHash(slot, a, b);
    slot.record = decodeRecord(reader, space.definition.codec);
  }

  /** Hangs records on leases and deadlines, tells the indexes, and verifies the hash. */
  finish(): void {
    const store = this.#store;
    invariant(this.#meta, 'image has no meta row');
    for (const table of store.tables) {
      for (const slot of table.generation.slots.values()) {
        const record = slot.record!;
        store.moveLease(slot, 0, record.lease);
        store.setSlotDeadline(slot, record.deadline);
        table.index?.changed(slot.key, undefined, record);
      }
    }
    for (const [prefix, keys] of this.#stale) {
      store.garbage.push({ keys: keys.values(), prefix, generation: undefined });
    }
    const { a, b } = store.sums();
    const { sumA, sumB } = store.meta;
    if (a === sumA && b === sumB) return;
    throw new InvariantError(
      `image at index ${store.meta.appliedIndex} adds up to ${hashText(a, b)}, ` +
        `its hash is ${hashText(sumA, sumB)}`,
    );
  }
}

function recordBytes(space: KeyspaceTable, key: ByteString, value: unknown): number {
  return RECORD_OVERHEAD_BYTES + key.length + space.definition.codec.sizeBytes(value);
}

/** Reads `width` big-endian bytes from the front of a key. */
function numberOf(key: ByteString, width = 8): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + key.charCodeAt(i);
  return value;
}

function decodeKeyspaceRow(store: Store, key: ByteString, reader: BinaryReader): SystemRow {
  const id = numberOf(key, 2);
  const table = store.tableById(id);
  invariant(table !== undefined, () => `keyspace ${id} of the image is unknown here`);
  table.generation = new Generation(table, reader.varint());
  table.lastRevision = reader.f64();
  table.history?.decodeProgress(reader);
  table.row.seen = table.lastRevision;
  table.row.number = table.generation.number;
  return table.row;
}

function decodeMeta(meta: MetaRow, reader: BinaryReader): void {
  const format = reader.u8();
  if (format !== IMAGE_FORMAT) throw new UnknownFormatError(`image format ${format} is unknown`);
  meta.clusterId = BigInt.asUintN(64, reader.i64());
  meta.appliedIndex = reader.f64();
  meta.appliedTerm = reader.f64();
  meta.time = reader.f64();
  meta.wall = reader.f64();
  meta.revision = reader.f64();
  meta.lastLease = reader.f64();
  meta.lastWaiter = reader.f64();
  meta.lastMember = reader.f64();
  meta.featureLevel = reader.varint();
  const kinds = reader.u8();
  for (let kind = 0; kind < kinds; kind++) meta.sessionRevisions[kind] = reader.f64();
  meta.sumA = reader.u32() | 0;
  meta.sumB = reader.u32() | 0;
}
