import {
  type BinaryReader,
  type BinaryWriter,
  copyBytes,
  NO_LEASE,
  UnknownFormatError,
} from '@lockstep/model';
import type { KeyspaceDefinition, LiveRecord } from '@lockstep/state-machine';

/**
 * A value put with a lease. The id is kept beside the bytes because old versions and delete
 * events show it after the lease, and with it the handle's meaning, is gone.
 */
export class LeasedValue {
  readonly bytes: Uint8Array;
  readonly leaseId: bigint;

  constructor(bytes: Uint8Array, leaseId: bigint) {
    this.bytes = bytes;
    this.leaseId = leaseId;
  }
}

/** The usual value is bare bytes: no object per key without a lease. */
export type EtcdValue = Uint8Array | LeasedValue;
export type EtcdRecord = LiveRecord<EtcdValue>;

/** Bytes of a value; a view, not to be changed. */
export function valueBytes(value: EtcdValue): Uint8Array {
  return value instanceof LeasedValue ? value.bytes : value;
}

/** The etcd lease id a value was put with; 0n none. */
export function valueLeaseId(value: EtcdValue): bigint {
  return value instanceof LeasedValue ? value.leaseId : 0n;
}

/** A value of bytes and lease id; keeps the bytes without copying. */
export function etcdValue(bytes: Uint8Array, leaseId: bigint): EtcdValue {
  return leaseId === 0n ? bytes : new LeasedValue(bytes, leaseId);
}

const PLAIN = 0;
const LEASED = 1;

/** The keyspace of the etcd door: any bytes as key, every version until compaction. */
export const ETCD: KeyspaceDefinition<EtcdValue> = {
  id: 16,
  name: 'etcd',
  history: true,
  ordered: true,
  codec: {
    encode(writer: BinaryWriter, value: EtcdValue): void {
      if (value instanceof LeasedValue) writer.u8(LEASED).i64(value.leaseId).raw(value.bytes);
      else writer.u8(PLAIN).raw(value);
    },
    decode(reader: BinaryReader): EtcdValue {
      const kind = reader.u8();
      if (kind > LEASED) throw new UnknownFormatError(`etcd value kind ${kind} is unknown`);
      const leaseId = kind === LEASED ? reader.i64() : 0n;
      return etcdValue(copyBytes(reader.rest()), leaseId);
    },
    sizeBytes(value: EtcdValue): number {
      return valueBytes(value).length + (value instanceof LeasedValue ? 8 : 0);
    },
  },
};

/** True while the record hangs on a lease. */
export function hasLease(record: EtcdRecord): boolean {
  return record.lease !== NO_LEASE;
}
