import { invariant, type MemberId, mark, NO_MEMBER } from '@lockstep/model';
import { dataBytes } from './config.ts';
import type { Entry, Message, ProposeResult, ReadContext } from './contract.ts';
import { EntryType } from './contract.ts';
import type { Core } from './core.ts';
import { becomeFollower } from './follower.ts';
import { Leadership } from './leadership.ts';
import type { Progress } from './progress.ts';
import {
  advanceCommit,
  answerReads,
  handleAppendResponse,
  handleHeartbeatResponse,
  sendAppends,
} from './replication.ts';
import { continueTransfer, tickTransfer } from './transfer.ts';

/**
 * Won the election (Raft §5.2). The first entry of the term is appended at once: through it all
 * that former terms left behind is committed (§5.4.2), and reads wait for it (§8).
 */
export function becomeLeader(core: Core): void {
  const { log, config, candidacy } = core;
  invariant(core.role === 'candidate' && candidacy !== undefined, `${core.role} cannot lead`);
  const last = log.lastEntry();
  invariant(last !== 'pending', 'the last entry was read before the campaign');
  core.role = 'leader';
  core.candidacy = undefined;
  core.setLeader(core.id);
  core.resetElectionTimer();
  const leadership = new Leadership(config, core.membership, log.lastIndex + 1);
  leadership.leaving = !core.membership.isVoter(core.id);
  core.leadership = leadership;
  core.tracer?.event('BecomeLeader');
  const data = config.termStart(last, candidacy.transfer);
  appendEntry(core, leadership, EntryType.TermStart, data);
}

function appendEntry(core: Core, leadership: Leadership, type: EntryType, data: Uint8Array): void {
  const { log, term } = core;
  log.append([{ index: log.lastIndex + 1, term, type, data }]);
  leadership.appended(dataBytes(data));
  leadership.appendsDue = true;
  core.tracer?.event(type === EntryType.Configuration ? 'ChangeConf' : 'Replicate');
}

function refusal(leadership: Leadership, bytes: number): ProposeResult | undefined {
  // An entry taken now could miss the target, whose election would then fail (T-1).
  if (leadership.leaving || leadership.transferTarget !== NO_MEMBER) return 'transferring';
  if (leadership.hasRoom(bytes)) return undefined;
  mark('proposal refused: too much uncommitted');
  return 'overloaded';
}

/** Appends the data as entries of this term, all or none. */
export function propose(core: Core, data: readonly Uint8Array[]): ProposeResult {
  const { leadership, log, term } = core;
  if (leadership === undefined) return 'not-leader';
  let bytes = 0;
  for (let i = 0; i < data.length; i++) bytes += dataBytes(data[i]!);
  const refused = refusal(leadership, bytes);
  if (refused !== undefined) return refused;
  const entries: Entry[] = [];
  for (let i = 0; i < data.length; i++) {
    const index = log.lastIndex + 1 + i;
    entries.push({ index, term, type: EntryType.Normal, data: data[i]! });
    leadership.appended(dataBytes(data[i]!));
  }
  log.append(entries);
  leadership.appendsDue = true;
  core.tracer?.event('Replicate');
  return 'ok';
}

/**
 * One change at a time, and none before an entry of this term is applied: two changes proposed in
 * different terms from one base could have disjoint majorities (M-1).
 */
export function proposeConfiguration(core: Core, data: Uint8Array): ProposeResult {
  const { leadership, log } = core;
  if (leadership === undefined) return 'not-leader';
  const refused = refusal(leadership, dataBytes(data));
  if (refused !== undefined) return refused;
  const { termStart, configurationIndex } = leadership;
  if (log.applied < termStart || log.applied < configurationIndex) return 'overloaded';
  leadership.configurationIndex = log.lastIndex + 1;
  appendEntry(core, leadership, EntryType.Configuration, data);
  return 'ok';
}

/** The configuration in force changed: the quorum may be smaller now, or exclude this member. */
export function followConfiguration(core: Core, leadership: Leadership): void {
  leadership.follow(core.log.lastIndex + 1);
  leadership.appendsDue = true;
  if (!core.membership.isVoter(leadership.transferTarget)) leadership.transferTarget = NO_MEMBER;
  // Stepping down at once could leave nobody to lead: those that stay may lack entries that this
  // log has, and not know yet that they may elect without it (M-9).
  leadership.leaving = !core.membership.isVoter(core.id);
  leadership.leavingTicks = 0;
  advanceCommit(core, leadership);
  answerReads(core, leadership);
}

export function tickLeader(core: Core, leadership: Leadership): void {
  const { electionTicks, heartbeatTicks } = core.config;
  if (++leadership.quorumTicks >= electionTicks) {
    leadership.quorumTicks = 0;
    // Check-quorum (thesis §6.2): a leader that reaches no majority makes way.
    if (!leadership.takeQuorumActive()) {
      mark('leader without a quorum steps down');
      becomeFollower(core, core.term, NO_MEMBER);
      return;
    }
  }
  if (!tickTransfer(core, leadership)) {
    mark('leader that is no voter steps down');
    becomeFollower(core, core.term, NO_MEMBER);
    return;
  }
  if (++leadership.heartbeatTicks >= heartbeatTicks) {
    leadership.heartbeatTicks = 0;
    for (const peer of leadership.peers) {
      peer.heartbeat();
      sendHeartbeat(core, leadership, peer);
    }
  }
}

/** Never announces more than the member is known to hold (B-3). */
function sendHeartbeat(core: Core, leadership: Leadership, peer: Progress): void {
  const readRound = leadership.reads.round;
  const commit = Math.min(peer.match, core.log.commit);
  peer.roundSent = readRound;
  core.outbox.send({
    kind: 'heartbeat',
    from: core.id,
    to: peer.id,
    term: core.term,
    commit,
    readRound,
  });
}

/** Registers a read (thesis §6.4), of this member or of the one that forwarded it. */
export function readOnLeader(
  core: Core,
  leadership: Leadership,
  context: ReadContext,
  from: MemberId,
): void {
  if (core.log.commit < leadership.termStart) {
    mark('read held until the first commit of the term');
    leadership.reads.hold(context, from);
    return;
  }
  leadership.reads.add(context, from, core.log.commit);
  // A single voter needs nobody's confirmation.
  if (core.membership.voters.size === 1) answerReads(core, leadership);
}

/** End of a turn: what gathered leaves, one append per member, one round for all reads. */
export function flushLeader(core: Core, leadership: Leadership): void {
  if (leadership.appendsDue) sendAppends(core, leadership);
  const { reads } = leadership;
  if (!reads.open) return;
  reads.open = false;
  for (const peer of leadership.peers) {
    if (peer.roundSent < reads.round && core.membership.isVoter(peer.id)) {
      sendHeartbeat(core, leadership, peer);
    }
  }
}

/** Messages of this term to a leader; the rest has nothing to tell it. */
export function stepLeader(core: Core, leadership: Leadership, message: Message): void {
  switch (message.kind) {
    case 'append-response':
      handleAppendResponse(core, leadership, message);
      continueTransfer(core, leadership, message.from);
      return;
    case 'heartbeat-response':
      handleHeartbeatResponse(core, leadership, message);
      continueTransfer(core, leadership, message.from);
      return;
    case 'append':
    case 'heartbeat':
      invariant(false, `two leaders in term ${core.term}: ${core.id} and ${message.from}`);
  }
}
