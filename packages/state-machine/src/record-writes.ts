import { type ByteString, invariant, type Revision, type Token } from '@lockstep/model';
import type { AnyKeyspace, LiveRecord, PutOptions } from './contract.ts';
import { Generation, type KeyspaceTable, type Slot } from './keyspace.ts';
import { dropStaleNote } from './lock/note-writes.ts';
import { StoredRecord } from './record.ts';
import { RecordChange } from './record-change.ts';
import type { MachineTransaction } from './transaction.ts';

/** Puts and deletes of one transaction. */
export class RecordWrites {
  readonly #tx: MachineTransaction;
  /** Tokens of records deleted in this transaction, by keyspace and key: a key that comes back
   * must not get the same one again. Undefined while there are none. */
  #dropped: Map<string, Token> | undefined = undefined;

  constructor(tx: MachineTransaction) {
    this.#tx = tx;
  }

  begin(): void {
    this.#dropped = undefined;
  }

  put(
    keyspace: AnyKeyspace,
    key: ByteString,
    value: unknown,
    options: PutOptions | undefined,
  ): LiveRecord {
    const tx = this.#tx;
    const { store } = tx;
    const table = store.table(keyspace);
    const present = table.generation.slots.get(key);
    const before = present?.record;
    const slot = present ?? table.addSlot(key, store.image.hasher);
    let revision = tx.revisionFor(keyspace);
    let record: LiveRecord;
    if (before === undefined) {
      if (this.#dropped !== undefined && this.#dropped.get(tokenKey(keyspace, key)) === revision) {
        revision = tx.anotherRevision();
      }
      const lease = options?.lease ?? 0;
      const deadline = options?.deadline ?? 0;
      record = new StoredRecord(value, revision, revision, 1, revision, lease, deadline);
    } else {
      const renewed = takesToken(keyspace, before, value, options);
      if (renewed && before.token === revision) revision = tx.anotherRevision();
      record = replacement(before, value, revision, renewed, options);
    }
    this.#replace(table, slot, before, record, revision);
    return record;
  }

  delete(keyspace: AnyKeyspace, key: ByteString): LiveRecord | undefined {
    const table = this.#tx.store.table(keyspace);
    const slot = table.generation.slots.get(key);
    if (slot === undefined) return undefined;
    const before = slot.record!;
    const revision = this.#tx.revisionFor(keyspace);
    table.dropSlot(slot);
    if (before.token === revision) this.#noteDropped(keyspace, key, before.token);
    this.#replace(table, slot, before, undefined, revision);
    return before;
  }

  deleteRange(
    keyspace: AnyKeyspace,
    from: ByteString,
    to: ByteString | undefined,
    deleted: ((key: ByteString, record: LiveRecord) => void) | undefined,
  ): number {
    const keys: ByteString[] = [];
    this.#tx.range(keyspace, from, to, (key) => {
      keys.push(key);
      return true;
    });
    for (const key of keys) {
      const record = this.delete(keyspace, key)!;
      deleted?.(key, record);
    }
    return keys.length;
  }

  /** Replaces the record of a slot and everything that follows it around. */
  #replace(
    table: KeyspaceTable,
    slot: Slot,
    before: LiveRecord | undefined,
    after: LiveRecord | undefined,
    revision: Revision,
  ): void {
    const tx = this.#tx;
    slot.record = after;
    slot.pending++;
    this.#follow(table, slot, before, after);
    tx.changed(new RecordChange(slot, revision, tx.sub++, after, before));
    if (table.notes.size !== 0) dropStaleNote(tx, table, slot.key, after);
    if (table.queues.size !== 0) tx.touchKey(table, slot.key);
  }

  /** Lease, deadline and derived index follow the record. */
  #follow(
    table: KeyspaceTable,
    slot: Slot,
    before: LiveRecord | undefined,
    after: LiveRecord | undefined,
  ): void {
    const { store } = this.#tx;
    const fromLease = before === undefined ? 0 : before.lease;
    const toLease = after === undefined ? 0 : after.lease;
    if (fromLease !== toLease) store.moveLease(slot, fromLease, toLease);
    const fromDeadline = before === undefined ? 0 : before.deadline;
    const toDeadline = after === undefined ? 0 : after.deadline;
    if (fromDeadline !== toDeadline) store.setSlotDeadline(slot, toDeadline);
    table.index?.changed(slot.key, before, after);
  }

  /** Takes one change back. */
  undo(change: RecordChange): void {
    const { slot, record, previous } = change;
    const { table } = slot.generation;
    slot.pending--;
    if (previous === undefined) table.dropSlot(slot);
    else if (record === undefined) table.restoreSlot(slot);
    slot.record = previous;
    this.#follow(table, slot, record, previous);
    if (previous === undefined && slot.history?.count === 0) table.history?.forget(slot.history);
  }

  clear(keyspace: AnyKeyspace): void {
    const tx = this.#tx;
    const { store } = tx;
    const table = store.table(keyspace);
    invariant(table.history === undefined, () => `clear of ${keyspace.name}, which keeps history`);
    const old = table.generation;
    if (old.slots.size === 0) return;
    const revision = tx.revisionFor(keyspace);
    for (const { slot, record } of tx.changes()) {
      if (slot.generation === old && record?.token === revision) {
        this.#noteDropped(keyspace, slot.key, revision);
      }
    }
    const attached = [...old.attached];
    for (const slot of attached) store.moveLease(slot, slot.record!.lease, 0);
    table.generation = new Generation(table, old.number + 1);
    table.index?.cleared();
    tx.tell({ kind: 'clear', keyspace: table.definition, revision });
    tx.sub++;
    tx.undoWith(() => {
      table.generation = old;
      for (const slot of attached) store.moveLease(slot, 0, slot.record!.lease);
      for (const slot of old.slots.values()) {
        table.index?.changed(slot.key, undefined, slot.record);
      }
    });
    for (const key of table.notes.keys()) dropStaleNote(tx, table, key, undefined);
    for (const key of table.queues.keys()) tx.touchKey(table, key);
    tx.atCommit(() => {
      table.lastRevision = Math.max(table.lastRevision, revision);
      store.garbage.push({ keys: old.slots.keys(), prefix: old.prefix, generation: old });
    });
  }

  #noteDropped(keyspace: AnyKeyspace, key: ByteString, token: Token): void {
    if (keyspace.unnumbered === true) return;
    this.#dropped ??= new Map();
    this.#dropped.set(tokenKey(keyspace, key), token);
  }
}

function tokenKey(keyspace: AnyKeyspace, key: ByteString): string {
  return `${keyspace.id}:${key}`;
}

/** Whether replacing a live record gives it a new owner and so a new token (design §5). */
function takesToken(
  keyspace: AnyKeyspace,
  before: LiveRecord,
  value: unknown,
  options: PutOptions | undefined,
): boolean {
  if (options?.token !== undefined) return options.token === 'new';
  return keyspace.changesOwner?.(before.value, value) ?? false;
}

function replacement(
  before: LiveRecord,
  value: unknown,
  revision: Revision,
  renewed: boolean,
  options: PutOptions | undefined,
): LiveRecord {
  const touched = options?.touch !== false;
  return new StoredRecord(
    value,
    before.createRevision,
    touched ? revision : before.modRevision,
    touched ? before.version + 1 : before.version,
    renewed ? revision : before.token,
    options?.lease ?? before.lease,
    options?.deadline ?? before.deadline,
  );
}
