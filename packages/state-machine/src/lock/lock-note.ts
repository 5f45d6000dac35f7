import { type BinaryReader, type BinaryWriter, type ByteString, copyBytes } from '@lockstep/model';
import type { LockNote } from '../contract.ts';
import { SystemRow, Table, u16Key } from '../image.ts';
import type { KeyspaceTable } from '../keyspace.ts';

/** A lock's note in the image, under (keyspace, key). */
export class LockNoteRow extends SystemRow {
  readonly space: KeyspaceTable;
  readonly key: ByteString;
  note: LockNote;

  constructor(space: KeyspaceTable, key: ByteString, note: LockNote) {
    super();
    this.space = space;
    this.key = key;
    this.note = note;
  }

  get table(): number {
    return Table.LockNotes;
  }

  imageKey(): ByteString {
    return u16Key(this.space.definition.id) + this.key;
  }

  encode(writer: BinaryWriter): void {
    const { token, acquiredAt, acquiredWall, origin, holds, meta } = this.note;
    writer.f64(token).f64(acquiredAt).f64(acquiredWall).varint(origin).varint(holds).bytes(meta);
  }
}

/** Bytes a note counts against the quota. */
export function noteBytes(row: LockNoteRow): number {
  return 96 + row.key.length + row.note.meta.length;
}

export function decodeLockNote(reader: BinaryReader): LockNote {
  return {
    token: reader.f64(),
    acquiredAt: reader.f64(),
    acquiredWall: reader.f64(),
    origin: reader.varint(),
    holds: reader.varint(),
    meta: copyBytes(reader.bytes()),
  };
}
