import type { ByteString } from '@lockstep/model';

/** Keys from ≤ key < to; `to` undefined: to the end of the keyspace. */
export interface KeyRange {
  readonly from: ByteString;
  readonly to: ByteString | undefined;
  /** True when it means the one key `from`. */
  readonly single: boolean;
}

/** The range end that means "and all keys after". */
export const TO_THE_END: ByteString = '\0';

/** The meaning of a request's `key` and `range_end` (etcd v3 API, key ranges). */
export function keyRange(key: ByteString, rangeEnd: ByteString): KeyRange {
  if (rangeEnd === '') return { from: key, to: `${key}\0`, single: true };
  return { from: key, to: rangeEnd === TO_THE_END ? undefined : rangeEnd, single: false };
}

/** True when no key can lie in the range. */
export function isEmptyRange(range: KeyRange): boolean {
  return range.to !== undefined && range.to <= range.from;
}

/** True when the key lies in the range. */
export function contains(range: KeyRange, key: ByteString): boolean {
  return range.from <= key && (range.to === undefined || key < range.to);
}

/** The end of the range of all keys that begin with `prefix`: its successor, or to the end. */
export function prefixEnd(prefix: ByteString): ByteString {
  for (let at = prefix.length - 1; at >= 0; at--) {
    const byte = prefix.charCodeAt(at);
    if (byte < 0xff) return prefix.slice(0, at) + String.fromCharCode(byte + 1);
  }
  return TO_THE_END;
}
