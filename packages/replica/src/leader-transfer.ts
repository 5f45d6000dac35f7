import { LockstepError, type MemberId, NO_MEMBER } from '@lockstep/model';
import type { PeerStatus, Raft } from '@lockstep/raft';

interface Transfer {
  /** Whose leadership ends it well; `ANYBODY_ELSE` when any other member's does. */
  readonly target: MemberId;
  readonly deadlineMs: number;
  readonly done: (error: LockstepError | undefined) => void;
}

const ANYBODY_ELSE = -1;
const NEVER = -2;

/** Hand-overs of leadership asked for here; each is answered once (T-3). */
export class LeaderTransfers {
  readonly #raft: Raft;
  readonly #member: MemberId;
  readonly #isPrompt: (member: MemberId) => boolean;
  #waiting: Transfer[] = [];
  #volunteeredMs = Number.NEGATIVE_INFINITY;
  #volunteers = 0;

  /** `isPrompt`: linked, and heard so lately that it will answer at once. */
  constructor(raft: Raft, member: MemberId, isPrompt: (member: MemberId) => boolean) {
    this.#raft = raft;
    this.#member = member;
    this.#isPrompt = isPrompt;
  }

  begin(
    wanted: MemberId | undefined,
    deadlineMs: number,
    done: (error: LockstepError | undefined) => void,
  ): void {
    const raft = this.#raft;
    const from = raft.leader;
    const target = wanted ?? (raft.role === 'leader' ? this.#successors()[0] : this.#member);
    const known = target !== undefined && raft.status().configuration.voters.includes(target);
    if (from === NO_MEMBER || !known) {
      this.#waiting.push({ target: NEVER, deadlineMs: 0, done });
      return;
    }
    this.#waiting.push({ target, deadlineMs, done });
    if (target !== from) raft.transferLeader(target);
  }

  /**
   * A leader that had better not lead asks a voter to take over; true when it did. Once per
   * election timeout: there may be nobody to hand over to.
   */
  volunteer(nowMs: number, electionMs: number): boolean {
    if (nowMs - this.#volunteeredMs < electionMs) return false;
    // The first one may not be able to: then the next has its turn.
    const again = nowMs - this.#volunteeredMs < 3 * electionMs;
    this.#volunteers = again ? this.#volunteers + 1 : 0;
    this.#volunteeredMs = nowMs;
    const successors = this.#successors();
    const target = successors[this.#volunteers % Math.max(1, successors.length)];
    this.begin(target, nowMs + electionMs, () => {});
    return true;
  }

  /**
   * A leader that is about to stop hands over to one voter after the other, `attemptMs` each, until
   * somebody else leads. Done in any case: whether or not somebody could, it will stop.
   */
  leave(attemptMs: number, nowMs: () => number, done: () => void): void {
    const successors = this.#successors();
    // Who is silent gets a chance only when nobody else has one: waiting holds up all clients.
    const prompt = successors.filter(this.#isPrompt);
    this.#attempt(prompt.length > 0 ? prompt : successors.slice(0, 1), attemptMs, nowMs, done);
  }

  #attempt(
    successors: readonly MemberId[],
    attemptMs: number,
    nowMs: () => number,
    done: () => void,
  ): void {
    const [target, ...others] = successors;
    if (target === undefined) {
      done();
      return;
    }
    // No leader any more, but none known either: the election under way may need this one's vote.
    this.#waiting.push({
      target: ANYBODY_ELSE,
      deadlineMs: nowMs() + attemptMs,
      done: (error) => {
        if (error === undefined || error.code === 'STOPPING') done();
        else this.#attempt(others, attemptMs, nowMs, done);
      },
    });
    if (this.#raft.role === 'leader') this.#raft.transferLeader(target);
  }

  /**
   * Voters heard lately: of those that answer promptly and follow closely the one most preferred
   * as leader first, of equals the one whose log reaches furthest. One that must catch up first
   * comes last: the hand-over might not wait for it.
   */
  #successors(): MemberId[] {
    const { peers, configuration } = this.#raft.status();
    const grade = (peer: PeerStatus): number =>
      Number(this.#isPrompt(peer.id)) + Number(peer.state === 'replicate');
    return peers
      .filter(({ id, recentlyActive }) => recentlyActive && configuration.voters.includes(id))
      .sort((a, b) => grade(b) - grade(a) || b.priority - a.priority || b.match - a.match)
      .map(({ id }) => id);
  }

  /** Once per turn: answers those that ended. */
  settle(nowMs: number): void {
    if (this.#waiting.length === 0) return;
    const ended = this.#waiting.filter(
      (transfer) => this.#succeeded(transfer) || nowMs >= transfer.deadlineMs,
    );
    if (ended.length === 0) return;
    this.#waiting = this.#waiting.filter((transfer) => !ended.includes(transfer));
    for (const transfer of ended) {
      transfer.done(this.#succeeded(transfer) ? undefined : new LockstepError('NO_LEADER'));
    }
  }

  #succeeded({ target }: Transfer): boolean {
    const { leader } = this.#raft;
    if (target !== ANYBODY_ELSE) return target === leader;
    return leader !== NO_MEMBER && leader !== this.#member;
  }

  abandon(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done(new LockstepError('STOPPING'));
  }
}
