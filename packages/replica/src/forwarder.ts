import {
  type Incarnation,
  invariant,
  LIMITS,
  LockstepError,
  type MemberId,
  mark,
  NO_MEMBER,
  type Run,
  type Sequence,
  type Term,
} from '@lockstep/model';
import type { CommandOutcome } from '@lockstep/state-machine';
import type { CommandWaiter } from './contract.ts';
import { PendingCommands } from './pending-commands.ts';

/** The leadership that this member's commands are handed to. */
interface Target {
  readonly leader: MemberId;
  /** Link to that leader, or 0 when it is this member itself. */
  readonly link: number;
  readonly term: Term;
}

const NOBODY: Target = { leader: NO_MEMBER, link: 0, term: 0 };

/**
 * This member's own commands on their way into the log (design §4). They are handed to one leader
 * over one link in order; from the lowest number not applied again whenever leader, term or link
 * change, after a refusal, when a gap was voided, and after an election timeout without progress.
 */
export class Forwarder {
  readonly pending = new PendingCommands();
  readonly #member: MemberId;
  readonly #bytesMax: number;
  #incarnation: Incarnation;
  #target: Target = NOBODY;
  /** Next number to hand to the target. */
  #next: Sequence = 1;
  /** Numbers below were told failed or unknown; deadlines grow with the number. */
  #expired: Sequence = 1;
  #bytesHanded = 0;
  #progressMs = 0;
  /** A refusal says that nobody leads there: wait for news, or for the progress timer. */
  #refused = false;

  constructor(member: MemberId, incarnation: Incarnation, bytesMax: number) {
    this.#member = member;
    this.#incarnation = incarnation;
    this.#bytesMax = bytesMax;
  }

  get incarnation(): Incarnation {
    return this.#incarnation;
  }

  /** Why a command is not taken; undefined when there is room. */
  refusal(): LockstepError | undefined {
    const { count, bytes } = this.pending;
    if (count < LIMITS.memberCommandsPendingMax && bytes < LIMITS.memberBytesPendingMax) {
      return undefined;
    }
    return new LockstepError('OVERLOADED', count);
  }

  submit(command: Uint8Array, waiter: CommandWaiter | undefined, deadlineMs: number): Sequence {
    return this.pending.push(command, waiter, deadlineMs);
  }

  /** The leadership in force; a change resends. `link` 0 for another leader: there is no link. */
  retarget(leader: MemberId, link: number, term: Term, nowMs: number): void {
    const reachable = leader === this.#member || (leader !== NO_MEMBER && link !== 0);
    const { leader: wasLeader, link: wasLink, term: wasTerm } = this.#target;
    if (!reachable) {
      this.#target = NOBODY;
      return;
    }
    if (leader === wasLeader && link === wasLink && term === wasTerm) return;
    this.#target = { leader, link, term };
    this.resend(nowMs);
  }

  /** Starts again behind the last number applied. */
  resend(nowMs: number): void {
    this.#next = this.pending.first;
    this.#bytesHanded = 0;
    this.#refused = false;
    this.#progressMs = nowMs;
  }

