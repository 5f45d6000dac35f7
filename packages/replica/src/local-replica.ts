import {
  type Clock,
  decodeEntry,
  EntryKind,
  encodeEntry,
  type Incarnation,
  type LeaseHandle,
  LeaseKind,
  LIMITS,
  LockstepError,
  type MemberId,
  type RenewalGroup,
  type Run,
  type Scheduler,
  type Sequence,
  type Timer,
} from '@lockstep/model';
import {
  type ApplySink,
  type CommandOutcome,
  encodeHello,
  FEATURE_LEVEL,
  type HistoryReference,
  type LiveRecord,
  type StateMachine,
} from '@lockstep/state-machine';
import type {
  BarrierWaiter,
  CommandWaiter,
  EventSink,
  RenewalWaiter,
  Replica,
  ReplicaStatus,
} from './contract.ts';
import type { LocalImage } from './local-image.ts';
import { NO_TICKET } from './member-lease.ts';
import { wantedConfiguration } from './next-configuration.ts';
import { PendingCommands } from './pending-commands.ts';
import { Subscribers } from './subscribers.ts';

export interface LocalReplicaOptions {
  readonly stateMachine: StateMachine;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** The machine's image sink, from which history values are read. */
  readonly image?: LocalImage;
  readonly member?: MemberId;
  readonly incarnation?: Incarnation;
  /** Encoded `hello` that opens the incarnation; left out: one without addresses is made. */
  readonly hello?: Uint8Array;
  /** True: nothing is applied until `step()`; for tests that look between turns. */
  readonly manual?: boolean;
}

/** A replica with handles for tests of doors. */
export interface LocalReplica extends Replica {
  /** Applies what was gathered now, as one entry, then lets the barriers through. */
  step(): void;
  /** Appends an empty entry: due leases and deadlines expire, as a leader's tick does. */
  tick(): void;
  /** What a member cut off from its majority does: holds everything, shows no leader. */
  setContact(inContact: boolean): void;
  /** What a member does while it replays its log. */
  setServing(serving: boolean): void;
  /** Answers all that waits with an error, as after a request timeout; held commands are void. */
  failPending(code: 'UNKNOWN_OUTCOME' | 'NO_LEADER' | 'STOPPING'): void;
  /** Delivers gossip as if another member had sent it. */
  receiveGossip(from: MemberId, door: string, payload: Uint8Array): void;
  /** Gossip this member sent, newest per door. */
  readonly gossiped: ReadonlyMap<string, Uint8Array>;
  /** Tells the doors that events were skipped, as a snapshot install does. */
  skip(from: number, to: number): void;
  /** Stops the deadline timer; everything that waits fails with STOPPING. */
  close(): void;
}

/**
 * One member without log or network: submits are gathered per turn into one entry and applied
 * through the real state machine; cluster time comes from the clock. What a door sees is what
 * `openReplica` gives it, so doors are tested against it (and demos of one process may use it).
 * Entry bytes are overwritten after apply, so that a view kept by mistake shows.
 */
export function createLocalReplica(options: LocalReplicaOptions): LocalReplica {
  return new LocalMember(options);
}

interface HeldRenewal {
  readonly lease: LeaseHandle;
  readonly waiter: RenewalWaiter;
}

class LocalMember implements LocalReplica, ApplySink {
  readonly member: MemberId;
  readonly incarnation: Incarnation;
  readonly state: StateMachine;
  readonly gossiped = new Map<string, Uint8Array>();
  inContact = true;
  serving = true;

  readonly #options: LocalReplicaOptions;
  readonly #pending = new PendingCommands();
  readonly #subscribers = new Subscribers();
  readonly #startMs: number;
  readonly #startTime: number;
  #handed: Sequence = 0;
  #barriers: BarrierWaiter[] = [];
  #renewals: HeldRenewal[] = [];
  #renewing: HeldRenewal[] = [];
  #ticket = 0;
  #posted = false;
  #stepping = false;
  #closed = false;
  #deadline: Timer | undefined;

  constructor(options: LocalReplicaOptions) {
    this.#options = options;
    this.member = options.member ?? 1;
    this.state = options.stateMachine;
    const record = this.state.members().find(({ id }) => id === this.member);
    this.incarnation = options.incarnation ?? (record?.incarnation ?? 0) + 1;
    this.#startMs = options.clock.monotonicMs();
    this.#startTime = options.stateMachine.time;
    this.#pending.push(options.hello ?? this.#hello(), undefined, 0);
    this.step();
  }

