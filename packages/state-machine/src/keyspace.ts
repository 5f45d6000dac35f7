import type { BinaryWriter, ByteString, Revision } from '@lockstep/model';
import type { AnyKeyspace, Keyspace, KeyspaceIndex, LiveRecord } from './contract.ts';
import { HistoryTable, type KeyHistory } from './history.ts';
import { SystemRow, Table, u16Key, u32Key } from './image.ts';
import type { DeadlineEntry } from './lease/deadline-index.ts';
import type { LockNoteRow } from './lock/lock-note.ts';
import type { KeyQueue } from './lock/wait-queue.ts';
import { OrderedMap } from './ordered-map.ts';
import { HashSum, type StateHasher } from './state-hash.ts';

/** A key's place in a keyspace; the record in it is replaced, the slot stays until a delete. */
export class Slot {
  readonly key: ByteString;
  readonly generation: Generation;
  record: LiveRecord | undefined = undefined;
  /** Hash of the record as last committed. */
  a = 0;
  b = 0;
  /** Hash of (keyspace, key), from which each record's hash resumes. */
  readonly keyA: number;
  readonly keyB: number;
  /** Bytes counted for the record as last committed. */
  sizeBytes = 0;
  /** Changes of the running transaction not yet committed. */
  pending = 0;
  /** Key of the record's row: made once, so that its hash is computed once too. '' before. */
  #imageKey: ByteString = '';
  /** Set while the record has a deadline. */
  timer: DeadlineEntry | undefined = undefined;
  /** Versions kept, in keyspaces with history. */
  history: KeyHistory | undefined = undefined;

  constructor(key: ByteString, generation: Generation, hasher: StateHasher) {
    this.key = key;
    this.generation = generation;
    hasher.start(generation.table.definition.id).text(key);
    this.keyA = hasher.a;
    this.keyB = hasher.b;
  }

  get imageKey(): ByteString {
    if (this.#imageKey === '') this.#imageKey = this.generation.prefix + this.key;
    return this.#imageKey;
  }
}

/** Byte order of (keyspace, key): the order in which what hangs on a lease is deleted. */
export function compareSlots(x: Slot, y: Slot): number {
  const byTable = x.generation.table.definition.id - y.generation.table.definition.id;
  if (byTable !== 0) return byTable;
  return x.key < y.key ? -1 : x.key > y.key ? 1 : 0;
}

/** The contents of a keyspace between two clears. Rows of old generations are freed bit by bit. */
export class Generation {
  readonly table: KeyspaceTable;
  readonly number: number;
  /** Image key in front of the record's key. */
  readonly prefix: ByteString;
  readonly slots = new Map<ByteString, Slot>();
  readonly ordered: OrderedMap<Slot> | undefined;
  readonly sum = new HashSum();
  /** Slots that hang on a lease: let go at once by a clear. */
  readonly attached = new Set<Slot>();
  liveBytes = 0;

  constructor(table: KeyspaceTable, number: number) {
    this.table = table;
    this.number = number;
    this.prefix = u16Key(table.definition.id) + u32Key(number);
    this.ordered = table.definition.ordered ? new OrderedMap<Slot>() : undefined;
  }
}

/** A keyspace of this machine: live records, index, history, queues. */
export class KeyspaceTable implements Keyspace {
  readonly definition: AnyKeyspace;
  readonly row: KeyspaceRow;
  readonly history: HistoryTable | undefined;
  generation: Generation;
  index: KeyspaceIndex | undefined = undefined;
  lastRevision: Revision = 0;
  /** Waiters by key, oldest first. */
  readonly queues = new Map<ByteString, KeyQueue>();
  readonly notes = new Map<ByteString, LockNoteRow>();

  constructor(definition: AnyKeyspace) {
    this.definition = definition;
    this.row = new KeyspaceRow(this);
    this.history = definition.history ? new HistoryTable(definition) : undefined;
    this.generation = new Generation(this, 1);
  }

  /** Makes the derived index; the definition's factory may keep the keyspace. */
  open(): void {
    this.index = this.definition.index?.(this);
  }

  addSlot(key: ByteString, hasher: StateHasher): Slot {
    const { generation } = this;
    const slot = new Slot(key, generation, hasher);
    generation.slots.set(key, slot);
    generation.ordered?.set(key, slot);
    if (this.history !== undefined) slot.history = this.history.ofKey(key);
    return slot;
  }

  /** Puts a slot back that an undone delete took out. */
  restoreSlot(slot: Slot): void {
    slot.generation.slots.set(slot.key, slot);
    slot.generation.ordered?.set(slot.key, slot);
  }

  dropSlot(slot: Slot): void {
    slot.generation.slots.delete(slot.key);
    slot.generation.ordered?.delete(slot.key);
  }
}

/** Numbers of a keyspace in the image: generation, last revision, progress of compaction. */
export class KeyspaceRow extends SystemRow {
  readonly #keyspace: KeyspaceTable;
  /** Last revision and generation as written, to see whether they moved. */
  seen: Revision = 0;
  number = 1;

  constructor(keyspace: KeyspaceTable) {
    super();
    this.#keyspace = keyspace;
  }

  get table(): number {
    return Table.Keyspaces;
  }

  imageKey(): ByteString {
    return u16Key(this.#keyspace.definition.id);
  }

  encode(writer: BinaryWriter): void {
    const { generation, lastRevision, history } = this.#keyspace;
    writer.varint(generation.number).f64(lastRevision);
    if (history !== undefined) history.encodeProgress(writer);
  }
}