  /** The leader wants another number next, or (0) does not lead. */
  refused(expected: Sequence, nowMs: number): void {
    if (expected === 0) {
      this.#refused = true;
      return;
    }
    this.resend(nowMs);
    mark('leader wants another number');
    if (expected > this.#next && expected <= this.pending.next) this.#next = expected;
  }

  /** The next commands for `leader`, not yet counted as handed; undefined when there are none. */
  peek(leader: MemberId, bytesMax: number, countMax: number): Run | undefined {
    const first = this.#next;
    const { pending } = this;
    if (first >= pending.next || this.#target.leader !== leader || this.#refused) return undefined;
    if (this.#bytesHanded >= this.#bytesMax) return undefined;
    const commands: Uint8Array[] = [];
    const end = Math.min(pending.next, first + countMax);
    let bytes = 0;
    for (let sequence = first; sequence < end; sequence++) {
      const { command } = pending.get(sequence)!;
      bytes += command.length + 8;
      if (bytes > bytesMax && commands.length > 0) break;
      commands.push(command);
    }
    return { origin: this.#member, incarnation: this.#incarnation, first, commands };
  }

  /** True while there are commands that the present target has not been given. */
  get hasMore(): boolean {
    return this.#next < this.pending.next && this.#bytesHanded < this.#bytesMax;
  }

  /** A run that `peek` gave has been handed over: its outcome is unknown from here. */
  handed(run: Run, nowMs: number): void {
    if (this.#next === this.pending.first) this.#progressMs = nowMs;
    for (let i = 0; i < run.commands.length; i++) {
      const pending = this.pending.get(run.first + i)!;
      // A body that was emptied before leaves no copy with a body.
      if (pending.command.length > 0) pending.handed = true;
      this.#bytesHanded += pending.command.length;
    }
    this.#next = run.first + run.commands.length;
  }

  /** The outcome of one of this incarnation's numbers, in log order. */
  result(sequence: Sequence, outcome: CommandOutcome, nowMs: number): void {
    if (outcome.kind === 'void') {
      if (outcome.reason === 'duplicate') return;
      if (outcome.reason === 'gap') {
        mark('own run was void for a gap');
        this.resend(nowMs);
        return;
      }
    }
    const { pending } = this;
    invariant(
      sequence === pending.first && sequence < pending.next,
      () => `command ${sequence} applied, ${pending.first} was next of ${pending.next}`,
    );
    const { waiter, command } = pending.shift();
    this.#progressMs = nowMs;
    this.#bytesHanded = Math.max(0, this.#bytesHanded - command.length);
    if (this.#next < pending.first) this.#next = pending.first;
    waiter?.applied(outcome);
  }

  /** A snapshot holds everything up to `sequence`: those outcomes will never be seen here. */
  skipTo(sequence: Sequence, nowMs: number): void {
    const { pending } = this;
    const error = new LockstepError('UNKNOWN_OUTCOME');
    if (pending.first <= sequence && pending.count > 0) mark('outcomes hidden by a snapshot');
    while (pending.first <= sequence && pending.count > 0) pending.shift().waiter?.failed(error);
    this.resend(nowMs);
  }

  /** Tells those whose time is over, and resends when nothing moved for `stuckMs`. */
  tick(nowMs: number, stuckMs: number): void {
    const { pending } = this;
    if (this.#expired < pending.first) this.#expired = pending.first;
    for (;;) {
      const command = pending.get(this.#expired);
      if (command === undefined) break;
      if (command.deadlineMs === Number.POSITIVE_INFINITY) {
        // A hello waits for ever, but holds up nobody behind it.
        this.#expired++;
        continue;
      }
      if (command.deadlineMs > nowMs) break;
      // Its body no longer counts; left in the sum, it would shrink the window for good.
      if (this.#expired < this.#next) {
        this.#bytesHanded = Math.max(0, this.#bytesHanded - command.command.length);
      }
      this.#expired++;
      const { waiter, handed } = command;
      pending.empty(command);
      waiter?.failed(new LockstepError(handed ? 'UNKNOWN_OUTCOME' : 'NO_LEADER'));
    }
    const waits = this.#next > pending.first || this.#refused;
    if (!waits || pending.count === 0 || nowMs - this.#progressMs <= stuckMs) return;
    mark('commands sent again for want of progress');
    this.resend(nowMs);
  }

  /** This incarnation is over: all its commands end, numbers start again at 1. */
  restart(incarnation: Incarnation): void {
    invariant(incarnation > this.#incarnation, `incarnation ${incarnation} is not newer`);
    this.#incarnation = incarnation;
    this.abandon('NOT_READY');
  }

  /** Ends everything: `unknown` for what a leader may hold, else `code`. */
  abandon(code: 'NOT_READY' | 'STOPPING'): void {
    this.#next = 1;
    this.#expired = 1;
    this.#bytesHanded = 0;
    for (const { waiter, handed } of this.pending.reset()) {
      waiter?.failed(new LockstepError(handed ? 'UNKNOWN_OUTCOME' : code));
    }
  }
}
