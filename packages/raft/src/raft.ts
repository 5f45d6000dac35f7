import { type Index, invariant, type MemberId, NO_MEMBER, type Term } from '@lockstep/model';
import type {
  ConfChange,
  Configuration,
  Entry,
  Message,
  ProposeResult,
  Raft,
  RaftConfig,
  RaftStatus,
  ReadContext,
  Ready,
  Role,
  SnapshotMeta,
} from './contract.ts';
import { Core } from './core.ts';
import { campaign, electionTimeout } from './election.ts';
import { becomeFollower, forwardRead, installSnapshot } from './follower.ts';
import {
  followConfiguration,
  propose,
  proposeConfiguration,
  readOnLeader,
  tickLeader,
} from './leader.ts';
import { Readiness } from './ready.ts';
import { step } from './step.ts';
import { beginTransfer, forwardTransfer } from './transfer.ts';

/** Makes a member of a cluster from what its log says; it starts as follower (Raft §5.2). */
export function createRaft(config: RaftConfig): Raft {
  return new Member(config);
}

/** The one door to the core: checks arguments and hands on to the role in charge. */
class Member implements Raft {
  readonly #core: Core;
  readonly #readiness: Readiness;

  constructor(config: RaftConfig) {
    this.#core = new Core(config);
    this.#readiness = new Readiness(this.#core);
  }

  get role(): Role {
    return this.#core.role;
  }

  get leader(): MemberId {
    return this.#core.leader;
  }

  get term(): Term {
    return this.#core.term;
  }

  get lastIndex(): Index {
    return this.#core.log.lastIndex;
  }

  get commit(): Index {
    return this.#core.log.commit;
  }

  tick(): void {
    const core = this.#core;
    if (core.leadership !== undefined) {
      tickLeader(core, core.leadership);
      return;
    }
    if (core.forwardedReads.size > 0) {
      const expired = core.forwardedReads.expire(core.config.electionTicks);
      for (const context of expired) core.outbox.dropRead(context);
    }
    if (++core.electionElapsed >= core.electionTimeout) electionTimeout(core);
  }

  step(message: Message): void {
    step(this.#core, message);
  }

  propose(data: readonly Uint8Array[]): ProposeResult {
    return propose(this.#core, data);
  }

  proposeConfiguration(data: Uint8Array): ProposeResult {
    return proposeConfiguration(this.#core, data);
  }

  applyConfiguration(change: ConfChange | undefined): Configuration {
    const core = this.#core;
    if (change !== undefined) {
      core.membership.changeTo(change.configuration);
      core.tracer?.event('ApplyConfChange');
      if (core.leadership !== undefined) followConfiguration(core, core.leadership);
    }
    return core.membership.configuration;
  }

  readIndex(context: ReadContext): void {
    const core = this.#core;
    invariant(context.member === core.id, `read context of member ${context.member}`);
    if (core.leadership !== undefined) readOnLeader(core, core.leadership, context, core.id);
    else forwardRead(core, context);
  }

  campaign(): void {
    campaign(this.#core, 'pre-vote');
  }

  transferLeader(to: MemberId): void {
    const core = this.#core;
    if (core.leadership !== undefined) beginTransfer(core, core.leadership, to);
    else forwardTransfer(core, to);
  }

  leaderLinkLost(ticks: number): void {
    const core = this.#core;
    if (core.role !== 'follower' || core.leader === NO_MEMBER) return;
    invariant(ticks > 0, `leaderLinkLost within ${ticks} ticks`);
    core.leaderSuspect = true;
    const soon = core.electionElapsed + 1 + (core.config.random() % ticks);
    if (soon >= core.electionTimeout) return;
    core.electionTimeout = soon;
    core.timeoutSpan = ticks;
  }

  reportUnreachable(id: MemberId): void {
    const { leadership } = this.#core;
    const peer = leadership?.of(id);
    // Appends in flight are probably lost; go back to asking (B-8).
    if (peer?.state === 'replicate' && id !== this.#core.id) {
      peer.becomeProbe(peer.match + 1);
      // The next heartbeat response, or a late acknowledgement, starts the probing.
      peer.probeSent = true;
    }
  }

  reportSnapshot(id: MemberId, ok: boolean): void {
    const { leadership, log } = this.#core;
    const peer = leadership?.of(id);
    if (peer?.state !== 'snapshot') return;
    // With success its log should continue ours wherever it begins; else it starts over.
    peer.becomeProbe(ok ? log.firstIndex : peer.match + 1);
    // Its acknowledgement is under way; only a heartbeat response tells that it got lost.
    peer.probeSent = true;
  }

  snapshotInstalled(meta: SnapshotMeta): void {
    const core = this.#core;
    const { leadership, log } = core;
    if (leadership !== undefined) {
      const held = log.term(meta.index);
      invariant(
        held === meta.term,
        () => `leader installs ${meta.index} of term ${meta.term}, its log has term ${held}`,
      );
    } else if (core.role !== 'follower') becomeFollower(core, core.term, NO_MEMBER);
    installSnapshot(core, meta);
    if (leadership !== undefined) followConfiguration(core, leadership);
    this.#readiness.applied(meta.index);
  }

  restore(entries: readonly Entry[]): void {
    const { log, term, role, leader } = this.#core;
    const last = entries.at(-1)?.term ?? 0;
    invariant(role === 'follower' && leader === NO_MEMBER, `${role} of ${leader} restores entries`);
    invariant(last <= term, `entry of term ${last} is restored in term ${term}`);
    log.append(entries);
  }

  appendDone(sequence: number): void {
    this.#readiness.appendDone(sequence);
  }

  appliedTo(index: Index): void {
    this.#core.log.appliedTo(index);
    this.#readiness.applied(index);
  }

  compacted(firstIndex: Index): void {
    const { applied } = this.#core.log;
    invariant(firstIndex - 1 <= applied, `log begins at ${firstIndex}, applied is ${applied}`);
  }

  logAvailable(): void {
    this.#readiness.logAvailable();
    const { leadership } = this.#core;
    if (leadership === undefined) return;
    for (const peer of leadership.peers) peer.awaitingLog = false;
    leadership.appendsDue = true;
  }

  hasReady(): boolean {
    return this.#readiness.has;
  }

  ready(): Ready {
    return this.#readiness.take();
  }

  status(): RaftStatus {
    const { id, term, vote, role, leader, log, membership, leadership, config } = this.#core;
    return {
      id,
      term,
      vote,
      role,
      leader,
      commit: log.commit,
      lastIndex: log.lastIndex,
      stableIndex: log.stableIndex,
      applied: log.applied,
      transferTarget: leadership?.transferTarget ?? NO_MEMBER,
      configuration: membership.configuration,
      peers: (leadership?.peers ?? []).map((peer) => ({
        id: peer.id,
        match: peer.match,
        next: peer.next,
        state: peer.state,
        recentlyActive: peer.recentlyActive,
        priority: config.priorityOf?.(peer.id) ?? 0,
      })),
    };
  }
}
