import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Random } from '@lockstep/model';

/** Files below a directory with bytes in them, as paths. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name !== 'LOCK' && !entry.name.startsWith('LOG'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size > 0)
    .sort();
}

/** Bytes up to the last one that is not a preallocated zero. */
function usedBytes(path: string): number {
  const bytes = readFileSync(path);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return end;
}

/**
 * Damages one random place of one random file of a directory: a flipped bit, up to 64 wrong bytes,
 * or all from there on cut away. Says what was done.
 */
export function damageSomewhere(directory: string, random: Random): string {
  const files = filesBelow(directory)
    .map((path) => ({ path, size: usedBytes(path) }))
    .filter(({ size }) => size > 0);
  // By size, as rot goes, but each file gets its share.
  const { path, size } = files[random.u32() % files.length]!;
  const offset = random.u32() % size;
  const name = path.slice(directory.length + 1);
  const kind = random.u32() % 10;
  if (kind === 0) {
    truncateSync(path, offset);
    return `${name} cut at ${offset}`;
  }
  const length = kind < 7 ? 1 : Math.min(1 + (random.u32() % 64), size - offset);
  const bytes = readFileSync(path).subarray(offset, offset + length);
  if (length === 1) bytes[0]! ^= 1 << (random.u32() % 8);
  else for (let i = 0; i < length; i++) bytes[i] = wrongByte(bytes[i]!, random);
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, length, offset);
  closeSync(file);
  return `${name}+${offset} ${length === 1 ? 'flipped' : `${length} bytes wrong`}`;
}

/** Another byte, never zero: zeros in preallocated space are what a torn write looks like. */
function wrongByte(before: number, random: Random): number {
  for (;;) {
    const byte = 1 + (random.u32() % 255);
    if (byte !== before) return byte;
  }
}
