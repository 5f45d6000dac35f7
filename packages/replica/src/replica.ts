import {
  type FileError,
  type Incarnation,
  type LeaseHandle,
  LockstepError,
  type MemberId,
  type Sequence,
} from '@lockstep/model';
import type { Configuration, Raft } from '@lockstep/raft';
import type { HistoryReference, StateMachine } from '@lockstep/state-machine';
import type {
  BarrierWaiter,
  CommandWaiter,
  EventSink,
  RenewalWaiter,
  Replica,
  ReplicaStatus,
} from './contract.ts';
import { type HistoryDone, HistoryReader } from './history-reader.ts';
import { IncarnationKeeper } from './incarnation.ts';
import { Loop } from './loop.ts';
import { isOnlyVoter } from './next-configuration.ts';
import { type ReplicaOptions, settingsOf } from './options.ts';
import { type Recovered, type RecoveryHandlers, recover } from './recovery.ts';
import { SnapshotTransfer } from './snapshot-transfer.ts';
import { statusOf } from './status.ts';

/** A replica with an end. */
export interface MemberReplica extends Replica {
  /** The core as it stands, for invariants of the simulator: read only. */
  readonly raft: Pick<Raft, 'role' | 'leader' | 'term' | 'commit' | 'lastIndex' | 'status'>;
  /** First step of an orderly stop: a leader hands over to another voter, if it can, while the
   * doors are still open; what they do meanwhile waits and goes to the new leader. */
  handOver(done: () => void): void;
  /** Orderly stop: a leader hands over if it can, what waits is answered, the image is written and
   * synced, files are closed. */
  close(done: () => void): void;
}

/**
 * Opens a member: log, image, state hash, then the loop; committed entries are replayed by the
 * loop's first turns (`serving` tells when that is over). Fails with the device's error, with
 * LOG_DAMAGED, or when the image cannot be used and there is no peer to ask.
 */
export function openReplica(
  options: ReplicaOptions,
  done: (error: Error | FileError | undefined, replica: MemberReplica) => void,
): void {
  const settings = settingsOf(options);
  let loop: Loop | undefined;
  const handlers: RecoveryHandlers = {
    failed(error) {
      const fatal = new Error(`${error.code}: ${error.message}`);
      if (loop !== undefined) loop.fatal(fatal);
      else options.onFatal(fatal);
    },
    available() {
      loop?.raft.logAvailable();
      loop?.wake();
    },
    space: (outOfSpace) => loop?.fitness.space(outOfSpace),
    damaged: (damage) => loop?.scrubber.logDamaged(damage),
    imageWritten(durable) {
      if (loop === undefined) return;
      if (durable !== undefined) {
        loop.compaction.advance(durable, loop.snapshots?.keepFrom ?? Number.POSITIVE_INFINITY);
      }
      // Whoever waited for room in the backlog goes on.
      loop.wake();
    },
  };
  recover(options, settings, handlers, (error, recovered) => {
    if (error !== undefined) {
      done(error, undefined as never);
      return;
    }
    loop = new Loop(options, settings, recovered);
    const replica = new Member(loop, recovered, handlers);
    replica.start();
    done(undefined, replica);
  });
}

class Member implements MemberReplica {
  readonly member: MemberId;
  readonly #loop: Loop;
  readonly #recovered: Recovered;
  readonly #incarnations: IncarnationKeeper;
  readonly #history: HistoryReader;
  readonly #servingFrom: number;
  #inContact = false;
  #serving = false;
  #servingTold = false;
  #leader: MemberId = 0;
  #configuration: Configuration | undefined;
  #closing = false;
  #featureLevel = 0;

