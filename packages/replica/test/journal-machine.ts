import {
  type BinaryReader,
  BinaryWriter,
  copyBytes,
  EntryKind,
  type Index,
  invariant,
  type LogEntry,
  type MemberId,
  BinaryReader as Reader,
  type RenewalGroup,
  type Run,
  type Sequence,
  type Term,
  utf8Bytes,
  utf8Text,
} from '@lockstep/model';
import type { ApplySink, ImageSink, StateMachine, VoidReason } from '@lockstep/state-machine';

const KEY = '\x01journal';

/**
 * A state machine small enough to see through: its state is the list of texts applied, its
 * duplicate table, and a lease count. Keeps the contract that the replica relies on (order,
 * duplicates, gaps, incarnations opened by the text `hello`).
 */
export class JournalMachine {
  revision = 1;
  time = 0;
  wall = 0;
  appliedIndex: Index = 0;
  appliedTerm: Term = 0;
  clusterId = 7n;
  featureLevel = 1;
  liveBytes = 0;
  nextDeadline = 0;
  expiryPending = false;
  /** Texts in the order applied, as `origin:text`. */
  applied: string[] = [];
  renewals: number[][] = [];
  kinds: number[] = [];

  readonly #image: ImageSink;
  readonly #last = new Map<MemberId, { incarnation: number; sequence: Sequence }>();
  #work: (() => void)[] = [];
  #sink: ApplySink | undefined;

  constructor(image: ImageSink) {
    this.#image = image;
  }

  asStateMachine(): StateMachine {
    return this as unknown as StateMachine;
  }

  begin(index: Index, term: Term, entry: LogEntry, sink: ApplySink): void {
    invariant(index === this.appliedIndex + 1, `index ${index} after ${this.appliedIndex}`);
    this.#sink = sink;
    this.time = Math.max(this.time, entry.time);
    this.wall = entry.wall;
    if (entry.kind !== EntryKind.Commands) this.kinds.push(entry.kind);
    for (const group of entry.renewals) this.#work.push(() => this.#renew(group));
    for (const run of entry.runs) {
      run.commands.forEach((command, i) => {
        this.#work.push(() => this.#apply(run, run.first === 0 ? 0 : run.first + i, command));
      });
    }
    this.#work.push(() => {
      this.appliedIndex = index;
      this.appliedTerm = term;
      this.#image.set(KEY, this.#encode());
    });
  }

  next(): boolean {
    this.#work.shift()?.();
    return this.#work.length > 0;
  }

  lastSequence(member: MemberId, incarnation: number): Sequence {
    const last = this.#last.get(member);
    return last?.incarnation === incarnation ? last.sequence : 0;
  }

  stateHash(): string {
    let hash = 17;
    for (const byte of this.#encode()) hash = (Math.imul(hash, 31) + byte) >>> 0;
    return hash.toString(16).padStart(16, '0');
  }

  members(): [] {
    return [];
  }

  leases(): [] {
    return [];
  }

  leaseById(): undefined {
    return undefined;
  }

  load(_key: Uint8Array, value: Uint8Array): void {
    const reader: BinaryReader = new Reader(value);
    this.appliedIndex = reader.varint();
    this.appliedTerm = reader.varint();
    this.revision = reader.varint();
    this.time = reader.f64();
    for (let left = reader.varint(); left > 0; left--) {
      this.#last.set(reader.varint(), { incarnation: reader.varint(), sequence: reader.varint() });
    }
    for (let left = reader.varint(); left > 0; left--) this.applied.push(utf8Text(reader.bytes()));
  }

  loaded(): void {}

  #renew(group: RenewalGroup): void {
    this.renewals.push([...group.leases]);
    this.#sink!.renewed(
      group,
      group.leases.map((lease) => lease % 2 === 1),
    );
  }

  #apply(run: Run, sequence: Sequence, command: Uint8Array): void {
    const reason = this.#voidReason(run, sequence, command);
    const sink = this.#sink!;
    if (reason !== undefined) {
      sink.result(run.origin, run.incarnation, sequence, { kind: 'void', reason });
      return;
    }
    const text = `${run.origin}:${utf8Text(copyBytes(command))}`;
    this.applied.push(text);
    this.revision++;
    const { time, wall, revision } = this;
    const { origin, incarnation } = run;
    sink.transaction({ revision, time, wall, origin, sequence, events: [] });
    const wanted = sink.wanted(origin, incarnation, sequence);
    const result = wanted ? text : undefined;
    sink.result(origin, incarnation, sequence, { kind: 'done', result, revision });
  }

  #voidReason(run: Run, sequence: Sequence, command: Uint8Array): VoidReason | undefined {
    if (sequence === 0) return undefined;
    const last = this.#last.get(run.origin);
    const opens = sequence === 1 && run.incarnation > (last?.incarnation ?? 0);
    if (!opens) {
      if (last?.incarnation !== run.incarnation) return 'old-incarnation';
      if (sequence <= last.sequence) return 'duplicate';
      if (sequence > last.sequence + 1) return 'gap';
    }
    this.#last.set(run.origin, { incarnation: run.incarnation, sequence });
    return command.length === 0 ? 'empty' : undefined;
  }

  #encode(): Uint8Array {
    const writer = new BinaryWriter();
    writer.varint(this.appliedIndex).varint(this.appliedTerm).varint(this.revision);
    writer.f64(this.time).varint(this.#last.size);
    for (const [member, last] of [...this.#last].sort(([a], [b]) => a - b)) {
      writer.varint(member).varint(last.incarnation).varint(last.sequence);
    }
    writer.varint(this.applied.length);
    for (const text of this.applied) writer.bytes(utf8Bytes(text));
    return writer.take();
  }
}
