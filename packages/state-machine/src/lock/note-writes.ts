import { type ByteString, copyBytes, invariant } from '@lockstep/model';
import type { AnyKeyspace, LiveRecord, LockNote } from '../contract.ts';
import type { KeyspaceTable } from '../keyspace.ts';
import type { MachineTransaction } from '../transaction.ts';
import { LockNoteRow, noteBytes } from './lock-note.ts';

/** Sets or removes the note on a present record. */
export function setLockNote(
  tx: MachineTransaction,
  keyspace: AnyKeyspace,
  key: ByteString,
  note: LockNote | undefined,
): void {
  tx.writing();
  const table = tx.store.table(keyspace);
  if (note === undefined) {
    removeNote(tx, table, key);
    return;
  }
  const record = table.generation.slots.get(key)?.record;
  invariant(
    record !== undefined && record.token === note.token,
    () => `lock note with token ${note.token} on a record with ${record?.token}`,
  );
  const kept = { ...note, meta: copyBytes(note.meta) };
  const present = table.notes.get(key);
  if (present === undefined) {
    addNote(tx, table, new LockNoteRow(table, key, kept));
    return;
  }
  const before = present.note;
  const grown = kept.meta.length - before.meta.length;
  tx.store.noteBytes += grown;
  present.note = kept;
  tx.touchRow(present);
  tx.undoWith(() => {
    tx.store.noteBytes -= grown;
    present.note = before;
  });
}

/** A note goes with its record, or when that gets another token. */
export function dropStaleNote(
  tx: MachineTransaction,
  table: KeyspaceTable,
  key: ByteString,
  record: LiveRecord | undefined,
): void {
  const row = table.notes.get(key);
  if (row === undefined || row.note.token === record?.token) return;
  removeNote(tx, table, key);
}

function addNote(tx: MachineTransaction, table: KeyspaceTable, row: LockNoteRow): void {
  const { store } = tx;
  table.notes.set(row.key, row);
  store.noteBytes += noteBytes(row);
  tx.touchRow(row);
  tx.undoWith(() => {
    table.notes.delete(row.key);
    store.noteBytes -= noteBytes(row);
  });
}

function removeNote(tx: MachineTransaction, table: KeyspaceTable, key: ByteString): void {
  const { store } = tx;
  const row = table.notes.get(key);
  if (row === undefined) return;
  table.notes.delete(key);
  store.noteBytes -= noteBytes(row);
  row.removed = true;
  tx.touchRow(row);
  tx.undoWith(() => {
    row.removed = false;
    table.notes.set(key, row);
    store.noteBytes += noteBytes(row);
  });
}