  constructor(loop: Loop, recovered: Recovered, handlers: RecoveryHandlers) {
    this.#loop = loop;
    this.#recovered = recovered;
    this.member = loop.settings.member;
    this.#incarnations = new IncarnationKeeper(loop);
    this.#history = new HistoryReader({
      writer: () => loop.writer,
      machine: () => loop.machine,
      post: (callback) => loop.options.scheduler.post(callback),
      failed: (error) => loop.fatal(new Error(error.message)),
    });
    loop.snapshots = new SnapshotTransfer(loop, handlers);
    loop.afterTurn = () => this.#afterTurn();
    const alone = isOnlyVoter(recovered.position.configuration, this.member);
    // Alone, every local entry will commit, and may have been answered before.
    const { logState } = recovered;
    this.#servingFrom = alone ? logState.lastIndex : logState.hardState.commit;
  }

  start(): void {
    this.#loop.start();
    this.#incarnations.hello();
    if (this.#recovered.logState.health === 'damaged') this.#regainTrust();
  }

  get raft(): MemberReplica['raft'] {
    return this.#loop.raft;
  }

  get incarnation(): Incarnation {
    return this.#loop.forwarder.incarnation;
  }

  get state(): StateMachine {
    return this.#loop.machine;
  }

  get inContact(): boolean {
    const loop = this.#loop;
    if (loop.stopped) return false;
    return loop.contact.throughLeader(loop.raft.leader, loop.configuration, loop.nowMs);
  }

  get serving(): boolean {
    return this.#serving;
  }

  submit(command: Uint8Array, waiter?: CommandWaiter): Sequence {
    const loop = this.#loop;
    const refusal = this.#refusal() ?? loop.forwarder.refusal() ?? this.#tooNew(command);
    if (refusal !== undefined) {
      this.#later(() => waiter?.failed(refusal));
      return 0;
    }
    loop.wake();
    return loop.forwarder.submit(command, waiter, this.#deadlineMs);
  }

  barrier(waiter: BarrierWaiter): void {
    const loop = this.#loop;
    const refusal = this.#refusal();
    if (refusal !== undefined) this.#later(() => waiter.failed(refusal));
    else if (loop.reader.add(waiter, this.#deadlineMs)) loop.wake();
    else this.#later(() => waiter.failed(new LockstepError('OVERLOADED', loop.reader.count)));
  }

  renew(lease: LeaseHandle, waiter: RenewalWaiter): void {
    const loop = this.#loop;
    const refusal = this.#refusal();
    if (refusal !== undefined) this.#later(() => waiter.failed(refusal));
    else if (loop.renewals.add(lease, waiter, this.#deadlineMs)) loop.wake();
    else this.#later(() => waiter.failed(new LockstepError('OVERLOADED', loop.renewals.count)));
  }

  readHistory(references: readonly HistoryReference[], done: HistoryDone): void {
    if (this.#stopping) this.#later(() => done(new LockstepError('STOPPING'), []));
    else this.#history.read(references, done);
  }

  subscribe(sink: EventSink): () => void {
    return this.#loop.subscribers.add(sink);
  }

  gossip(door: string, payload: Uint8Array): void {
    this.#loop.gossip(door, payload);
  }

  status(): ReplicaStatus {
    return statusOf(this.#loop);
  }

  transferLeadership(
    target: MemberId | undefined,
    done: (error: LockstepError | undefined) => void,
  ): void {
    const loop = this.#loop;
    if (this.#stopping) {
      this.#later(() => done(new LockstepError('STOPPING')));
      return;
    }
    loop.transfers.begin(target, loop.nowMs + 2 * loop.settings.electionMs, done);
    loop.wake();
  }

  handOver(done: () => void): void {
    const loop = this.#loop;
    if (loop.stopped || !loop.leads) {
      done();
      return;
    }
    // To ask the next voter costs more than to wait for one whose disk is slow.
    loop.transfers.leave(loop.settings.electionMs / 2, () => loop.nowMs, done);
    loop.wake();
  }

  close(done: () => void): void {
    const loop = this.#loop;
    this.#closing = true;
    if (loop.stopped) {
      this.#later(done);
      return;
    }
    this.handOver(() => this.#stop(done));
  }

  #stop(done: () => void): void {
    const loop = this.#loop;
    if (loop.stopped) {
      this.#later(done);
      return;
    }
    loop.abandon();
    loop.applier.hold(true);
    const finish = () => {
      if (loop.stopped) {
        done();
        return;
      }
      loop.stop();
      loop.options.network.close(() => {
        // The image in force now: an installation may have switched it meanwhile.
        loop.log.close(() => loop.writer.store.close(() => done()));
      });
    };
    // An entry half applied cannot be cut: its state stays in the log and is replayed.
    if (loop.applier.midEntry) finish();
    else loop.writer.drain(() => this.#later(finish));
  }

  // ---- inside ------------------------------------------------------------------------------

  get #stopping(): boolean {
    return this.#closing || this.#loop.stopped;
  }

  get #deadlineMs(): number {
    return this.#loop.nowMs + this.#loop.settings.requestTimeoutMs;
  }

  #refusal(): LockstepError | undefined {
    if (this.#stopping) return new LockstepError('STOPPING');
    return this.#incarnations.ready ? undefined : new LockstepError('NOT_READY');
  }

  /** Nothing of a level that the cluster is not at may be written (design §2). */
  #tooNew(command: Uint8Array): LockstepError | undefined {
    const { machine } = this.#loop;
    const wanted = machine.levelWanted(command);
    if (wanted === 0) return undefined;
    return new LockstepError('FEATURE_LEVEL', wanted, machine.featureLevel);
  }

  #later(callback: () => void): void {
    this.#loop.options.scheduler.post(callback);
  }

  #afterTurn(): void {
    const loop = this.#loop;
    this.#incarnations.afterTurn();
    const { featureLevel } = loop.machine;
    if (featureLevel !== this.#featureLevel) {
      if (this.#featureLevel !== 0) loop.options.log?.(`feature level is ${featureLevel} now`);
      this.#featureLevel = featureLevel;
    }
    if (!this.#serving && !loop.imageLost) {
      this.#serving = loop.machine.appliedIndex >= this.#servingFrom;
    }
    const { inContact } = this;
    const { leader } = loop.raft;
    const { serving } = this;
    const { configuration } = loop;
    const same = inContact === this.#inContact && leader === this.#leader;
    const told = serving === this.#servingTold && configuration === this.#configuration;
    if (same && told) return;
    this.#configuration = configuration;
    this.#inContact = inContact;
    this.#leader = leader;
    this.#servingTold = serving;
    loop.subscribers.changed();
  }

  /**
   * A damaged log is whole again once everything the leader had committed is here, and this life's
   * `hello` too: that stands behind whatever an earlier life acknowledged to a leader, which may
   * still count it.
   */
  #regainTrust(): void {
    this.barrier({
      reached: () => {
        const { machine, forwarder } = this.#loop;
        if (machine.lastSequence(this.member, forwarder.incarnation) === 0) {
          this.#regainTrust();
          return;
        }
        this.#recovered.trust.mayVote = true;
        this.#loop.log.repaired();
      },
      failed: () => {
        if (!this.#stopping) this.#regainTrust();
      },
    });
  }
}
