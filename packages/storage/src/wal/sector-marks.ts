/**
 * Torn-write detection per sector. The log is written into preallocated zeros, so a sector that a
 * power loss dropped or tore ends in a zero byte. Each record therefore puts a mark into the last
 * byte of every sector it fills and keeps the replaced bytes in its own head (as NTFS does with
 * its update sequence): a zero where a mark belongs proves that the record was never synced.
 */
export const SECTOR_BYTES = 512;
/** Several bits are set, so that one flipped bit never makes it zero. */
export const SECTOR_MARK = 0xa7;
/** Fixed part of a record; never contains the last byte of a sector. */
export const RECORD_HEAD_BYTES = 16;
/** End of a record: whole inside one sector, its last byte is not zero. */
export const RECORD_TRAILER_BYTES = 8;

/** Where a record may begin at or after `offset`: 8-aligned, its head within one sector. */
export function recordStart(offset: number): number {
  const aligned = Math.ceil(offset / 8) * 8;
  const room = SECTOR_BYTES - (aligned % SECTOR_BYTES);
  return room > RECORD_HEAD_BYTES ? aligned : aligned + room;
}

/** Number of marks in a record of `length` bytes that begins at `start`; the trailer has none. */
export function markCount(start: number, length: number): number {
  const end = start + length - RECORD_TRAILER_BYTES;
  return Math.floor(end / SECTOR_BYTES) - Math.floor(start / SECTOR_BYTES);
}

/** Length of a record whose body has `bodyBytes`: head, replaced bytes, body, padding, trailer. */
export function recordLength(start: number, bodyBytes: number): number {
  const fixed = RECORD_HEAD_BYTES + bodyBytes + RECORD_TRAILER_BYTES;
  let marks = 0;
  for (;;) {
    const length = Math.ceil((fixed + marks) / 8) * 8;
    const needed = markCount(start, length);
    if (needed === marks) return length;
    marks = needed;
  }
}

/** Offset in the record of the byte that mark `i` replaces. */
export function markOffset(start: number, i: number): number {
  return SECTOR_BYTES - 1 - (start % SECTOR_BYTES) + i * SECTOR_BYTES;
}

/**
 * Replaces bytes by marks. Slot i always lies before mark i, so working from the last one down
 * keeps the bytes right even where the slots themselves cross the end of a sector.
 */
export function placeMarks(record: Uint8Array, start: number): void {
  for (let i = markCount(start, record.length) - 1; i >= 0; i--) {
    const at = markOffset(start, i);
    record[RECORD_HEAD_BYTES + i] = record[at]!;
    record[at] = SECTOR_MARK;
  }
}

/** Twin of `placeMarks`; works from the first one up. */
export function removeMarks(record: Uint8Array, start: number): void {
  const count = markCount(start, record.length);
  for (let i = 0; i < count; i++) {
    record[markOffset(start, i)] = record[RECORD_HEAD_BYTES + i]!;
  }
}

/** True when the trailer or a mark is still preallocation zero: the record was never synced. */
export function isUnsynced(record: Uint8Array, start: number): boolean {
  if (record[record.length - 1] === 0) return true;
  const count = markCount(start, record.length);
  for (let i = 0; i < count; i++) {
    if (record[markOffset(start, i)] === 0) return true;
  }
  return false;
}
