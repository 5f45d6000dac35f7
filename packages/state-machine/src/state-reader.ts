import type {
  ByteString,
  ClusterTimeMs,
  LeaseHandle,
  LeaseKind,
  MemberId,
  Revision,
  Token,
  WallTimeMs,
} from '@lockstep/model';
import { invariant } from '@lockstep/model';
import type {
  AnyKeyspace,
  ClusterOption,
  HistoryReference,
  Keyspace,
  KeyspaceDefinition,
  KeyspaceIndex,
  Lease,
  LiveRecord,
  LockNote,
  MemberRecord,
  RemovedMember,
  StateReader,
  Waiter,
} from './contract.ts';
import type { HistoryTable } from './history.ts';
import { checkRow } from './image-load.ts';
import type { Store } from './store.ts';

/** Reads of the store, the same for transactions and for views from outside. */
export class StoreReader implements StateReader {
  /** For the machine's own procedures; doors see the interface only. */
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  get revision(): Revision {
    return this.store.meta.revision;
  }

  get time(): ClusterTimeMs {
    return this.store.meta.time;
  }

  get wall(): WallTimeMs {
    return this.store.meta.wall;
  }

  get liveBytes(): number {
    return this.store.liveBytes;
  }

  get featureLevel(): number {
    return this.store.meta.featureLevel;
  }

  keyspace<V>(definition: KeyspaceDefinition<V>): Keyspace<V> {
    return this.store.table(definition) as unknown as Keyspace<V>;
  }

  index<I extends KeyspaceIndex>(definition: AnyKeyspace): I {
    const { index } = this.store.table(definition);
    invariant(index !== undefined, () => `keyspace ${definition.name} has no index`);
    return index as I;
  }

  get<V>(keyspace: KeyspaceDefinition<V>, key: ByteString): LiveRecord<V> | undefined {
    const slot = this.store.table(keyspace).generation.slots.get(key);
    return slot?.record as LiveRecord<V> | undefined;
  }

  size(keyspace: AnyKeyspace): number {
    return this.store.table(keyspace).generation.slots.size;
  }

  range<V>(
    keyspace: KeyspaceDefinition<V>,
    from: ByteString,
    to: ByteString | undefined,
    visit: (key: ByteString, record: LiveRecord<V>) => boolean | undefined,
  ): void {
    const { ordered } = this.store.table(keyspace).generation;
    invariant(ordered !== undefined, () => `keyspace ${keyspace.name} is not ordered`);
    ordered.scan(from, to, (key, slot) => visit(key, slot.record as LiveRecord<V>));
  }

  scan<V>(
    keyspace: KeyspaceDefinition<V>,
    visit: (key: ByteString, record: LiveRecord<V>) => boolean | undefined,
  ): void {
    for (const slot of this.store.table(keyspace).generation.slots.values()) {
      if (visit(slot.key, slot.record as LiveRecord<V>) === false) return;
    }
  }

  lastRevision(keyspace: AnyKeyspace, sessions?: LeaseKind): Revision {
    return this.store.lastRevision(keyspace, sessions);
  }

  lease(handle: LeaseHandle): Lease | undefined {
    return this.store.leases.get(handle);
  }

  leaseById(kind: LeaseKind, id: bigint): Lease | undefined {
    return this.store.leases.byId(kind, id);
  }

  leases(kind: LeaseKind): readonly Lease[] {
    return this.store.leases.ofKind(kind);
  }

  leaseKeys(handle: LeaseHandle): readonly { keyspace: AnyKeyspace; key: ByteString }[] {
    const slots = this.store.leases.get(handle)?.sortedSlots() ?? [];
    return slots.map(({ generation, key }) => ({ keyspace: generation.table.definition, key }));
  }

  waiterCount(keyspace: AnyKeyspace, key: ByteString): number {
    return this.store.table(keyspace).queues.get(key)?.size ?? 0;
  }

  waiters(keyspace: AnyKeyspace, key: ByteString): readonly Waiter[] {
    const queue = this.store.table(keyspace).queues.get(key);
    return queue === undefined ? [] : [...queue.values()];
  }

  fence(resource: ByteString): Token {
    return this.store.fences.get(resource)?.token ?? 0;
  }

  fences(visit: (resource: ByteString, token: Token) => boolean | undefined): void {
    this.store.fences.visit(visit);
  }

  lockNote(keyspace: AnyKeyspace, key: ByteString): LockNote | undefined {
    return this.store.table(keyspace).notes.get(key)?.note;
  }

  option<T extends number | string | boolean>(option: ClusterOption<T>): T {
    return (this.store.options.get(option.name)?.value as T | undefined) ?? option.default;
  }

  members(): readonly MemberRecord[] {
    const rows = [...this.store.members.values()].sort((x, y) => x.id - y.id);
    return rows.map((row) => row.record);
  }

  get lastMember(): MemberId {
    return this.store.meta.lastMember;
  }

  removedMembers(): readonly RemovedMember[] {
    const rows = [...this.store.removed.values()].sort((x, y) => x.id - y.id);
    return rows.map((row) => row.record);
  }

  compactedRevision(keyspace: AnyKeyspace): Revision {
    return this.#history(keyspace).compacted;
  }

  compacting(keyspace: AnyKeyspace): boolean {
    return !this.#history(keyspace).scanned;
  }

  rangeAt(
    keyspace: AnyKeyspace,
    from: ByteString,
    to: ByteString | undefined,
    revision: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void {
    this.#history(keyspace).rangeAt(from, to, revision, visit);
  }

  historyRevision(keyspace: AnyKeyspace, keep: number): Revision {
    return this.#history(keyspace).newest(keep);
  }

  changesBetween(
    keyspace: AnyKeyspace,
    first: Revision,
    last: Revision,
    visit: (reference: HistoryReference) => boolean | undefined,
  ): void {
    this.#history(keyspace).changesBetween(first, last, visit);
  }

  versionBefore(
    keyspace: AnyKeyspace,
    key: ByteString,
    revision: Revision,
  ): HistoryReference | undefined {
    return this.#history(keyspace).versionBefore(key, revision);
  }

  #history(keyspace: AnyKeyspace): HistoryTable {
    const { history } = this.store.table(keyspace);
    invariant(history !== undefined, () => `keyspace ${keyspace.name} keeps no history`);
    return history;
  }

  checkRow(key: Uint8Array, value: Uint8Array): void {
    checkRow(this.store, key, value);
  }
}
