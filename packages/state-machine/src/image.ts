import {
  BinaryReader,
  BinaryWriter,
  type ByteString,
  InvariantError,
  invariant,
} from '@lockstep/model';
import type { ImageSink } from './contract.ts';
import { HashSum, StateHasher } from './state-hash.ts';

/**
 * Image layout: a key is the table's number (u16, big-endian) and fields whose byte order is the
 * wanted order; a value is a 32-bit check (lane `a` of the row's hash, little-endian) and the
 * payload. README.md lists all tables. Numbers are never reused.
 */
export const Table = {
  Meta: 0,
  Keyspaces: 1,
  Options: 2,
  Members: 3,
  Duplicates: 4,
  Leases: 5,
  LeaseDeadlines: 6,
  Waiters: 7,
  LockNotes: 8,
  Fences: 9,
  RemovedMembers: 10,
  /** Keyspaces of doors begin here. */
  FirstKeyspace: 16,
} as const;

/** Bytes of the check in front of each payload. */
export const CHECK_BYTES = 4;

export function u16Key(value: number): ByteString {
  return String.fromCharCode((value >>> 8) & 255, value & 255);
}

export function u32Key(value: number): ByteString {
  return String.fromCharCode(value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}

/** A non-negative safe integer as eight big-endian bytes. */
export function u64Key(value: number): ByteString {
  return u32Key(Math.floor(value / 4294967296)) + u32Key(value >>> 0);
}

/** Key of a version's row: table, revision and sub-revision, made in one step for speed. */
export function versionKey(table: number, revision: number, sub: number): ByteString {
  const high = Math.floor(revision / 4294967296);
  const low = revision >>> 0;
  return String.fromCharCode(
    table >>> 8,
    table & 255,
    high >>> 24,
    (high >>> 16) & 255,
    (high >>> 8) & 255,
    high & 255,
    low >>> 24,
    (low >>> 16) & 255,
    (low >>> 8) & 255,
    low & 255,
    sub >>> 24,
    (sub >>> 16) & 255,
    (sub >>> 8) & 255,
    sub & 255,
  );
}

/**
 * A row of one of the machine's own tables. Keeps its hash, so that a change costs one; marked
 * dirty by a change and written once at the end of the transaction.
 */
export abstract class SystemRow {
  a = 0;
  b = 0;
  dirty = false;
  removed = false;

  abstract get table(): number;
  /** Key behind the table's number. */
  abstract imageKey(): ByteString;
  abstract encode(writer: BinaryWriter): void;
}

/** Makes rows: bytes, check, hash; and hands them to the sink. */
export class ImageWriter {
  readonly hasher = new StateHasher();
  /** Sum over the system tables' rows, meta excluded. */
  readonly systemSum = new HashSum();
  readonly #sink: ImageSink;
  readonly #writer = new BinaryWriter(16_384);

  constructor(sink: ImageSink) {
    this.#sink = sink;
  }

  /** A writer with room for the check; `seal` ends the row. */
  begin(): BinaryWriter {
    return this.#writer.u32(0);
  }

  /** Ends a row begun: its bytes, check filled in, its lanes left in the hasher. */
  seal(keyA: number, keyB: number): Uint8Array {
    const bytes = this.#writer.pooledCopy();
    const { a } = this.hasher.resume(keyA, keyB).finish(bytes, CHECK_BYTES);
    bytes[0] = a;
    bytes[1] = a >>> 8;
    bytes[2] = a >>> 16;
    bytes[3] = a >>> 24;
    return bytes;
  }

  set(key: ByteString, value: Uint8Array | undefined): void {
    this.#sink.set(key, value);
  }

  /** Writes or deletes a system row as it now is and moves the sum. */
  flush(row: SystemRow): void {
    const key = row.imageKey();
    const full = u16Key(row.table) + key;
    row.dirty = false;
    this.systemSum.subtract(row.a, row.b);
    row.a = 0;
    row.b = 0;
    if (row.removed) {
      this.set(full, undefined);
      return;
    }
    row.encode(this.begin());
    const { a, b } = this.hasher.start(row.table).text(key);
    const bytes = this.seal(a, b);
    this.loadHash(row);
    this.set(full, bytes);
  }

  /** Takes over the hasher's lanes as those of a row just hashed. */
  loadHash(row: SystemRow): void {
    row.a = this.hasher.a;
    row.b = this.hasher.b;
    this.systemSum.add(row.a, row.b);
  }

  /**
   * Verifies a row's check and returns a reader behind it, the row's lanes left in the hasher.
   * Throws InvariantError naming table and key.
   */
  open(table: number, key: ByteString, value: Uint8Array): BinaryReader {
    invariant(value.length >= CHECK_BYTES, () => `image row of table ${table} is cut`);
    const { a } = this.hasher.start(table).text(key).finish(value, CHECK_BYTES);
    const check = value[0]! | (value[1]! << 8) | (value[2]! << 16) | (value[3]! << 24);
    if (check !== a) {
      const hex = Buffer.from(key, 'latin1').toString('hex');
      throw new InvariantError(
        `image row of table ${table}, key ${hex}: check ${check} is not ${a}`,
      );
    }
    return new BinaryReader(value, CHECK_BYTES);
  }
}
