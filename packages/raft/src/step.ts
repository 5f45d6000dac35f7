import { mark, NO_MEMBER } from '@lockstep/model';
import type { AppendRequest, HeartbeatRequest, Message } from './contract.ts';
import type { Core } from './core.ts';
import { campaign, handleVoteRequest, handleVoteResponse } from './election.ts';
import {
  becomeFollower,
  followLeader,
  handleAppend,
  handleHeartbeat,
  handleReadIndexResponse,
  refuseRead,
} from './follower.ts';
import { readOnLeader, stepLeader } from './leader.ts';
import { beginTransfer } from './transfer.ts';

/**
 * The one dispatch: first terms (Raft §5.1), then the role. Every kind of message is handled in
 * every role (E-12). Responses count only from members of the configuration; requests are served
 * for anybody, since this member's configuration may be the older one (M-5).
 */
export function step(core: Core, message: Message): void {
  if (message.to !== core.id) return;
  core.tracer?.event('Receive', message);
  switch (message.kind) {
    case 'vote':
      handleVoteRequest(core, message);
      return;
    case 'vote-response':
      if (!core.membership.isMember(message.from)) return;
      // A grant of a pre-vote is for a term that has not begun.
      if (message.term > core.term && !(message.preVote && !message.reject)) {
        becomeFollower(core, message.term, NO_MEMBER);
      }
      handleVoteResponse(core, message);
      return;
    case 'append-response':
    case 'heartbeat-response':
      if (!core.membership.isMember(message.from)) return;
  }
  if (message.term > core.term) {
    becomeFollower(core, message.term, NO_MEMBER);
  } else if (message.term < core.term) {
    answerStale(core, message);
    return;
  }
  stepInTerm(core, message);
}

/** A message of an earlier term: whoever sent it must learn of the present one. */
function answerStale(core: Core, message: Message): void {
  const { id, term } = core;
  if (message.kind === 'append' || message.kind === 'heartbeat') {
    mark('former leader told of a later term');
    core.outbox.send({
      kind: 'heartbeat-response',
      from: id,
      to: message.from,
      term,
      readRound: 0,
    });
  } else if (message.kind === 'read-index') {
    mark('read of a former term refused');
    refuseRead(core, message.context, message.from);
  }
}

function stepInTerm(core: Core, message: Message): void {
  const { leadership } = core;
  switch (message.kind) {
    case 'append':
    case 'heartbeat':
      if (leadership !== undefined) stepLeader(core, leadership, message);
      else stepFromLeader(core, message);
      return;
    case 'append-response':
    case 'heartbeat-response':
      if (leadership !== undefined) stepLeader(core, leadership, message);
      return;
    case 'read-index':
      if (leadership !== undefined) readOnLeader(core, leadership, message.context, message.from);
      else refuseRead(core, message.context, message.from);
      return;
    case 'read-index-response':
      handleReadIndexResponse(core, message);
      return;
    case 'transfer':
      if (leadership !== undefined) beginTransfer(core, leadership, message.target);
      return;
    case 'timeout-now':
      // Also as pre-candidate: its own timer may have run out meanwhile (T-2).
      if (core.role === 'follower' || core.role === 'pre-candidate') campaign(core, 'transfer');
  }
}

function stepFromLeader(core: Core, message: AppendRequest | HeartbeatRequest): void {
  followLeader(core, message.from);
  if (message.kind === 'append') handleAppend(core, message);
  else handleHeartbeat(core, message);
}
