import { type MemberId, mark, NO_MEMBER } from '@lockstep/model';
import type { Core } from './core.ts';
import type { Leadership } from './leadership.ts';

/** Election timeouts for which a leader that is no voter any more tries to hand over. */
const LEAVING_TIMEOUTS = 3;

/**
 * Leadership transfer (thesis §3.10): proposals stop, the target catches up, then it is told to
 * campaign at once, past pre-vote and stickiness. Given up after one election timeout.
 */
export function beginTransfer(core: Core, leadership: Leadership, target: MemberId): void {
  if (target === core.id || !core.membership.isVoter(target)) return;
  if (leadership.transferTarget === target) return;
  leadership.transferTarget = target;
  leadership.transferTicks = 0;
  continueTransfer(core, leadership, target);
}

/**
 * Called whenever the target is heard: as soon as it holds the whole log it is told, and told
 * again if it still follows, since the one message may have been lost (T-2).
 */
export function continueTransfer(core: Core, leadership: Leadership, heard: MemberId): void {
  if (leadership.of(heard)?.match !== core.log.lastIndex) {
    // It must not miss an entry, or the others would refuse it (T-1).
    return;
  }
  if (leadership.leaving && leadership.transferTarget === NO_MEMBER) {
    mark('leader that is no voter hands over');
    // Any voter that has it all will do.
    beginTransfer(core, leadership, heard);
    return;
  }
  if (heard !== leadership.transferTarget) return;
  core.outbox.send({ kind: 'timeout-now', from: core.id, to: heard, term: core.term });
}

/** False when this leader has been trying to leave for too long and must step down. */
export function tickTransfer(core: Core, leadership: Leadership): boolean {
  const { electionTicks } = core.config;
  if (leadership.leaving && ++leadership.leavingTicks >= LEAVING_TIMEOUTS * electionTicks) {
    return false;
  }
  if (leadership.transferTarget === NO_MEMBER) return true;
  if (++leadership.transferTicks >= electionTicks) {
    mark('leadership transfer given up');
    leadership.transferTarget = NO_MEMBER;
  }
  return true;
}

/** Asks the leader to hand over to `target`; without a leader there is nobody to ask. */
export function forwardTransfer(core: Core, target: MemberId): void {
  const { id, leader, term } = core;
  if (leader === NO_MEMBER) return;
  core.outbox.send({ kind: 'transfer', from: id, to: leader, term, target });
}
