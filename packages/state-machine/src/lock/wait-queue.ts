import {
  type BinaryReader,
  type BinaryWriter,
  type ByteString,
  type ClusterTimeMs,
  copyBytes,
  type Incarnation,
  type MemberId,
  type Sequence,
} from '@lockstep/model';
import type { AnyKeyspace, Waiter } from '../contract.ts';
import { SystemRow, Table, u64Key } from '../image.ts';
import type { KeyspaceTable } from '../keyspace.ts';
import { DeadlineEntry } from '../lease/deadline-index.ts';

/** Waiters of one key by id. Ids only grow and a waiter joins once, so the Map's order is queue
 * order, also after a reload in id order. */
export class KeyQueue extends Map<number, WaiterRow> {
  /** How many waiters of each kind; counted exactly, so that it is the same after a reload. */
  readonly #kinds = new Map<string, number>();

  join(waiter: WaiterRow): void {
    this.set(waiter.id, waiter);
    this.#kinds.set(waiter.kind, (this.#kinds.get(waiter.kind) ?? 0) + 1);
  }

  leave(waiter: WaiterRow): void {
    this.delete(waiter.id);
    const left = this.#kinds.get(waiter.kind)! - 1;
    if (left === 0) this.#kinds.delete(waiter.kind);
    else this.#kinds.set(waiter.kind, left);
  }

  /** The kind of all its waiters; undefined when they are of several. */
  get onlyKind(): string | undefined {
    return this.#kinds.size === 1 ? this.#kinds.keys().next().value : undefined;
  }

  /** The oldest waiter. */
  get head(): WaiterRow | undefined {
    return this.values().next().value;
  }
}

/** A queued waiter; immutable but for its place in queues and image. */
export class WaiterRow extends SystemRow implements Waiter {
  readonly id: number;
  readonly kind: string;
  readonly keyspace: AnyKeyspace;
  readonly keys: readonly ByteString[];
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  readonly request: Sequence;
  readonly deadline: ClusterTimeMs;
  readonly since: ClusterTimeMs;
  readonly args: Uint8Array;
  readonly space: KeyspaceTable;
  readonly timer: DeadlineEntry;

  constructor(space: KeyspaceTable, fields: Omit<Waiter, 'keyspace'>) {
    super();
    this.id = fields.id;
    this.kind = fields.kind;
    this.keyspace = space.definition;
    this.keys = fields.keys;
    this.origin = fields.origin;
    this.incarnation = fields.incarnation;
    this.request = fields.request;
    this.deadline = fields.deadline;
    this.since = fields.since;
    this.args = fields.args;
    this.space = space;
    this.timer = new DeadlineEntry(this, Table.Waiters, fields.id);
  }

  get table(): number {
    return Table.Waiters;
  }

  imageKey(): ByteString {
    return u64Key(this.id);
  }

  encode(writer: BinaryWriter): void {
    writer.byteString(this.kind).u16(this.keyspace.id).varint(this.keys.length);
    for (const key of this.keys) writer.byteString(key);
    writer.varint(this.origin).varint(this.incarnation).varint(this.request);
    writer.f64(this.deadline).f64(this.since).bytes(this.args);
  }

  /** Bytes counted against the quota. */
  get sizeBytes(): number {
    let size = 96 + this.args.length;
    for (const key of this.keys) size += 16 + key.length;
    return size;
  }
}

/** Twin of `encode`; `spaceOf` finds a keyspace by number. */
export function decodeWaiter(
  id: number,
  reader: BinaryReader,
  spaceOf: (id: number) => KeyspaceTable,
): WaiterRow {
  const kind = reader.byteString();
  const space = spaceOf(reader.u16());
  const keys: ByteString[] = [];
  for (let left = reader.varint(); left > 0; left--) keys.push(reader.byteString());
  return new WaiterRow(space, {
    id,
    kind,
    keys,
    origin: reader.varint(),
    incarnation: reader.varint(),
    request: reader.varint(),
    deadline: reader.f64(),
    since: reader.f64(),
    args: copyBytes(reader.bytes()),
  });
}

/** All waiters by id, and by key in their keyspaces. */
export class WaitQueues {
  readonly byId = new Map<number, WaiterRow>();
  /** By the number of the command that queued them; members count alike, so some share it. */
  readonly #byRequest = new Map<Sequence, Set<WaiterRow>>();
  liveBytes = 0;

  #enter(waiter: WaiterRow): void {
    this.byId.set(waiter.id, waiter);
    this.liveBytes += waiter.sizeBytes;
    const same = this.#byRequest.get(waiter.request);
    if (same === undefined) this.#byRequest.set(waiter.request, new Set([waiter]));
    else same.add(waiter);
  }

  add(waiter: WaiterRow): void {
    this.#enter(waiter);
    for (const key of waiter.keys) {
      let queue = waiter.space.queues.get(key);
      if (queue === undefined) {
        queue = new KeyQueue();
        waiter.space.queues.set(key, queue);
      }
      queue.join(waiter);
    }
  }

  remove(waiter: WaiterRow): void {
    this.byId.delete(waiter.id);
    this.liveBytes -= waiter.sizeBytes;
    const same = this.#byRequest.get(waiter.request);
    same?.delete(waiter);
    if (same?.size === 0) this.#byRequest.delete(waiter.request);
    for (const key of waiter.keys) {
      const queue = waiter.space.queues.get(key);
      queue?.leave(waiter);
      if (queue?.size === 0) waiter.space.queues.delete(key);
    }
  }

  /** Puts a waiter back in id order, when the transaction that removed it is undone. */
  restore(waiter: WaiterRow): void {
    this.#enter(waiter);
    for (const key of waiter.keys) {
      const rows = [...(waiter.space.queues.get(key)?.values() ?? []), waiter];
      rows.sort((x, y) => x.id - y.id);
      const queue = new KeyQueue();
      for (const row of rows) queue.join(row);
      waiter.space.queues.set(key, queue);
    }
  }

  /** Waiters that one command queued, oldest first. */
  ofRequest(origin: MemberId, incarnation: Incarnation, request: Sequence): WaiterRow[] {
    const found = [...(this.#byRequest.get(request) ?? [])].filter(
      (waiter) => waiter.origin === origin && waiter.incarnation === incarnation,
    );
    return found.sort((x, y) => x.id - y.id);
  }

  /** Waiters of a member's incarnations below `below`, oldest first. */
  ofIncarnations(origin: MemberId, below: Incarnation): WaiterRow[] {
    const found: WaiterRow[] = [];
    for (const waiter of this.byId.values()) {
      if (waiter.origin === origin && waiter.incarnation < below) found.push(waiter);
    }
    return found.sort((x, y) => x.id - y.id);
  }
}
