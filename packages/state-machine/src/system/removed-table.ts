import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  type MemberId,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { RemovedMember } from '../contract.ts';
import { SystemRow, Table, u64Key } from '../image.ts';

/** Tombstones kept, the newest. Ids never come again, so an older one is unknown, not forgotten. */
export const REMOVED_MEMBERS_MAX = 1000;

/** What is remembered of a member that was removed. */
export class RemovedRow extends SystemRow {
  readonly id: MemberId;
  readonly record: RemovedMember;

  constructor(record: RemovedMember) {
    super();
    this.id = record.id;
    this.record = record;
  }

  get table(): number {
    return Table.RemovedMembers;
  }

  imageKey(): ByteString {
    return u64Key(this.id);
  }

  encode(writer: BinaryWriter): void {
    const { name, etcdId, peerAddress, dataDirectory } = this.record;
    writer.bytes(utf8Bytes(name)).i64(etcdId);
    writer.bytes(utf8Bytes(peerAddress)).bytes(utf8Bytes(dataDirectory));
  }
}

export function decodeRemoved(id: MemberId, reader: BinaryReader): RemovedRow {
  return new RemovedRow({
    id,
    name: utf8Text(reader.bytes()),
    etcdId: BigInt.asUintN(64, reader.i64()),
    peerAddress: utf8Text(reader.bytes()),
    dataDirectory: utf8Text(reader.bytes()),
  });
}
