import { LockstepError, type MemberId, NO_MEMBER } from '@lockstep/model';
import type { PeerStatus, Raft } from '@lockstep/raft';

interface Transfer {
  readonly target: MemberId;
  readonly from: MemberId;
  readonly deadlineMs: number;
  readonly done: (error: LockstepError | undefined) => void;
}

/** Hand-overs of leadership asked for here; each is answered once (T-3). */
export class LeaderTransfers {
  readonly #raft: Raft;
  readonly #member: MemberId;
  #waiting: Transfer[] = [];

  constructor(raft: Raft, member: MemberId) {
    this.#raft = raft;
    this.#member = member;
  }

  begin(
    wanted: MemberId | undefined,
    deadlineMs: number,
    done: (error: LockstepError | undefined) => void,
  ): void {
    const raft = this.#raft;
    const from = raft.leader;
    const target = wanted ?? (raft.role === 'leader' ? this.#heir() : this.#member);
    const known = raft.status().configuration.voters.includes(target);
    if (from === NO_MEMBER || target === NO_MEMBER || !known) {
      this.#waiting.push({ target: -1, from, deadlineMs: 0, done });
      return;
    }
    this.#waiting.push({ target, from, deadlineMs, done });
    if (target !== from) raft.transferLeader(target);
  }

  /**
   * Of the voters that follow closely the one most preferred as leader; of equals the one whose log
   * reaches furthest. One that must catch up first comes last: the hand-over might not wait for it.
   */
  #heir(): MemberId {
    const { peers, configuration } = this.#raft.status();
    let best: PeerStatus | undefined;
    for (const peer of peers) {
      if (!peer.recentlyActive || !configuration.voters.includes(peer.id)) continue;
      if (best === undefined || order(peer, best) > 0) best = peer;
    }
    return best?.id ?? NO_MEMBER;
  }

  /** Once per turn: answers those that ended. */
  settle(nowMs: number): void {
    if (this.#waiting.length === 0) return;
    const { leader } = this.#raft;
    const ended = this.#waiting.filter(
      (transfer) => transfer.target === leader || nowMs >= transfer.deadlineMs,
    );
    if (ended.length === 0) return;
    this.#waiting = this.#waiting.filter((transfer) => !ended.includes(transfer));
    for (const { target, done } of ended) {
      done(target === leader ? undefined : new LockstepError('NO_LEADER'));
    }
  }

  abandon(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done(new LockstepError('STOPPING'));
  }
}

function order(a: PeerStatus, b: PeerStatus): number {
  const follows = Number(a.state === 'replicate') - Number(b.state === 'replicate');
  return follows || a.priority - b.priority || a.match - b.match;
}
