import {
  type LinkInfo,
  type MemberId,
  mark,
  type NetworkHandler,
  NO_MEMBER,
  type Timer,
} from '@lockstep/model';
import { type Configuration, createRaft, type Raft, type Ready } from '@lockstep/raft';
import type { StateMachine } from '@lockstep/state-machine';
import type { LogStore } from '@lockstep/storage';
import { Applier } from './applier.ts';
import { doorSinkOf } from './apply-sink.ts';
import { ClusterClock } from './cluster-clock.ts';
import { Contact } from './contact.ts';
import { Fitness } from './fitness.ts';
import { Forwarder } from './forwarder.ts';
import { Gatherer } from './gatherer.ts';
import { HashChecks } from './hash-checks.ts';
import type { ImageWriter } from './image-writer.ts';
import { LeaderTransfers } from './leader-transfer.ts';
import { LeaderDuties, termStartEntry } from './leadership.ts';
import { LogAppender } from './log-appender.ts';
import { LogCompaction } from './log-compaction.ts';
import { LogRepair } from './log-repair.ts';
import { MembershipKeeper } from './membership.ts';
import type { ReplicaOptions, Settings } from './options.ts';
import { PeerInput } from './peer-input.ts';
import { PeerOutbox } from './peer-outbox.ts';
import { type EntryTimes, Proposer } from './proposer.ts';
import { raftConfigOf } from './raft-config.ts';
import { Reader } from './reader.ts';
import type { Recovered, Trust } from './recovery.ts';
import { Renewals } from './renewals.ts';
import { Scrubber } from './scrubber.ts';
import type { SnapshotTransfer } from './snapshot-transfer.ts';
import { StallMeter } from './stall-meter.ts';
import { Subscribers } from './subscribers.ts';

/** A follower whose leader's socket is gone waits 50–200 ms instead of its timeout (design §10). */
const LEADER_LOST_MS = 200;

/**
 * The one loop of a member (reference raft.md §7.4): inputs only enqueue and wake it; one turn
 * steps what came, ticks, gathers, takes raft's work, sends one frame per peer, appends to the log
 * and applies a slice. Everything else of a member hangs on it.
 */
export class Loop implements NetworkHandler {
  readonly options: ReplicaOptions;
  readonly settings: Settings;
  readonly raft: Raft;
  readonly log: LogStore;
  readonly contact: Contact;
  readonly clusterClock: ClusterClock;
  readonly forwarder: Forwarder;
  readonly renewals: Renewals;
  readonly reader: Reader;
  readonly subscribers = new Subscribers();
  readonly transfers: LeaderTransfers;
  readonly applier: Applier;
  readonly compaction: LogCompaction;
  readonly outbox: PeerOutbox;
  readonly membership: MembershipKeeper;
  machine: StateMachine;
  writer: ImageWriter;
  snapshots: SnapshotTransfer | undefined;
  /** Called at the end of each turn: serving, contact or leader may have changed. */
  afterTurn: () => void = () => {};
  /** This incarnation is void. */
  expired: (incarnation: number) => void = () => {};
  stopped = false;
  /** The image was set aside; nothing applies until a peer's state is installed. */
  imageLost: boolean;
  readonly trust: Trust;
  readonly repair: LogRepair;
  readonly scrubber: Scrubber;
  readonly fitness: Fitness;

  readonly #proposer: Proposer;
  readonly #input: PeerInput;
  readonly #appender: LogAppender;
  readonly #gatherer: Gatherer;
  readonly #duties = new LeaderDuties();
  readonly #hashChecks = new HashChecks(this);
  readonly #links = new Map<MemberId, LinkInfo>();
  readonly #stalls: StallMeter;
  #posted = false;
  #tickDue = false;
  #tickTimer: Timer | undefined;

