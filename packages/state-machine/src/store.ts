import {
  type BinaryWriter,
  type ByteString,
  type ClusterTimeMs,
  type Index,
  invariant,
  type LeaseHandle,
  type LeaseKind,
  type MemberId,
  type Revision,
  type Term,
  UnknownFormatError,
  type WallTimeMs,
} from '@lockstep/model';
import type { AnyKeyspace, ImageSink, StateMachineOptions } from './contract.ts';
import { DuplicateTable } from './duplicate-table.ts';
import { ImageWriter, SystemRow, Table } from './image.ts';
import { type Generation, KeyspaceTable, type Slot } from './keyspace.ts';
import { DeadlineEntry, DeadlineIndex } from './lease/deadline-index.ts';
import { type LeaseRow, LeaseTable } from './lease/lease-table.ts';
import { FenceTable } from './lock/fence-table.ts';
import { type WaiterRow, WaitQueues } from './lock/wait-queue.ts';
import { FEATURE_LEVEL } from './system/feature-level.ts';
import { MemberRow, newMember } from './system/member-table.ts';
import { ELECTION_TIMEOUT_OPTION, OptionRow } from './system/option-table.ts';
import type { RemovedRow } from './system/removed-table.ts';

/** What a deadline ends. */
export type DeadlineSubject = Slot | LeaseRow | WaiterRow;

/** Version of the image's layout; a member refuses an image of another. */
export const IMAGE_FORMAT = 1;

/** Counters and stamps: one row, written at the end of each entry. */
export class MetaRow extends SystemRow {
  clusterId = 0n;
  appliedIndex: Index = 0;
  appliedTerm: Term = 0;
  time: ClusterTimeMs = 0;
  wall: WallTimeMs = 0;
  revision: Revision = 1;
  /** Last handle, waiter id and member id given; never reused. */
  lastLease: LeaseHandle = 0;
  lastWaiter = 0;
  lastMember: MemberId = 0;
  featureLevel = 1;
  /** Last revision that opened or closed a lease, by kind. */
  readonly sessionRevisions: Revision[] = [0, 0, 0, 0, 0, 0, 0, 0];
  /** Sum over all other rows: what an image must add up to. */
  sumA = 0;
  sumB = 0;

  get table(): number {
    return Table.Meta;
  }

  imageKey(): ByteString {
    return '';
  }

  encode(writer: BinaryWriter): void {
    writer.u8(IMAGE_FORMAT).i64(this.clusterId).f64(this.appliedIndex).f64(this.appliedTerm);
    writer.f64(this.time).f64(this.wall).f64(this.revision);
    writer.f64(this.lastLease).f64(this.lastWaiter).f64(this.lastMember);
    writer.varint(this.featureLevel).u8(this.sessionRevisions.length);
    for (const revision of this.sessionRevisions) writer.f64(revision);
    writer.u32(this.sumA >>> 0).u32(this.sumB >>> 0);
  }
}

/**
 * The replicated state in memory, and its image. Only transactions and the machine's entry steps
 * change it; everything else reads.
 */
export class Store {
  readonly image: ImageWriter;
  /** Highest feature level this process knows. */
  readonly featureLevelMax: number;
  meta = new MetaRow();
  readonly tables: readonly KeyspaceTable[];
  leases = new LeaseTable();
  deadlines = new DeadlineIndex<DeadlineSubject>();
  queues = new WaitQueues();
  fences = new FenceTable();
  options = new Map<string, OptionRow>();
  members = new Map<MemberId, MemberRow>();
  removed = new Map<MemberId, RemovedRow>();
  duplicates = new DuplicateTable();
  /** Bytes of lock notes. */
  noteBytes = 0;
  /** Generations swapped out, freed a little in each entry. */
  readonly garbage: Garbage[] = [];
  readonly #byId = new Map<number, KeyspaceTable>();
  /** The keyspace asked for last: a door mostly stays in one. */
  #recent: KeyspaceTable | undefined;

  constructor(options: StateMachineOptions, sink: ImageSink = options.image) {
    this.image = new ImageWriter(sink);
    this.featureLevelMax = options.featureLevelMax ?? FEATURE_LEVEL;
    const tables: KeyspaceTable[] = [];
    for (const extension of options.extensions) {
      for (const definition of extension.keyspaces) {
        const { id, name } = definition;
        invariant(
          Number.isInteger(id) && id >= Table.FirstKeyspace && id <= 65_535,
          `keyspace ${name}: number ${id} is out of range`,
        );
        invariant(!this.#byId.has(id), `keyspace number ${id} is used twice`);
        invariant(
          !definition.history || definition.ordered,
          `keyspace ${name}: history needs an ordered keyspace`,
        );
        const table = new KeyspaceTable(definition);
        this.#byId.set(id, table);
        tables.push(table);
      }
    }
    this.tables = tables.sort((x, y) => x.definition.id - y.definition.id);
    for (const table of this.tables) table.open();
    this.#bootstrap(options);
  }

  #bootstrap({ bootstrap }: StateMachineOptions): void {
    this.meta.clusterId = bootstrap.clusterId;
    for (const { id, name, etcdId, peerAddress } of bootstrap.members) {
      this.members.set(id, new MemberRow(newMember(id, name, etcdId, peerAddress, false)));
      this.meta.lastMember = Math.max(this.meta.lastMember, id);
    }
    const seeds = new Map(Object.entries(bootstrap.options));
    const { electionTimeoutMs } = bootstrap;
    if (electionTimeoutMs !== undefined) seeds.set(ELECTION_TIMEOUT_OPTION.name, electionTimeoutMs);
    for (const [name, value] of seeds) this.options.set(name, new OptionRow(name, value));
  }

