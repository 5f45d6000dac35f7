import { type Index, invariant, mark } from '@lockstep/model';
import { entryBytes } from './config.ts';
import type { AppendResponse, Entry, HeartbeatResponse } from './contract.ts';
import type { Core } from './core.ts';
import type { Leadership } from './leadership.ts';
import type { Progress } from './progress.ts';

const NO_ENTRIES: readonly Entry[] = [];

/**
 * Sends what each member can take now (Raft §5.3; pipelined as in thesis §10.2.2). Runs once per
 * turn, so that all proposals and commits of the turn share one append per member.
 */
export function sendAppends(core: Core, leadership: Leadership): void {
  leadership.appendsDue = false;
  for (const peer of leadership.peers) {
    while (!peer.paused && (peer.state === 'probe' || peer.next <= core.log.lastIndex)) {
      if (!sendAppend(core, leadership, peer)) break;
    }
    if (peer.state !== 'replicate' || peer.paused) continue;
    const commitKnown = Math.min(core.log.commit, peer.next - 1);
    if (peer.checkDue || commitKnown > peer.commitSent) sendAppend(core, leadership, peer);
  }
}

/** Sends one append, possibly empty. False when the log cannot give what is needed now. */
function sendAppend(core: Core, leadership: Leadership, peer: Progress): boolean {
  const { log, config } = core;
  const prevIndex = peer.next - 1;
  const prevTerm = log.term(prevIndex);
  if (prevTerm === undefined) return needSnapshot(core, peer);
  let entries = NO_ENTRIES;
  if (peer.next <= log.lastIndex) {
    const { appendBytesMax, appendEntriesMax } = config;
    const found = log.slice(peer.next, log.lastIndex + 1, appendBytesMax, appendEntriesMax);
    if (found === 'compacted') return needSnapshot(core, peer);
    if (found === 'pending') {
      mark('append waits for entries from disk');
      peer.awaitingLog = true;
      return false;
    }
    entries = found;
  }
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) bytes += entryBytes(entries[i]!);
  peer.commitSent = Math.min(log.commit, prevIndex + entries.length);
  peer.roundSent = leadership.reads.round;
  core.outbox.send({
    kind: 'append',
    from: core.id,
    to: peer.id,
    term: core.term,
    prevIndex,
    prevTerm,
    entries,
    commit: log.commit,
    readRound: leadership.reads.round,
  });
  peer.sent(entries.length, bytes);
  return true;
}

/** The log no longer reaches back to this member. A silent one is not worth a stream yet. */
function needSnapshot(core: Core, peer: Progress): false {
  if (peer.recentlyActive) {
    peer.becomeSnapshot();
    core.outbox.needSnapshot(peer.id);
  } else {
    mark('snapshot needed by a silent follower');
    peer.becomeProbe(peer.next);
    peer.probeSent = true;
  }
  return false;
}

export function handleAppendResponse(
  core: Core,
  leadership: Leadership,
  message: AppendResponse,
): void {
  const peer = leadership.of(message.from);
  // A leader never shortens its log, so an index beyond it cannot be meant for this term.
  if (peer === undefined || message.index > core.log.lastIndex) return;
  peer.active = true;
  if (message.reject) {
    if (message.index <= peer.match) mark('rejection out of date');
    const { hintIndex, hintTerm } = message;
    // Second half of the fast back-up: skip the terms of this log that the follower cannot have.
    const hint = hintTerm > 0 ? core.log.findConflict(hintIndex, hintTerm).index : hintIndex;
    if (peer.reject(message.index, hint)) leadership.appendsDue = true;
    return;
  }
  const moved = peer.acknowledge(message.index);
  if (peer.id === core.id) {
    if (moved) advanceCommit(core, leadership);
    return;
  }
  if (peer.state === 'probe') {
    if (!moved && message.index !== peer.match) return;
    peer.becomeReplicate();
  } else if (peer.state === 'snapshot') {
    // Whatever it installed, its log now meets ours (S-12).
    if (peer.match + 1 >= core.log.firstIndex) peer.becomeReplicate();
  } else {
    peer.inflights.freeTo(message.index);
  }
  leadership.appendsDue = true;
  if (moved) advanceCommit(core, leadership);
}

export function handleHeartbeatResponse(
  core: Core,
  leadership: Leadership,
  message: HeartbeatResponse,
): void {
  const peer = leadership.of(message.from);
  if (peer === undefined) return;
  peer.active = true;
  if (peer.state === 'probe') {
    peer.probeSent = false;
    leadership.appendsDue = true;
  } else if (peer.state === 'replicate' && peer.stalled && peer.match < core.log.lastIndex) {
    // Alive, yet nothing was acknowledged for a heartbeat: ask, past a full window too.
    peer.stalled = false;
    peer.checkDue = true;
    mark('alive but nothing acknowledged');
    if (peer.inflights.full) peer.inflights.freeFirst();
    leadership.appendsDue = true;
  }
  if (message.readRound > peer.roundConfirmed && message.readRound <= leadership.reads.round) {
    peer.roundConfirmed = message.readRound;
    answerReads(core, leadership);
  }
}

/**
 * Raft §5.4.2: only an entry of this term commits by counting, and carries all before it (B-1).
 */
export function advanceCommit(core: Core, leadership: Leadership): void {
  const index = leadership.durableIndex();
  if (index < leadership.termStart || index <= core.log.commit) return;
  const first = core.log.commit < leadership.termStart;
  commitTo(core, leadership, index);
  if (first) {
    leadership.reads.release(core.log.commit);
    answerReads(core, leadership);
  }
}

function commitTo(core: Core, leadership: Leadership, index: Index): void {
  invariant(index !== Number.POSITIVE_INFINITY, 'a configuration without voters commits nothing');
  core.log.commitTo(index);
  leadership.committed(index);
  core.tracer?.event('Commit');
  leadership.appendsDue = true;
}

/** Gives out the reads whose round a quorum has confirmed. */
export function answerReads(core: Core, leadership: Leadership): void {
  if (!leadership.reads.waiting) return;
  const { id, term } = core;
  for (const read of leadership.reads.confirmed(leadership.confirmedRound())) {
    const { context, from, index } = read;
    if (from === id) core.outbox.readState({ context, index });
    else {
      core.outbox.send({ kind: 'read-index-response', from: id, to: from, term, context, index });
    }
  }
}