  submit(command: Uint8Array, waiter?: CommandWaiter): Sequence {
    if (this.#closed) return this.#refuse(waiter, new LockstepError('STOPPING'));
    if (this.#pending.count >= LIMITS.memberCommandsPendingMax) {
      return this.#refuse(waiter, new LockstepError('OVERLOADED', this.#pending.count));
    }
    const sequence = this.#pending.push(command, waiter, 0);
    this.#wake();
    return sequence;
  }

  barrier(waiter: BarrierWaiter): void {
    if (this.#closed) {
      this.#options.scheduler.post(() => waiter.failed(new LockstepError('STOPPING')));
      return;
    }
    this.#barriers.push(waiter);
    this.#wake();
  }

  renew(lease: LeaseHandle, waiter: RenewalWaiter): void {
    if (this.#closed) {
      this.#options.scheduler.post(() => waiter.failed(new LockstepError('STOPPING')));
      return;
    }
    this.#renewals.push({ lease, waiter });
    this.#wake();
  }

  readHistory(
    references: readonly HistoryReference[],
    done: (error: LockstepError | undefined, records: readonly LiveRecord[]) => void,
  ): void {
    // As in a member, what compaction removes after this call is still answered.
    const values = references.map((reference) =>
      this.#options.image?.get(this.state.historyKey(reference)),
    );
    this.#options.scheduler.post(() => {
      const records: LiveRecord[] = [];
      for (const [i, reference] of references.entries()) {
        const value = values[i];
        if (value === undefined) {
          const oldest = this.state.compactedRevision(reference.keyspace);
          done(new LockstepError('COMPACTED', reference.revision, oldest), []);
          return;
        }
        records.push(this.state.decodeHistory(reference, value));
      }
      done(undefined, records);
    });
  }

  subscribe(sink: EventSink): () => void {
    return this.#subscribers.add(sink);
  }

  gossip(door: string, payload: Uint8Array): void {
    this.gossiped.set(door, payload);
  }

  status(): ReplicaStatus {
    const { state } = this;
    return {
      member: this.member,
      incarnation: this.incarnation,
      role: this.inContact ? 'leader' : 'follower',
      leader: this.inContact ? this.member : 0,
      term: Math.max(1, state.appliedTerm),
      lastIndex: state.appliedIndex,
      commitIndex: state.appliedIndex,
      appliedIndex: state.appliedIndex,
      revision: state.revision,
      logBytes: 0,
      imageBytes: 0,
      pendingCommands: this.#pending.count,
      health: 'ok',
      configuration: wantedConfiguration(state.members()),
      peers: [],
    };
  }

  transferLeadership(
    target: MemberId | undefined,
    done: (error: LockstepError | undefined) => void,
  ): void {
    const here = target === undefined || target === this.member;
    const error = here && this.inContact ? undefined : new LockstepError('NO_LEADER');
    this.#options.scheduler.post(() => done(error));
  }

  // ---- handles for tests ------------------------------------------------------------------

  step(): void {
    if (!this.inContact || this.#closed || this.#stepping) return;
    this.#stepping = true;
    const barriers = this.#barriers;
    this.#barriers = [];
    try {
      while (this.#handed + 1 < this.#pending.next || this.#renewals.length > 0) this.#apply();
    } finally {
      this.#stepping = false;
    }
    for (const waiter of barriers) waiter.reached(this.#times());
    this.#armDeadline();
  }

  tick(): void {
    if (!this.inContact || this.#closed) return;
    do this.#apply();
    while (this.state.expiryPending);
    this.#armDeadline();
  }

  setContact(inContact: boolean): void {
    this.inContact = inContact;
    this.#subscribers.changed();
    if (inContact) this.#wake();
  }

  setServing(serving: boolean): void {
    this.serving = serving;
    this.#subscribers.changed();
  }

  failPending(code: 'UNKNOWN_OUTCOME' | 'NO_LEADER' | 'STOPPING'): void {
    const error = new LockstepError(code);
    for (let sequence = this.#pending.first; sequence < this.#pending.next; sequence++) {
      const pending = this.#pending.get(sequence);
      const waiter = pending?.waiter;
      if (pending !== undefined) this.#pending.empty(pending);
      waiter?.failed(error);
    }
    const barriers = this.#barriers;
    const renewals = this.#renewals;
    this.#barriers = [];
    this.#renewals = [];
    for (const waiter of barriers) waiter.failed(error);
    for (const { waiter } of renewals) waiter.failed(error);
  }

  receiveGossip(from: MemberId, door: string, payload: Uint8Array): void {
    this.#subscribers.gossip(from, door, payload);
  }

  skip(from: number, to: number): void {
    this.#subscribers.skipped(from, to);
  }

  close(): void {
    this.#closed = true;
    this.#deadline?.cancel();
    this.failPending('STOPPING');
  }

  // ---- where apply reports ----------------------------------------------------------------

  wanted(origin: MemberId, incarnation: Incarnation, sequence: Sequence): boolean {
    if (origin !== this.member || incarnation !== this.incarnation) return false;
    return this.#pending.get(sequence)?.waiter !== undefined;
  }

  transaction(transaction: Parameters<ApplySink['transaction']>[0]): void {
    this.#subscribers.transaction(transaction);
  }

  result(origin: MemberId, incarnation: Incarnation, seq: Sequence, outcome: CommandOutcome) {
    if (origin !== this.member || incarnation !== this.incarnation || seq === 0) return;
    this.#pending.shift().waiter?.applied(outcome);
  }

  renewed(group: RenewalGroup, alive: readonly boolean[]): void {
    if (group.ticket === NO_TICKET) return;
    const renewing = this.#renewing;
    this.#renewing = [];
    renewing.forEach(({ waiter }, i) => {
      waiter.renewed(alive[i] ?? false);
    });
  }

  // ---- inside -----------------------------------------------------------------------------

  #hello(): Uint8Array {
    const { member, incarnation } = this;
    return encodeHello({
      member,
      incarnation,
      name: '',
      version: 'local',
      featureLevel: FEATURE_LEVEL,
      dataDirectory: 'local',
      addresses: {},
    });
  }

  #refuse(waiter: CommandWaiter | undefined, error: LockstepError): Sequence {
    if (waiter !== undefined) this.#options.scheduler.post(() => waiter.failed(error));
    return 0;
  }

  #wake(): void {
    if (this.#posted || this.#options.manual === true) return;
    this.#posted = true;
    this.#options.scheduler.post(() => {
      this.#posted = false;
      this.step();
    });
  }

  #times(): { clusterMs: number; wallMs: number } {
    const { clock } = this.#options;
    const now = this.#startTime + Math.floor(clock.monotonicMs() - this.#startMs);
    return { clusterMs: Math.max(this.state.time, now), wallMs: clock.wallMs() };
  }

  /** One entry of everything gathered so far, within the limits of an entry. */
  #apply(): void {
    const { clusterMs: time, wallMs: wall } = this.#times();
    const run = this.#takeRun();
    const renewals = [...this.#takeRenewals(), ...this.#ownLease()];
    const runs = run.commands.length > 0 ? [run] : [];
    const kind = EntryKind.Commands;
    const bytes = encodeEntry({ kind, time, wall, renewals, runs });
    const { state } = this;
    state.begin(state.appliedIndex + 1, Math.max(1, state.appliedTerm), decodeEntry(bytes), this);
    while (state.next());
    bytes.fill(0xee);
  }

  #takeRun(): Run {
    const first = this.#handed + 1;
    const commands: Uint8Array[] = [];
    let bytes = 0;
    for (let sequence = first; sequence < this.#pending.next; sequence++) {
      const command = this.#pending.get(sequence)!.command;
      const full = bytes + command.length > LIMITS.entryBytesMax && commands.length > 0;
      if (full || commands.length >= LIMITS.entryCommandsMax) break;
      commands.push(command);
      bytes += command.length;
      this.#handed = sequence;
    }
    return { origin: this.member, incarnation: this.incarnation, first, commands };
  }

  #takeRenewals(): RenewalGroup[] {
    if (this.#renewals.length === 0) return [];
    this.#renewing = this.#renewals;
    this.#renewals = [];
    const leases = this.#renewing.map(({ lease }) => lease);
    const { member: origin, incarnation } = this;
    return [{ origin, incarnation, ticket: ++this.#ticket, leases }];
  }

  /** The member's own lease never ends: renewals come before expiry in an entry. */
  #ownLease(): RenewalGroup[] {
    const lease = this.state.leaseById(LeaseKind.Member, BigInt(this.member));
    if (lease === undefined) return [];
    const { member: origin, incarnation } = this;
    return [{ origin, incarnation, ticket: NO_TICKET, leases: [lease.handle] }];
  }

  /** As an idle leader: an empty entry when the earliest deadline has passed. */
  #armDeadline(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    const { nextDeadline, expiryPending } = this.state;
    if (this.#options.manual === true || (nextDeadline === 0 && !expiryPending)) return;
    const leftMs = expiryPending ? 0 : Math.max(0, nextDeadline - this.#times().clusterMs);
    // Timers of the platform are 31-bit: a distant deadline is waited for in steps.
    this.#deadline = this.#options.clock.setTimer(Math.min(leftMs + 1, 60_000), () => {
      const due = this.state.nextDeadline !== 0 && this.#times().clusterMs >= nextDeadline;
      if (due || this.state.expiryPending) this.tick();
      else this.#armDeadline();
    });
  }
}