  /** Throws UnknownFormatError when the cluster has gone beyond what this process knows. */
  checkFeatureLevel(level: number): void {
    const { featureLevelMax } = this;
    if (level <= featureLevelMax) return;
    throw new UnknownFormatError(
      `the cluster is at feature level ${level}, this software knows levels up to ` +
        `${featureLevelMax}: upgrade it`,
    );
  }

  /** Forgets the seeds: an image is going to be loaded. */
  forgetBootstrap(): void {
    this.meta = new MetaRow();
    this.options = new Map();
    this.members = new Map();
  }

  /** Writes the seeds into the image of a fresh store. */
  writeBootstrap(): void {
    for (const row of this.options.values()) this.image.flush(row);
    for (const row of this.members.values()) this.image.flush(row);
  }

  table(definition: AnyKeyspace): KeyspaceTable {
    const recent = this.#recent;
    if (recent !== undefined && recent.definition === definition) return recent;
    return this.#find(definition);
  }

  #find(definition: AnyKeyspace): KeyspaceTable {
    const table = this.#byId.get(definition.id);
    invariant(
      table !== undefined && table.definition === definition,
      () => `keyspace ${definition.name} (${definition.id}) is not part of this machine`,
    );
    this.#recent = table;
    return table;
  }

  tableById(id: number): KeyspaceTable | undefined {
    return this.#byId.get(id);
  }

  /** Sum over all rows but meta. */
  sums(): { a: number; b: number } {
    let { a, b } = this.image.systemSum;
    for (const { generation } of this.tables) {
      a = (a + generation.sum.a) | 0;
      b = (b + generation.sum.b) | 0;
    }
    return { a, b };
  }

  get liveBytes(): number {
    let bytes = this.fences.liveBytes + this.queues.liveBytes + this.noteBytes;
    for (const { generation } of this.tables) bytes += generation.liveBytes;
    return bytes;
  }

  /** Moves a record's deadline entry; a slot without deadline has none. */
  setSlotDeadline(slot: Slot, deadline: ClusterTimeMs): void {
    if (slot.timer === undefined) {
      if (deadline === 0) return;
      const { id } = slot.generation.table.definition;
      slot.timer = new DeadlineEntry(slot, id, slot.key);
    }
    this.deadlines.set(slot.timer as DeadlineEntry<DeadlineSubject>, deadline);
    if (deadline === 0) slot.timer = undefined;
  }

  setLeaseDeadline(lease: LeaseRow, deadline: ClusterTimeMs): void {
    this.deadlines.set(lease.timer as DeadlineEntry<DeadlineSubject>, deadline);
  }

  /** Takes an ended lease out of the index; it keeps its deadline for the event. */
  removeLeaseDeadline(lease: LeaseRow): void {
    this.deadlines.remove(lease.timer as DeadlineEntry<DeadlineSubject>);
  }

  setWaiterDeadline(waiter: WaiterRow, deadline: ClusterTimeMs): void {
    this.deadlines.set(waiter.timer as DeadlineEntry<DeadlineSubject>, deadline);
  }

  /** Moves a record from one lease to another; 0 is none. */
  moveLease(slot: Slot, from: LeaseHandle, to: LeaseHandle): void {
    if (from === to) return;
    if (from !== 0) {
      this.leases.get(from)?.detach(slot);
      slot.generation.attached.delete(slot);
    }
    if (to !== 0) {
      const lease = this.leases.get(to);
      invariant(lease !== undefined, () => `record attached to unknown lease ${to}`);
      lease.attach(slot);
      slot.generation.attached.add(slot);
    }
  }

  lastRevision(definition: AnyKeyspace, sessions: LeaseKind | undefined): Revision {
    const { lastRevision } = this.table(definition);
    if (sessions === undefined) return lastRevision;
    return Math.max(lastRevision, this.meta.sessionRevisions[sessions] ?? 0);
  }
}

/** Rows of an old generation still in the image. `slots` is undefined when found at load. */
export interface Garbage {
  readonly keys: IterableIterator<ByteString>;
  readonly prefix: ByteString;
  readonly generation: Generation | undefined;
}
