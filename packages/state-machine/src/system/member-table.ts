import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  type MemberId,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { MemberRecord } from '../contract.ts';
import { SystemRow, Table, u64Key } from '../image.ts';

export class MemberRow extends SystemRow {
  readonly id: MemberId;
  record: MemberRecord;

  constructor(record: MemberRecord) {
    super();
    this.id = record.id;
    this.record = record;
  }

  get table(): number {
    return Table.Members;
  }

  imageKey(): ByteString {
    return u64Key(this.id);
  }

  encode(writer: BinaryWriter): void {
    const { name, etcdId, peerAddress, learner, version, featureLevel } = this.record;
    writer.bytes(utf8Bytes(name)).i64(etcdId).bytes(utf8Bytes(peerAddress));
    writer
      .u8(learner ? 1 : 0)
      .bytes(utf8Bytes(version))
      .varint(featureLevel);
    writer.varint(this.record.incarnation).bytes(utf8Bytes(this.record.dataDirectory));
    encodeAddresses(writer, this.record.addresses);
  }
}

export function decodeMember(id: MemberId, reader: BinaryReader): MemberRow {
  const text = (): string => utf8Text(reader.bytes());
  return new MemberRow({
    id,
    name: text(),
    etcdId: BigInt.asUintN(64, reader.i64()),
    peerAddress: text(),
    learner: reader.u8() === 1,
    version: text(),
    featureLevel: reader.varint(),
    incarnation: reader.varint(),
    dataDirectory: text(),
    addresses: decodeAddresses(reader),
  });
}

/** Addresses by door in the order of their names, so that equal ones have equal bytes. */
export function encodeAddresses(
  writer: BinaryWriter,
  addresses: Readonly<Record<string, string>>,
): void {
  const doors = Object.keys(addresses).sort();
  writer.varint(doors.length);
  for (const door of doors) writer.bytes(utf8Bytes(door)).bytes(utf8Bytes(addresses[door]!));
}

export function decodeAddresses(reader: BinaryReader): Record<string, string> {
  const addresses: Record<string, string> = {};
  for (let left = reader.varint(); left > 0; left--) {
    const door = utf8Text(reader.bytes());
    addresses[door] = utf8Text(reader.bytes());
  }
  return addresses;
}

/** A member as it is before its first hello. */
export function newMember(
  id: MemberId,
  name: string,
  etcdId: bigint,
  peerAddress: string,
  learner: boolean,
): MemberRecord {
  return {
    id,
    name,
    etcdId,
    peerAddress,
    addresses: {},
    learner,
    version: '',
    featureLevel: 0,
    incarnation: 0,
    dataDirectory: '',
  };
}