  constructor(options: ReplicaOptions, settings: Settings, recovered: Recovered) {
    const { member, electionMs, heartbeatMs } = settings;
    this.options = options;
    this.settings = settings;
    this.log = recovered.log;
    this.machine = recovered.machine;
    this.writer = recovered.writer;
    this.imageLost = recovered.imageLost;
    this.trust = recovered.trust;
    this.contact = new Contact(member, electionMs, settings.tickMs);
    this.clusterClock = new ClusterClock(heartbeatMs);
    this.#stalls = new StallMeter(electionMs);
    this.forwarder = new Forwarder(member, options.incarnation, settings.forwardBytesMax);
    this.renewals = new Renewals(member, options.incarnation, settings.renewalIntervalMs);
    this.reader = new Reader(member, options.incarnation);
    this.outbox = new PeerOutbox(options.network);
    this.membership = new MembershipKeeper(this);
    this.#proposer = new Proposer(member, this.forwarder);
    this.#gatherer = new Gatherer(this, this.#proposer, () => this.#duties.begin());
    this.raft = createRaft(
      raftConfigOf(options, settings, recovered, this, (last, transferred) =>
        termStartEntry(last, transferred, {
          clock: this.clusterClock,
          machine: () => this.machine,
          monotonicMs: () => this.nowMs,
          wallMs: () => this.#wallMs(this.nowMs),
          member,
          formation: options.formation ?? [],
        }),
      ),
    );
    this.transfers = new LeaderTransfers(
      this.raft,
      member,
      (id) => this.isLinked(id) && this.contact.heardWithin(id, 3 * heartbeatMs, this.nowMs),
    );
    // Of a state whose installation is finished now, not of the log that it replaces.
    const start = recovered.installed ?? recovered.position;
    this.compaction = new LogCompaction(this.log, this.raft, settings, start);
    this.applier = new Applier(this.machine, start.configuration, {
      clock: options.clock,
      sink: doorSinkOf(this),
      writer: () => this.writer,
      backlogBytesMax: settings.imageBacklogBytesMax,
      configured: (change) => {
        const configuration = this.membership.configured(change);
        this.membership.updatePeers(configuration);
        return configuration;
      },
      applied: (index) => this.#hashChecks.applied(index),
    });
    this.repair = new LogRepair(this, recovered);
    this.scrubber = new Scrubber(this);
    this.#appender = new LogAppender(this.log, options.clock, () => this.wake());
    this.fitness = new Fitness(this, this.#stalls, this.#appender);
    this.#input = new PeerInput({
      raft: this.raft,
      contact: this.contact,
      forwarder: this.forwarder,
      proposer: this.#proposer,
      leads: () => this.leads,
      lastSequence: (origin, incarnation) => this.machine.lastSequence(origin, incarnation),
      subscribers: this.subscribers,
      repair: this.repair,
      linkOf: (member) => this.linkOf(member),
      send: (to, message) => this.outbox.add(to, message),
      reset: (link, reason) => this.options.network.reset(link, reason),
      snapshot: (from, message) => this.snapshots?.received(from, message),
      stateHash: (from, sample) => this.#hashChecks.received(from, sample),
      gossip: (from, door, payload) => this.membership.gossip(from, door, payload),
      knows: (command) => this.machine.knows(command),
    });
  }

  get nowMs(): number {
    return this.options.clock.monotonicMs();
  }

  get configuration(): Configuration {
    return this.applier.configuration;
  }

  /**
   * False also for a leader whose image is being replaced: it knows neither what was applied nor
   * who the members are. It was elected for its log alone, and hands over (`Fitness`).
   */
  get leads(): boolean {
    return this.raft.role === 'leader' && !this.imageLost;
  }

  /** Present times of the leader: exact here when it leads, else as last heard. */
  get leaderTimes(): EntryTimes {
    if (!this.leads) return this.#input.leaderTimes;
    return { clusterMs: this.clusterClock.now, wallMs: this.#wallMs(this.nowMs) };
  }

  get quorumLive(): boolean {
    return this.leads && this.contact.quorumLive(this.configuration, this.nowMs);
  }

  isLinked(member: MemberId): boolean {
    return this.#links.has(member);
  }

  /** Number of the link to that member; 0 when there is none. */
  linkOf(member: MemberId): number {
    return this.#links.get(member)?.link ?? 0;
  }

  start(): void {
    if (this.imageLost) this.applier.hold(true);
    this.repair.start();
    this.membership.updatePeers(this.configuration);
    this.options.network.start(this);
    this.#armTick();
    this.wake();
  }

  /** Asks for a turn; any number of calls make one. */
  wake(): void {
    if (this.#posted || this.stopped) return;
    this.#posted = true;
    this.options.scheduler.post(() => this.#drain());
  }

  stop(): void {
    this.stopped = true;
    this.#tickTimer?.cancel();
    this.#gatherer.stop();
    this.writer.close();
    this.snapshots?.close();
    this.scrubber.close();
  }

  /** Everybody who waits here is told that nothing more comes. */
  abandon(): void {
    this.forwarder.abandon('STOPPING');
    this.renewals.abandon('STOPPING', this.forwarder.incarnation);
    this.reader.abandon();
    this.transfers.abandon();
  }

  gossip(door: string, payload: Uint8Array): void {
    this.outbox.gossip(door, payload);
    this.wake();
  }

  /** The member is wrong or its device failed: it stops at once and says why. */
  fatal(error: Error): void {
    if (this.stopped) return;
    mark('fatal');
    this.stop();
    this.options.network.close(() => {});
    this.options.scheduler.post(() => this.abandon());
    this.options.onFatal(error);
  }

  // ---- network -----------------------------------------------------------------------------

  linkUp(info: LinkInfo): void {
    this.#links.set(info.member, info);
    this.contact.linkChanged(info.member);
    this.renewals.resend();
    this.snapshots?.linkUp(info);
    this.wake();
  }

  linkDown(info: LinkInfo): void {
    if (this.stopped || this.#links.get(info.member)?.link !== info.link) return;
    this.#links.delete(info.member);
    this.contact.linkChanged(info.member);
    this.raft.reportUnreachable(info.member);
    if (this.raft.leader === info.member) {
      mark('leader link lost');
      this.raft.leaderLinkLost(Math.max(1, Math.ceil(LEADER_LOST_MS / this.settings.tickMs)));
    }
    this.wake();
  }

  frame(info: LinkInfo, frame: Uint8Array): void {
    this.#input.push(info, frame);
    this.wake();
  }

  // ---- the turn ----------------------------------------------------------------------------

  #armTick(): void {
    const dueMs = this.nowMs + this.settings.tickMs;
    this.#tickTimer = this.options.clock.setTimer(this.settings.tickMs, () => {
      this.#tickDue = true;
      this.#stalls.note(this.nowMs - dueMs, this.nowMs);
      // Armed anew only now, so that a stall of any length counts as one tick (design §10).
      this.#armTick();
      this.wake();
    });
  }

  #drain(): void {
    this.#posted = false;
    if (this.stopped) return;
    try {
      this.#turn();
    } catch (error) {
      this.fatal(error as Error);
    }
  }

  #turn(): void {
    const { raft } = this;
    const nowMs = this.nowMs;
    this.#stepAppended();
    this.#input.step(nowMs);
    if (this.repair.pending) {
      // Nothing may be written while what is good behind damage would be lost by it.
      if (this.#tickDue) this.repair.tick(nowMs);
      this.#tickDue = false;
      this.#flush(nowMs);
      this.afterTurn();
      return;
    }
    this.clusterClock.advance(nowMs, this.quorumLive);
    if (this.#tickDue) this.#tick(nowMs);
    this.#gatherer.followLeader(nowMs);
    this.#gatherer.gather(nowMs);
    this.reader.ask(raft);
    while (raft.hasReady()) this.#work(raft.ready());
    this.#gatherer.followLeader(nowMs);
    this.#flush(nowMs);
    const applied = this.machine.appliedIndex;
    const more = this.applier.run();
    const { appliedIndex } = this.machine;
    if (appliedIndex > applied) {
      raft.appliedTo(appliedIndex);
      this.log.setApplied(appliedIndex, this.configuration);
    }
    this.reader.applied(appliedIndex);
    this.transfers.settle(nowMs);
    this.afterTurn();
    if (more || raft.hasReady()) this.wake();
  }

  #stepAppended(): void {
    for (const { sequence, after } of this.#appender.take()) {
      this.raft.appendDone(sequence);
      for (const message of after) {
        if (message.to === this.settings.member) this.raft.step(message);
        else this.outbox.add(message.to, message);
      }
    }
  }

  #tick(nowMs: number): void {
    this.#tickDue = false;
    const { raft, settings } = this;
    raft.tick();
    this.fitness.tick();
    this.forwarder.tick(nowMs, settings.electionMs);
    this.renewals.tick(nowMs, settings.electionMs);
    this.reader.tick(nowMs);
    this.snapshots?.tick(nowMs);
    this.scrubber.tick(nowMs);
    this.membership.follow(nowMs);
    const check = this.#hashChecks.tick();
    if (check !== undefined) this.#proposer.takeOwn(check);
    if (!this.leads) return;
    this.membership.tick(nowMs);
    const { incarnation } = this.forwarder;
    const clusterMs = this.clusterClock.now;
    const { machine, contact } = this;
    this.#duties.tick(raft, machine, this.#proposer, contact, incarnation, clusterMs, nowMs);
  }

  #work(ready: Ready): void {
    let timesTold: MemberId = NO_MEMBER;
    for (const message of ready.messages) {
      if (message.kind === 'read-index-response' && message.to !== timesTold) {
        timesTold = message.to;
        this.outbox.add(message.to, { kind: 'times', ...this.leaderTimes });
      }
      this.outbox.add(message.to, message);
    }
    if (ready.append !== undefined) this.#appender.append(ready.append);
    if (ready.committed.length > 0) this.applier.push(ready.committed);
    for (const state of ready.readStates) this.reader.state(state, this.leaderTimes);
    for (const context of ready.readsDropped) this.reader.drop(context);
    for (const member of ready.snapshotsNeeded) {
      if (this.snapshots === undefined) this.raft.reportSnapshot(member, false);
      else this.snapshots.needed(member);
    }
    if (ready.soft === undefined) return;
    if (ready.soft.leader !== NO_MEMBER) this.reader.retry();
  }

  #flush(nowMs: number): void {
    this.outbox.addGossip(this.#links.keys());
    const quorum = this.quorumLive;
    const wallMs = this.options.clock.wallMs();
    this.outbox.flush(
      (to) => this.contact.sample(to, nowMs, wallMs, quorum),
      (to) => this.raft.reportUnreachable(to),
    );
  }

  #wallMs(nowMs: number): number {
    return this.contact.medianWallMs(nowMs, this.options.clock.wallMs());
  }
}
