import type { BinaryReader, BinaryWriter, ByteString, ClusterTimeMs } from '@lockstep/model';
import { UnknownFormatError } from '@lockstep/model';
import type { ValueCodec } from '@lockstep/state-machine';

/** What a key of a Redis keyspace holds. Hashes, lists, sets and sorted sets join this union. */
export type RedisValue = StringValue;

export interface StringValue {
  readonly kind: 'string';
  readonly text: ByteString;
  /** Set by EXAT and PXAT only: the wall time asked for, for EXPIRETIME (design §6). */
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

const STRING = 1;
const HAS_ABSOLUTE = 1;
/** Fixed part of a record beside its text, as the quota counts it. */
const OVERHEAD_BYTES = 8;

/** Image format of a value: kind, flags, text, then what the flags announce. */
export const valueCodec: ValueCodec<RedisValue> = {
  encode(writer: BinaryWriter, value: RedisValue): void {
    const { absolute } = value;
    writer
      .u8(STRING)
      .u8(absolute === undefined ? 0 : HAS_ABSOLUTE)
      .byteString(value.text);
    if (absolute !== undefined) writer.f64(absolute.wallMs).f64(absolute.deadline);
  },

  decode(reader: BinaryReader): RedisValue {
    const kind = reader.u8();
    if (kind !== STRING) throw new UnknownFormatError(`redis value kind ${kind} is unknown`);
    const flags = reader.u8();
    if (flags > HAS_ABSOLUTE)
      throw new UnknownFormatError(`redis value flags ${flags} are unknown`);
    const text = reader.byteString();
    if ((flags & HAS_ABSOLUTE) === 0) return { kind: 'string', text };
    const absolute = { wallMs: reader.f64(), deadline: reader.f64() };
    return { kind: 'string', text, absolute };
  },

  sizeBytes: (value: RedisValue) => OVERHEAD_BYTES + value.text.length,
};
