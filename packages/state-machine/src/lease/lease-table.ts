import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  type ClusterTimeMs,
  copyBytes,
  type Incarnation,
  type LeaseHandle,
  type LeaseKind,
  type MemberId,
} from '@lockstep/model';
import type { Lease } from '../contract.ts';
import { SystemRow, Table, u64Key } from '../image.ts';
import { compareSlots, type Slot } from '../keyspace.ts';
import { DeadlineEntry } from './deadline-index.ts';

/** A lease and its row in the image. The deadline has a row of its own: a keep-alive rewrites
 * twelve bytes and no payload. */
export class LeaseRow extends SystemRow implements Lease {
  readonly handle: LeaseHandle;
  readonly kind: LeaseKind;
  readonly id: bigint;
  ttlMs: number;
  epoch: number;
  readonly payload: Uint8Array;
  origin: MemberId;
  incarnation: Incarnation;
  /** Undefined until a record first hangs on it: most sessions have none. */
  #slots: Set<Slot> | undefined = undefined;
  readonly timer: DeadlineEntry;
  readonly deadlineRow: LeaseDeadlineRow;

  constructor(
    handle: LeaseHandle,
    kind: LeaseKind,
    id: bigint,
    ttlMs: number,
    epoch: number,
    payload: Uint8Array,
    origin: MemberId,
    incarnation: Incarnation,
  ) {
    super();
    this.handle = handle;
    this.kind = kind;
    this.id = id;
    this.ttlMs = ttlMs;
    this.epoch = epoch;
    this.payload = payload;
    this.origin = origin;
    this.incarnation = incarnation;
    this.timer = new DeadlineEntry(this, Table.Leases, handle);
    this.deadlineRow = new LeaseDeadlineRow(this);
  }

  get deadline(): ClusterTimeMs {
    return this.timer.deadline;
  }

  get keyCount(): number {
    return this.#slots?.size ?? 0;
  }

  attach(slot: Slot): void {
    this.#slots ??= new Set();
    this.#slots.add(slot);
  }

  detach(slot: Slot): void {
    this.#slots?.delete(slot);
  }

  get table(): number {
    return Table.Leases;
  }

  imageKey(): ByteString {
    return u64Key(this.handle);
  }

  encode(writer: BinaryWriter): void {
    writer.u8(this.kind).i64(this.id).f64(this.ttlMs).varint(this.epoch);
    writer.varint(this.origin).varint(this.incarnation).bytes(this.payload);
  }

  /** What hangs on it in (keyspace, key) order. */
  sortedSlots(): Slot[] {
    return this.#slots === undefined ? [] : [...this.#slots].sort(compareSlots);
  }
}

export class LeaseDeadlineRow extends SystemRow {
  readonly lease: LeaseRow;

  constructor(lease: LeaseRow) {
    super();
    this.lease = lease;
  }

  get table(): number {
    return Table.LeaseDeadlines;
  }

  imageKey(): ByteString {
    return u64Key(this.lease.handle);
  }

  encode(writer: BinaryWriter): void {
    writer.f64(this.lease.deadline);
  }
}

/** Twin of `LeaseRow.encode`. */
export function decodeLease(handle: LeaseHandle, reader: BinaryReader): LeaseRow {
  const kind = reader.u8() as LeaseKind;
  const id = reader.i64();
  const ttlMs = reader.f64();
  const epoch = reader.varint();
  const origin = reader.varint();
  const incarnation = reader.varint();
  const payload = copyBytes(reader.bytes());
  return new LeaseRow(handle, kind, id, ttlMs, epoch, payload, origin, incarnation);
}

/** Leases by handle and, each kind apart, by the protocol's id. */
export class LeaseTable {
  readonly #byHandle = new Map<LeaseHandle, LeaseRow>();
  readonly #byId = new Map<LeaseKind, Map<bigint, LeaseRow>>();

  get(handle: LeaseHandle): LeaseRow | undefined {
    return this.#byHandle.get(handle);
  }

  byId(kind: LeaseKind, id: bigint): LeaseRow | undefined {
    return this.#byId.get(kind)?.get(id);
  }

  add(lease: LeaseRow): void {
    this.#byHandle.set(lease.handle, lease);
    let kind = this.#byId.get(lease.kind);
    if (kind === undefined) {
      kind = new Map();
      this.#byId.set(lease.kind, kind);
    }
    kind.set(lease.id, lease);
  }

  remove(lease: LeaseRow): void {
    this.#byHandle.delete(lease.handle);
    this.#byId.get(lease.kind)?.delete(lease.id);
  }

  /** Soonest deadline first, then id. */
  ofKind(kind: LeaseKind): LeaseRow[] {
    return [...(this.#byId.get(kind)?.values() ?? [])].sort(
      (x, y) => x.deadline - y.deadline || (x.id < y.id ? -1 : x.id > y.id ? 1 : 0),
    );
  }

  /** Leases of a kind in no promised order. */
  each(kind: LeaseKind): Iterable<LeaseRow> {
    return this.#byId.get(kind)?.values() ?? [];
  }
}
