import { type MemberId, mark, NO_MEMBER, type Term } from '@lockstep/model';
import type {
  AppendRequest,
  HeartbeatRequest,
  ReadContext,
  ReadIndexResponse,
  SnapshotMeta,
} from './contract.ts';
import type { Core } from './core.ts';

/** Becomes follower of `leader` (or of nobody yet); whatever the former role held is ended. */
export function becomeFollower(core: Core, term: Term, leader: MemberId): void {
  const ended = core.leadership?.reads.takeAll() ?? [];
  core.enterTerm(term);
  core.role = 'follower';
  core.candidacy = undefined;
  core.leadership = undefined;
  core.setLeader(leader);
  core.resetElectionTimer();
  core.tracer?.event('BecomeFollower');
  for (const read of ended) refuseRead(core, read.context, read.from);
}

/** Tells the asker that its read will not be answered, so that it asks again. */
export function refuseRead(core: Core, context: ReadContext, from: MemberId): void {
  if (from === core.id) core.outbox.dropRead(context);
  else {
    const { id, term } = core;
    core.outbox.send({ kind: 'read-index-response', from: id, to: from, term, context, index: 0 });
  }
}

/** A message of this term's leader: whoever is no follower of it becomes one (Raft §5.2). */
export function followLeader(core: Core, leader: MemberId): void {
  if (core.role === 'follower') {
    core.setLeader(leader);
    core.heardLeader();
  } else {
    becomeFollower(core, core.term, leader);
  }
}

/** AppendEntries (Raft §5.3). The answer is a promise and waits for the disk. */
export function handleAppend(core: Core, message: AppendRequest): void {
  const { log } = core;
  const { prevIndex, prevTerm, entries } = message;
  if (message.readRound > core.roundAnswered) confirmRound(core, message.from, message.readRound);
  if (!isContiguous(message)) {
    mark('append with a gap dropped');
    return;
  }
  if (prevIndex < log.commit) {
    mark('append below the commit index');
    // An old or early message. What is committed here is certainly in the leader's log.
    acceptUpTo(core, message.from, log.commit);
    return;
  }
  if (prevIndex > log.lastIndex || log.term(prevIndex) !== prevTerm) {
    if (prevIndex > log.lastIndex) mark('append leaves a gap');
    else mark('append conflicts');
    rejectAppend(core, message);
    return;
  }
  log.appendMissing(entries);
  const verified = prevIndex + entries.length;
  // Not beyond what this message verified: the rest of this log may be another leader's (B-2).
  const committed = log.commitTo(Math.min(message.commit, verified));
  if (committed) core.tracer?.event('Commit');
  // The mere news of a commit needs no answer: what it verified was acknowledged, or is about to be
  // when the disk has it. Should that get lost, the leader asks again, and has no news then.
  const known = entries.length === 0 && verified <= core.promisedIndex;
  if (known && (committed || verified > log.stableIndex)) return;
  acceptUpTo(core, message.from, verified);
}

/** A gap inside a message would become a gap in the log (B-5); no correct leader sends one. */
function isContiguous(message: AppendRequest): boolean {
  const { prevIndex, entries } = message;
  let term = message.prevTerm;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    if (entry.index !== prevIndex + 1 + i || entry.term < term) return false;
    term = entry.term;
  }
  return term <= message.term;
}

function acceptUpTo(core: Core, to: MemberId, index: number): void {
  core.promisedIndex = Math.max(core.promisedIndex, index);
  core.outbox.promise({
    kind: 'append-response',
    from: core.id,
    to,
    term: core.term,
    index,
    reject: false,
    hintIndex: 0,
    hintTerm: 0,
  });
}

function rejectAppend(core: Core, message: AppendRequest): void {
  const { log } = core;
  const hint = log.findConflict(Math.min(message.prevIndex, log.lastIndex), message.prevTerm);
  core.outbox.promise({
    kind: 'append-response',
    from: core.id,
    to: message.from,
    term: core.term,
    index: message.prevIndex,
    reject: true,
    hintIndex: hint.index,
    hintTerm: hint.term,
  });
}

/**
 * Heartbeat: the leader bounds `commit` by what this log is known to match (B-3). The answer says
 * nothing of the log, so it leaves at once.
 */
export function handleHeartbeat(core: Core, message: HeartbeatRequest): void {
  const { log } = core;
  if (log.commitTo(Math.min(message.commit, log.lastIndex))) core.tracer?.event('Commit');
  confirmRound(core, message.from, message.readRound);
}

function confirmRound(core: Core, to: MemberId, readRound: number): void {
  core.roundAnswered = Math.max(core.roundAnswered, readRound);
  const { id, term } = core;
  core.outbox.send({ kind: 'heartbeat-response', from: id, to, term, readRound });
}

/** Hands a read to the leader (thesis §6.4); without one the asker is told to ask again. */
export function forwardRead(core: Core, context: ReadContext): void {
  const { id, leader, term } = core;
  if (leader === NO_MEMBER) {
    mark('read without a leader');
    core.outbox.dropRead(context);
    return;
  }
  core.forwardedReads.add(context);
  core.outbox.send({ kind: 'read-index', from: id, to: leader, term, context });
}

export function handleReadIndexResponse(core: Core, message: ReadIndexResponse): void {
  const context = core.forwardedReads.take(message.context);
  if (context === undefined) return;
  if (message.index === 0) {
    mark('read refused by a former leader');
    core.outbox.dropRead(context);
  } else core.outbox.readState({ context, index: message.index });
}

/**
 * The driver installed the state of `meta`. The leader learns of it when the log is durable; if it
 * gets lost, the next probe finds out. Pages of committed entries that were handed out before and
 * lie at or below `meta.index` are part of the snapshot: the driver drops them.
 */
export function installSnapshot(core: Core, meta: SnapshotMeta): void {
  core.log.install(meta);
  core.membership.restore(meta.configuration);
  core.tracer?.event('InstallSnapshot');
  const { leader } = core;
  if (leader !== NO_MEMBER && leader !== core.id) acceptUpTo(core, leader, meta.index);
}
