import { type MemberId, NO_MEMBER } from '@lockstep/model';
import type { Core } from './core.ts';
import type { Leadership } from './leadership.ts';

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
  if (heard !== leadership.transferTarget || heard === NO_MEMBER) return;
  // It must not miss an entry, or the others would refuse it (T-1).
  if (leadership.of(heard)?.match !== core.log.lastIndex) return;
  core.outbox.send({ kind: 'timeout-now', from: core.id, to: heard, term: core.term });
}

export function tickTransfer(core: Core, leadership: Leadership): void {
  if (leadership.transferTarget === NO_MEMBER) return;
  if (++leadership.transferTicks >= core.config.electionTicks) {
    leadership.transferTarget = NO_MEMBER;
  }
}

/** Asks the leader to hand over to `target`; without a leader there is nobody to ask. */
export function forwardTransfer(core: Core, target: MemberId): void {
  const { id, leader, term } = core;
  if (leader === NO_MEMBER) return;
  core.outbox.send({ kind: 'transfer', from: id, to: leader, term, target });
}
