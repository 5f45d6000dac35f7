import { crc32 } from 'node:zlib';
import { BinaryReader, BinaryWriter, type ImageChange } from '@lockstep/model';

/** Records of one chunk: key and value, each with its length, one after another. */
export function encodeChunk(
  records: readonly { readonly key: Uint8Array; readonly value: Uint8Array }[],
): Uint8Array {
  let sizeBytes = 0;
  for (const { key, value } of records) sizeBytes += key.length + value.length + 16;
  const writer = new BinaryWriter(sizeBytes);
  for (const { key, value } of records) writer.bytes(key).bytes(value);
  return writer.take();
}

/** Twin of the above; views on `bytes`. Throws BinaryFormatError when malformed. */
export function decodeChunk(bytes: Uint8Array): ImageChange[] {
  const reader = new BinaryReader(bytes);
  const changes: ImageChange[] = [];
  while (reader.remaining > 0) changes.push({ key: reader.bytes(), value: reader.bytes() });
  return changes;
}

/** CRC-32, going on from `before` for a checksum over several chunks. */
export function checksum(bytes: Uint8Array, before = 0): number {
  return crc32(bytes, before);
}
