import {
  BinaryFormatError,
  BinaryReader,
  type ByteString,
  type ClusterTimeMs,
  type CommandSession,
  EntryKind,
  hasSession,
  type Incarnation,
  type Index,
  invariant,
  LeaseKind,
  type LogEntry,
  type MemberId,
  mark,
  type Run,
  type Sequence,
  type Term,
} from '@lockstep/model';
import {
  type AnyProcedure,
  type ApplySink,
  BudgetExceeded,
  type CommandOutcome,
  type HistoryReference,
  type LiveRecord,
  type OptionSetting,
  type StateMachine,
  type StateMachineOptions,
  type VoidReason,
} from './contract.ts';
import { EntryTail } from './entry-tail.ts';
import { CHECK_BYTES } from './image.ts';
import { ImageLoader } from './image-load.ts';
import { Slot } from './keyspace.ts';
import { LeaseRow } from './lease/lease-table.ts';
import { liftAfterElection, renewGroups } from './lease/renewal.ts';
import { LOCK_WAITER } from './lock/lock-waiter.ts';
import { MachineRegistry } from './procedure.ts';
import { decodeRecord } from './record.ts';
import { hashText } from './state-hash.ts';
import { StoreReader } from './state-reader.ts';
import { Store } from './store.ts';
import { HashRing } from './system/hash-ring.ts';
import { HELLO } from './system/hello.ts';
import { endIncarnation } from './system/incarnation.ts';
import { TRANSACTION_STEPS_OPTION } from './system/option-table.ts';
import { systemProcedures } from './system/procedures.ts';
import { MachineTransaction, type TransactionHead } from './transaction.ts';

/** Expiry transactions at the head of one entry; what is left over waits for the next. */
const EXPIRY_PER_ENTRY_MAX = 1000;

/** Makes a state machine in its bootstrap state; `load` replaces that by an image. */
export function createStateMachine(options: StateMachineOptions): StateMachine {
  return new Machine(options);
}

