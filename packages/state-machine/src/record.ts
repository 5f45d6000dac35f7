import {
  type BinaryReader,
  type BinaryWriter,
  type ClusterTimeMs,
  type LeaseHandle,
  type Revision,
  type Token,
  UnknownFormatError,
} from '@lockstep/model';
import type { LiveRecord, ValueCodec } from './contract.ts';

/** The one shape of live records; every field set in one place keeps access monomorphic. */
export class StoredRecord<V> implements LiveRecord<V> {
  readonly value: V;
  readonly createRevision: Revision;
  readonly modRevision: Revision;
  readonly version: number;
  readonly token: Token;
  readonly lease: LeaseHandle;
  readonly deadline: ClusterTimeMs;

  constructor(
    value: V,
    createRevision: Revision,
    modRevision: Revision,
    version: number,
    token: Token,
    lease: LeaseHandle,
    deadline: ClusterTimeMs,
  ) {
    this.value = value;
    this.createRevision = createRevision;
    this.modRevision = modRevision;
    this.version = version;
    this.token = token;
    this.lease = lease;
    this.deadline = deadline;
  }
}

/** What a record costs beyond its key and value in the quota: fixed fields and table entries. */
export const RECORD_OVERHEAD_BYTES = 64;

const HAS_TOKEN = 1;
const HAS_LEASE = 2;
const HAS_DEADLINE = 4;
/** All of them. A higher one says that newer software wrote the record. */
const FLAGS_MAX = HAS_TOKEN | HAS_LEASE | HAS_DEADLINE;

/** Appends a record's fixed fields and value. Fields at their usual value take no bytes. */
export function encodeRecord<V>(
  writer: BinaryWriter,
  codec: ValueCodec<V>,
  record: LiveRecord<V>,
): void {
  const { createRevision, token, lease, deadline } = record;
  writer.u8(
    (token === createRevision ? 0 : HAS_TOKEN) |
      (lease === 0 ? 0 : HAS_LEASE) |
      (deadline === 0 ? 0 : HAS_DEADLINE),
  );
  writer.f64(createRevision);
  writer.varint(record.modRevision - createRevision);
  writer.varint(record.version);
  if (token !== createRevision) writer.varint(token - createRevision);
  if (lease !== 0) writer.varint(lease);
  if (deadline !== 0) writer.f64(deadline);
  codec.encode(writer, record.value);
}

/** Twin of the above. Throws BinaryFormatError when malformed. */
export function decodeRecord<V>(reader: BinaryReader, codec: ValueCodec<V>): StoredRecord<V> {
  const flags = reader.u8();
  if (flags > FLAGS_MAX) throw new UnknownFormatError(`record flags ${flags} are unknown`);
  const createRevision = reader.f64();
  const modRevision = createRevision + reader.varint();
  const version = reader.varint();
  const token = createRevision + ((flags & HAS_TOKEN) === 0 ? 0 : reader.varint());
  const lease = (flags & HAS_LEASE) === 0 ? 0 : reader.varint();
  const deadline = (flags & HAS_DEADLINE) === 0 ? 0 : reader.f64();
  const value = codec.decode(reader);
  return new StoredRecord(value, createRevision, modRevision, version, token, lease, deadline);
}
