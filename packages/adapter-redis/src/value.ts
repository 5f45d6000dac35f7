import type { BinaryReader, BinaryWriter, ByteString, ClusterTimeMs } from '@lockstep/model';
import { UnknownFormatError } from '@lockstep/model';
import type { ValueCodec } from '@lockstep/state-machine';

/** What a key of a Redis keyspace holds. Hashes, lists and sorted sets join this union. */
export type RedisValue = StringValue | SetValue;

export interface StringValue {
  readonly kind: 'string';
  readonly text: ByteString;
  /** Set by EXAT and PXAT only: the wall time asked for, for EXPIRETIME (design §6). */
  readonly absolute?: AbsoluteExpiry;
}

/** A set without its members: those are records of their own, under the set's number. */
export interface SetValue {
  readonly kind: 'set';
  /** Never given twice, so that a new set under an old name owns none of the former's members. */
  readonly collection: number;
  /** At least 1: an empty set does not exist. */
  readonly size: number;
  readonly absolute?: AbsoluteExpiry;
}

export interface AbsoluteExpiry {
  readonly wallMs: number;
  /** The deadline it was turned into; another deadline on the record makes this void. */
  readonly deadline: ClusterTimeMs;
}

export function stringValue(text: ByteString): StringValue {
  return { kind: 'string', text };
}

/**
 * Bytes that a command pays for which writes the value once more. Part of what the log means, since
 * a budget that is used up undoes a transaction: for a string as the first release counted.
 */
export function writtenBytes(value: RedisValue): number {
  return value.kind === 'string' ? value.text.length : 0;
}

const STRING = 1;
/** Written from feature level 2 on. */
const SET = 2;
const HAS_ABSOLUTE = 1;
/** Fixed part of a record beside its text, as the quota counts it. */
const OVERHEAD_BYTES = 8;

/** Image format of a value: kind, flags, what the kind holds, then what the flags announce. */
export const valueCodec: ValueCodec<RedisValue> = {
  encode(writer: BinaryWriter, value: RedisValue): void {
    const { absolute } = value;
    writer.u8(value.kind === 'string' ? STRING : SET).u8(absolute === undefined ? 0 : HAS_ABSOLUTE);
    if (value.kind === 'string') writer.byteString(value.text);
    else writer.varint(value.collection).varint(value.size);
    if (absolute !== undefined) writer.f64(absolute.wallMs).f64(absolute.deadline);
  },

  decode(reader: BinaryReader): RedisValue {
    const kind = reader.u8();
    if (kind !== STRING && kind !== SET) {
      throw new UnknownFormatError(`redis value kind ${kind} is unknown`);
    }
    const flags = reader.u8();
    if (flags > HAS_ABSOLUTE)
      throw new UnknownFormatError(`redis value flags ${flags} are unknown`);
    const value: RedisValue =
      kind === STRING
        ? { kind: 'string', text: reader.byteString() }
        : { kind: 'set', collection: reader.varint(), size: reader.varint() };
    if ((flags & HAS_ABSOLUTE) === 0) return value;
    return { ...value, absolute: { wallMs: reader.f64(), deadline: reader.f64() } };
  },

  sizeBytes: (value: RedisValue) =>
    OVERHEAD_BYTES + (value.kind === 'string' ? value.text.length : 2 * OVERHEAD_BYTES),
};