class Machine extends StoreReader implements StateMachine {
  readonly #registry: MachineRegistry;
  readonly #tx: MachineTransaction;
  readonly #ring: HashRing;
  readonly #tail: EntryTail;
  readonly #head: TransactionHead = {
    origin: 0,
    incarnation: 0,
    sequence: 0,
    principal: 0,
    session: undefined,
    wanted: false,
    readOnly: false,
    budget: 0,
  };
  #loader: ImageLoader | undefined;
  /** False until the bootstrap state stands in the image, or an image was loaded. */
  #founded = false;
  #entry: LogEntry | undefined;
  #sink: ApplySink | undefined;
  #index: Index = 0;
  #term: Term = 0;
  #expired = 0;
  #run = 0;
  #command = 0;
  /** Commands of the present run below this are duplicates. */
  #skip = 0;
  /** True from the judgement of a run led by its incarnation's hello until that has run. */
  #opening = false;
  /** Why no command of the present run applies. */
  #refusal: VoidReason | undefined;
  expiryPending = false;

  constructor(options: StateMachineOptions) {
    const lock = { name: 'lock', keyspaces: [], procedures: [], waiters: [LOCK_WAITER] };
    const ring = new HashRing();
    const system = { name: 'system', keyspaces: [], procedures: systemProcedures(ring) };
    const registry = new MachineRegistry([system, lock, ...options.extensions]);
    super(new Store(options));
    this.#registry = registry;
    this.#ring = ring;
    this.#tx = new MachineTransaction(this.store, registry);
    this.#tail = new EntryTail(this.store);
    this.#tail.sealMeta();
  }

  get appliedIndex(): Index {
    return this.store.meta.appliedIndex;
  }

  get appliedTerm(): Term {
    return this.store.meta.appliedTerm;
  }

  get clusterId(): bigint {
    return this.store.meta.clusterId;
  }

  options(): readonly OptionSetting[] {
    return this.#registry.options().map((option) => ({ option, value: this.option(option) }));
  }

  get nextDeadline(): ClusterTimeMs {
    return this.store.deadlines.next;
  }

  get backgroundPending(): boolean {
    const { garbage, tables } = this.store;
    return garbage.length > 0 || tables.some(({ history }) => history?.scanned === false);
  }

  stateHash(): string {
    const { a, b } = this.store.sums();
    const { meta } = this.store;
    return hashText((a + meta.a) | 0, (b + meta.b) | 0);
  }

  lastSequence(member: MemberId, incarnation: Incarnation): Sequence {
    const row = this.store.duplicates.rows.get(member);
    return row?.incarnation === incarnation ? row.lastSequence : 0;
  }

  // ---- applying -----------------------------------------------------------------------------

  begin(index: Index, term: Term, entry: LogEntry, sink: ApplySink): void {
    const { meta } = this.store;
    invariant(this.#entry === undefined, () => `entry ${index} begins inside of ${this.#index}`);
    invariant(this.#loader === undefined, 'an entry is applied before the image is loaded');
    invariant(
      index > meta.appliedIndex,
      () => `entry ${index} is applied after ${meta.appliedIndex}`,
    );
    invariant(
      entry.time >= meta.time,
      () => `cluster time steps back from ${meta.time} to ${entry.time} at ${index}`,
    );
    if (!this.#founded) {
      this.store.writeBootstrap();
      this.#founded = true;
    }
    this.#entry = entry;
    this.#sink = sink;
    this.#index = index;
    this.#term = term;
    this.#tx.entryIndex = index;
    this.#tx.entryTerm = term;
    meta.time = entry.time;
    meta.wall = entry.wall;
    this.#expired = 0;
    this.#run = 0;
    this.#command = -1;
    if (entry.kind === EntryKind.Elected) liftAfterElection(this.store);
    renewGroups(this.store, entry.renewals, sink);
  }

  next(): boolean {
    const entry = this.#entry;
    const { meta } = this.store;
    invariant(entry !== undefined, 'next without an entry');
    if (this.#expireNext()) return true;
    while (this.#run < entry.runs.length) {
      const run = entry.runs[this.#run]!;
      if (this.#command === -1) this.#admit(run);
      if (this.#command < run.commands.length) {
        this.#applyCommand(run, this.#command++);
        return true;
      }
      this.#run++;
      this.#command = -1;
    }
    this.expiryPending = this.#dueSubject() !== undefined;
    if (this.expiryPending) mark('expiry left over for the next entry');
    this.#tail.finish(this.#index, this.#term);
    const { a, b } = this.store.sums();
    this.#ring.add(this.#index, (a + meta.a) | 0, (b + meta.b) | 0);
    this.#entry = undefined;
    this.#sink = undefined;
    return false;
  }

  /** What is due first at the entry's time; records of cleared generations are passed over. */
  #dueSubject() {
    const { deadlines, meta } = this.store;
    for (;;) {
      const subject = deadlines.due(meta.time)?.subject;
      if (!(subject instanceof Slot)) return subject;
      if (subject.generation === subject.generation.table.generation) return subject;
      this.store.setSlotDeadline(subject, 0);
    }
  }

  #expireNext(): boolean {
    if (this.#expired >= EXPIRY_PER_ENTRY_MAX) return false;
    const subject = this.#dueSubject();
    if (subject === undefined) {
      // Commands of this entry may make new deadlines at or before its time: next entry's work.
      this.#expired = EXPIRY_PER_ENTRY_MAX;
      return false;
    }
    this.#expired++;
    this.#beginExpiry();
    const tx = this.#tx;
    if (subject instanceof Slot) this.#expireRecord(subject);
    else if (subject instanceof LeaseRow) {
      tx.endLease(subject, 'expired');
      if (subject.kind === LeaseKind.Member) endIncarnation(tx, Number(subject.id));
    } else tx.expireWaiter(subject);
    tx.waiterWrites.serve();
    this.#commit(0, 0);
    return true;
  }

  #beginExpiry(): void {
    const head = this.#head;
    head.origin = 0;
    head.incarnation = 0;
    head.sequence = 0;
    head.principal = 0;
    head.session = undefined;
    head.wanted = false;
    head.readOnly = false;
    // Expiry has no client who could be told that it was undone.
    head.budget = Number.POSITIVE_INFINITY;
    this.#tx.begin(head);
  }

  #expireRecord(slot: Slot): void {
    const { definition } = slot.generation.table;
    const record = slot.record!;
    if (definition.expired === undefined) this.#tx.delete(definition, slot.key);
    else definition.expired(this.#tx, slot.key, record);
    invariant(slot.record !== record, () => `expiry left a record of ${definition.name} as it was`);
  }

  /** Judges a run by the duplicate table, once. */
  #admit(run: Run): void {
    this.#command = 0;
    this.#skip = 0;
    this.#refusal = undefined;
    this.#opening = false;
    if (run.first === 0 || run.commands.length === 0) return;
    const { duplicates } = this.store;
    const known = duplicates.rows.get(run.origin)?.incarnation ?? 0;
    this.#opening = run.incarnation > known && run.first === 1 && isHello(run.commands[0]!);
    if (!this.#opening) this.#judge(run);
  }

  #judge({ origin, incarnation, first, commands }: Run): void {
    const { duplicates } = this.store;
    const verdict = duplicates.admit(origin, incarnation, first, commands.length);
    this.#skip = verdict.skip;
    this.#refusal = verdict.reason;
    const row = duplicates.rows.get(origin);
    if (row !== undefined) this.#tail.touch(row);
  }

  #applyCommand(run: Run, at: number): void {
    const command = run.commands[at]!;
    const sequence = run.first === 0 ? 0 : run.first + at;
    const reason = this.#refusal ?? (at < this.#skip ? 'duplicate' : undefined);
    const sink = this.#sink!;
    const { origin, incarnation } = run;
    if (reason !== undefined) sink.result(origin, incarnation, sequence, voided(reason));
    else if (command.length === 0) sink.result(origin, incarnation, sequence, voided('empty'));
    else sink.result(origin, incarnation, sequence, this.#execute(run, sequence, command));
    if (!this.#opening) return;
    // The hello has opened the incarnation, or not: now the table can judge the run it leads.
    this.#opening = false;
    this.#judge(run);
  }

  knows(command: Uint8Array): boolean {
    return this.#registry.knows(command);
  }

  levelWanted(command: Uint8Array): number {
    const since = this.#registry.since(command);
    return since > this.store.meta.featureLevel ? since : 0;
  }

  #execute(run: Run, sequence: Sequence, command: Uint8Array): CommandOutcome {
    const reader = new BinaryReader(command);
    const head = this.#head;
    let procedure: AnyProcedure;
    let argument: unknown;
    try {
      procedure = this.#registry.procedure(reader.u16(), reader.u8());
      const sessioned = hasSession(reader.u8());
      head.principal = reader.varint();
      head.session = sessioned ? { lease: reader.varint(), epoch: reader.varint() } : undefined;
      const refusal = head.session === undefined ? undefined : this.#sessionRefusal(head.session);
      if (refusal !== undefined) return voided(refusal);
      head.wanted = this.#sink!.wanted(run.origin, run.incarnation, sequence);
      if (procedure.readOnly && !head.wanted) return UNWANTED;
      argument = procedure.decode(reader);
    } catch (error) {
      // The same bytes fail to decode on every member, and nothing was written yet.
      if (!(error instanceof BinaryFormatError)) throw error;
      mark('malformed command');
      return voided('malformed');
    }
    head.origin = run.origin;
    head.incarnation = run.incarnation;
    head.sequence = sequence;
    head.readOnly = procedure.readOnly;
    head.budget = this.option(TRANSACTION_STEPS_OPTION);
    const tx = this.#tx;
    tx.begin(head);
    let result: unknown;
    try {
      result = procedure.run(tx, argument);
      tx.waiterWrites.serve();
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      tx.undo();
      return voided('budget');
    }
    const revision = this.#commit(sequence === 0 ? 0 : run.origin, sequence);
    return { kind: 'done', result, revision };
  }

  #sessionRefusal({ lease: handle, epoch }: CommandSession): VoidReason | undefined {
    const lease = this.store.leases.get(handle);
    if (lease === undefined) return 'session-expired';
    return lease.epoch === epoch ? undefined : 'session-moved';
  }

  #commit(origin: MemberId, sequence: Sequence): number {
    const tx = this.#tx;
    const revision = tx.commit();
    const { events } = tx;
    if (revision !== 0 || events.length > 0) {
      const { time, wall } = this.store.meta;
      this.#sink!.transaction({ revision, time, wall, origin, sequence, events });
    }
    return revision;
  }

  // ---- image --------------------------------------------------------------------------------
  load(key: Uint8Array, value: Uint8Array): void {
    invariant(!this.#founded, 'an image is loaded into a machine that has applied entries');
    this.#loader ??= new ImageLoader(this.store);
    this.#loader.row(key, value);
  }

  loaded(): void {
    if (this.#loader === undefined) return;
    this.#loader.finish();
    this.#loader = undefined;
    this.#founded = true;
    this.expiryPending = this.#dueSubject() !== undefined;
  }

  historyKey({ keyspace, revision, sub }: HistoryReference): ByteString {
    const { history } = this.store.table(keyspace);
    invariant(history !== undefined, () => `keyspace ${keyspace.name} keeps no history`);
    return history.imageKey(revision, sub);
  }

  decodeHistory(reference: HistoryReference, value: Uint8Array): LiveRecord {
    const { keyspace, key } = reference;
    this.store.image.open(keyspace.id, key, value);
    const reader = new BinaryReader(value, CHECK_BYTES);
    const stored = reader.byteString();
    invariant(stored === key && reader.u8() === 1, 'history row is of another key or a tombstone');
    reader.varint();
    return decodeRecord(reader, keyspace.codec);
  }
}

const UNWANTED: CommandOutcome = { kind: 'done', result: undefined, revision: 0 };

function voided(reason: VoidReason): CommandOutcome {
  return { kind: 'void', reason };
}

function isHello(command: Uint8Array): boolean {
  return command.length >= 2 && command[0]! + command[1]! * 256 === HELLO;
}
