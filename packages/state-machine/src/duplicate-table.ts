import type {
  BinaryReader,
  BinaryWriter,
  ByteString,
  Incarnation,
  MemberId,
  Sequence,
} from '@lockstep/model';
import { mark } from '@lockstep/model';
import type { VoidReason } from './contract.ts';
import { SystemRow, Table, u64Key } from './image.ts';

/** How far a member's commands have been applied. */
export class DuplicateRow extends SystemRow {
  readonly member: MemberId;
  incarnation: Incarnation = 0;
  lastSequence: Sequence = 0;
  /** False once the incarnation's lease has expired: its later commands are void. */
  alive = false;

  constructor(member: MemberId) {
    super();
    this.member = member;
  }

  get table(): number {
    return Table.Duplicates;
  }

  imageKey(): ByteString {
    return u64Key(this.member);
  }

  encode(writer: BinaryWriter): void {
    writer
      .varint(this.incarnation)
      .varint(this.lastSequence)
      .u8(this.alive ? 1 : 0);
  }
}

export function decodeDuplicate(member: MemberId, reader: BinaryReader): DuplicateRow {
  const row = new DuplicateRow(member);
  row.incarnation = reader.varint();
  row.lastSequence = reader.varint();
  row.alive = reader.u8() === 1;
  return row;
}

/** Which commands of a run apply: the first `skip` are duplicates, or all are void for `reason`. */
export interface RunVerdict {
  readonly skip: number;
  readonly reason: VoidReason | undefined;
}

/**
 * Last sequence applied per (member, incarnation), in state and image (design §4): each command
 * applies at most once and in its origin's order. Moved once per run, not per command.
 */
export class DuplicateTable {
  readonly rows = new Map<MemberId, DuplicateRow>();

  ofMember(member: MemberId): DuplicateRow {
    let row = this.rows.get(member);
    if (row === undefined) {
      row = new DuplicateRow(member);
      this.rows.set(member, row);
    }
    return row;
  }

  /** Judges a numbered run and moves the last sequence past what of it applies. */
  admit(member: MemberId, incarnation: Incarnation, first: Sequence, count: number): RunVerdict {
    const row = this.rows.get(member);
    if (row === undefined || incarnation > row.incarnation) return { skip: 0, reason: 'gap' };
    if (incarnation < row.incarnation || !row.alive) {
      mark('run of a former incarnation is void');
      return { skip: 0, reason: 'old-incarnation' };
    }
    if (first > row.lastSequence + 1) {
      mark('run with a gap is void');
      return { skip: 0, reason: 'gap' };
    }
    const skip = Math.min(row.lastSequence + 1 - first, count);
    if (skip > 0) mark('run with duplicates');
    if (skip < count) row.lastSequence = first + count - 1;
    return { skip, reason: undefined };
  }
}
