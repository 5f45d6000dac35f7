import { mark, NO_MEMBER, type Timer } from '@lockstep/model';
import { tickDue } from './leadership.ts';
import type { Loop } from './loop.ts';
import type { Proposer } from './proposer.ts';

/** Bytes of one forwarded run at most, well inside a frame. */
const FORWARD_RUN_BYTES_MAX = 2 * 1024 * 1024;
const FORWARD_RUN_COMMANDS_MAX = 10_000;

/** Hands what the turn gathered to the leader: by proposing here, or by a frame to it. */
export class Gatherer {
  readonly #loop: Loop;
  readonly #proposer: Proposer;
  /** Leadership began or ended here. */
  readonly #turned: () => void;
  #renewalTimer: Timer | undefined;
  #wasLeader = false;

  constructor(loop: Loop, proposer: Proposer, turned: () => void) {
    this.#loop = loop;
    this.#proposer = proposer;
    this.#turned = turned;
  }

  /** Own commands and renewals go to the leadership now in force. */
  followLeader(nowMs: number): void {
    const { raft, forwarder, leads } = this.#loop;
    const { leader, term } = raft;
    if (leads) this.#proposer.enterTerm(term);
    if (leads !== this.#wasLeader) {
      this.#wasLeader = leads;
      if (!leads) this.#proposer.clear();
      this.#turned();
      this.#loop.renewals.resend();
      if (leads) mark('became leader');
      else mark('lost leadership');
    }
    forwarder.retarget(leader, this.#loop.linkOf(leader), term, nowMs);
  }

  gather(nowMs: number): void {
    if (this.#loop.leads) this.#propose(nowMs);
    else this.#forward(nowMs);
    const delayMs = this.#loop.renewals.delayMs(nowMs);
    // Without delay they wait for a leader, whose news wakes the loop.
    if (delayMs === undefined || delayMs === 0 || this.#renewalTimer !== undefined) return;
    this.#renewalTimer = this.#loop.options.clock.setTimer(delayMs, () => {
      this.#renewalTimer = undefined;
      this.#loop.wake();
    });
  }

  stop(): void {
    this.#renewalTimer?.cancel();
  }

  #propose(nowMs: number): void {
    const { raft, machine, renewals, settings, clusterClock, writer } = this.#loop;
    const group = renewals.take(nowMs);
    if (group !== undefined) this.#proposer.takeRenewals(group);
    if (tickDue(raft, machine, clusterClock.now)) this.#proposer.takeTick();
    const held = writer.backlogBytes > settings.imageBacklogBytesMax;
    if (held) mark('proposals held');
    this.#proposer.propose(raft, this.#loop.leaderTimes, held, nowMs);
  }

  #forward(nowMs: number): void {
    const { raft, renewals, outbox, forwarder } = this.#loop;
    const { leader } = raft;
    if (leader === NO_MEMBER || !this.#loop.isLinked(leader)) return;
    const group = renewals.take(nowMs);
    if (group !== undefined) outbox.add(leader, { kind: 'renew', group });
    const run = forwarder.peek(leader, FORWARD_RUN_BYTES_MAX, FORWARD_RUN_COMMANDS_MAX);
    if (run === undefined) return;
    outbox.add(leader, { kind: 'forward', run });
    forwarder.handed(run, nowMs);
    if (forwarder.hasMore) this.#loop.wake();
  }
}
