import {
  BinaryFormatError,
  copyBytes,
  type Index,
  LockstepError,
  type MemberId,
  mark,
  NO_MEMBER,
  type Term,
} from '@lockstep/model';
import type { Entry, Message } from '@lockstep/raft';
import type { Salvage } from '@lockstep/storage';
import type { SnapshotMessage } from '@lockstep/transport';
import { LogLender } from './log-lender.ts';
import {
  decodeRepair,
  encodeRepair,
  LOG_REPAIR,
  type RepairAnswer,
  type TermRun,
} from './log-repair-message.ts';
import type { Loop } from './loop.ts';
import type { Recovered } from './recovery.ts';

/** Term runs told with a request; more would hardly help to find a common entry. */
const RUNS_MAX = 64;
/** Election timeouts within which the leader, or all others, must have answered. */
const PATIENCE_ELECTIONS = 4;

interface Gap {
  readonly first: Index;
  readonly last: Index;
}

/** First run of indexes behind `from` that the salvage lacks; undefined when it lacks none. */
export function gapIn({ entries, last }: Salvage, from: Index): Gap | undefined {
  let first = from;
  while (first <= last && entries.has(first)) first += 1;
  if (first > last) return undefined;
  let end = first;
  while (end < last && !entries.has(end + 1)) end += 1;
  return { first, last: end };
}

/**
 * Mends a log that is damaged somewhere in the middle (reference raft.md §6.4; protocol-aware
 * recovery, FAST'18): lost entries whose effect the image holds are not needed, others come from
 * members that certainly held the same log. Until then raft stands still, since the first write
 * would give up what is good behind the damage: the member neither votes nor acknowledges. What
 * nobody can give is replaced by the leader, if there is one; otherwise the member waits, and stops
 * once every voter has said that the entries are lost. It never guesses.
 */
export class LogRepair {
  readonly #loop: Loop;
  readonly #recovered: Recovered;
  readonly #lender: LogLender;
  /** Grows by what others give; undefined when there is nothing to repair, or no more. */
  #salvage: Salvage | undefined;
  readonly #entries: Map<Index, Entry>;
  /** First index that must be restored. */
  readonly #start: Index;
  readonly #answers = new Map<MemberId, RepairAnswer>();
  #leader: MemberId = NO_MEMBER;
  #askedMs = Number.NEGATIVE_INFINITY;
  #movedMs: number;

  constructor(loop: Loop, recovered: Recovered) {
    this.#loop = loop;
    this.#recovered = recovered;
    const { salvage } = recovered.logState;
    const image = (recovered.installed ?? recovered.position).index;
    this.#start = Math.max(salvage?.from ?? 0, image + 1);
    this.#entries = new Map(salvage?.entries);
    // What the image holds needs no entries.
    const isNeeded = salvage !== undefined && salvage.last > image;
    this.#salvage = isNeeded ? { ...salvage, entries: this.#entries } : undefined;
    this.#movedMs = loop.nowMs;
    this.#lender = new LogLender(recovered.log, () => this.#salvage);
  }

  /** Raft stands still meanwhile. */
  get pending(): boolean {
    return this.#salvage !== undefined;
  }

  /** For status: what is missing. */
  get missing(): string {
    const gap = this.#gap;
    return gap === undefined ? '' : `entries ${gap.first} to ${gap.last} are missing`;
  }

  start(): void {
    if (!this.pending) {
      this.#release(this.#recovered.logState.salvage);
      return;
    }
    const { damage } = this.#recovered.logState;
    this.#say(`${damage?.file} is damaged at offset ${damage?.offset}: ${damage?.reason}`);
    if (this.#gap === undefined) this.#finish();
    else this.#say(this.missing);
  }

  /** Once per tick while pending. */
  tick(nowMs: number): void {
    const { settings, forwarder, renewals, reader } = this.#loop;
    const { electionMs } = settings;
    // Clients are told in time, as without a leader.
    forwarder.tick(nowMs, electionMs);
    renewals.tick(nowMs, electionMs);
    reader.tick(nowMs);
    if (this.#hasGivenUp(nowMs)) return;
    if (nowMs - this.#askedMs < electionMs / 2) return;
    this.#askedMs = nowMs;
    this.#ask();
  }

  /** True when a message is not for raft now. */
  holds(from: MemberId, message: Message | SnapshotMessage): boolean {
    if (!this.pending) return false;
    if (message.kind === 'snapshot-begin') {
      this.#abandon(`member ${from} sends the state`);
      return false;
    }
    const isLeader = message.kind === 'append' || message.kind === 'heartbeat';
    if (!isLeader || message.term < this.#loop.raft.term || this.#leader === from) return true;
    this.#leader = from;
    this.#movedMs = this.#loop.nowMs;
    return true;
  }

  /** Another member lost entries, or answers. */
  received(from: MemberId, payload: Uint8Array): void {
    let message: ReturnType<typeof decodeRepair>;
    try {
      message = decodeRepair(payload);
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error;
      this.#say(`message of member ${from} is malformed: ${error.message}`);
      return;
    }
    if (message.kind === 'answer') {
      this.#answered(from, message);
      return;
    }
    const answer = this.#lender.answer(message, !this.pending && this.#recovered.trust.mayVote);
    if (answer === undefined) return;
    if (answer.entries.length > 0) mark('log entries lent');
    this.#send(from, encodeRepair(answer));
  }

  // ---- asking --------------------------------------------------------------------------------

  get #gap(): Gap | undefined {
    return this.#salvage === undefined ? undefined : gapIn(this.#salvage, this.#start);
  }

  #ask(): void {
    const gap = this.#gap;
    if (gap === undefined) return;
    const { voters, votersOutgoing, learners } = this.#loop.configuration;
    const request = {
      kind: 'request' as const,
      ...gap,
      term: this.#termOf(gap),
      known: this.#runsBehind(gap.last),
    };
    const payload = encodeRepair(request);
    for (const id of new Set([...voters, ...votersOutgoing, ...learners])) {
      if (id !== this.#loop.settings.member && this.#loop.isLinked(id)) this.#send(id, payload);
    }
  }

  #send(to: MemberId, payload: Uint8Array): void {
    this.#loop.outbox.add(to, { kind: 'gossip', door: LOG_REPAIR, payload });
    this.#loop.wake();
  }

  #termAt(index: Index): Term | undefined {
    if (index >= this.#start) return this.#entries.get(index)?.term;
    const { installed, position, log } = this.#recovered;
    const image = installed ?? position;
    return index === image.index ? image.term : log.term(index);
  }

  /** The term of all lost entries, when those around them have the same; else 0. */
  #termOf({ first, last }: Gap): Term {
    const before = this.#termAt(first - 1);
    return before !== undefined && before === this.#termAt(last + 1) ? before : 0;
  }

  #runsBehind(index: Index): TermRun[] {
    const runs: { first: Index; last: Index; term: Term }[] = [];
    const end = this.#salvage!.last;
    for (let at = index + 1; at <= end && runs.length < RUNS_MAX; at++) {
      const term = this.#termAt(at);
      if (term === undefined) continue;
      const run = runs.at(-1);
      if (run?.term === term && run.last === at - 1) run.last = at;
      else runs.push({ first: at, last: at, term });
    }
    return runs;
  }

  // ---- answers -------------------------------------------------------------------------------

  #answered(from: MemberId, answer: RepairAnswer): void {
    const gap = this.#gap;
    if (gap === undefined || answer.first !== gap.first || answer.last !== gap.last) return;
    const lowest = this.#termAt(gap.first - 1) ?? 0;
    const highest = this.#termAt(gap.last + 1) ?? this.#loop.raft.term;
    const isPossible = answer.entries.every(
      ({ index, term }) =>
        index >= gap.first && index <= gap.last && term >= lowest && term <= highest,
    );
    if (!isPossible) {
      this.#say(`member ${from} gave entries that cannot have been here; they are not taken`);
      return;
    }
    if (answer.entries.length === 0) {
      this.#answers.set(from, answer);
      return;
    }
    for (const entry of answer.entries) {
      this.#entries.set(entry.index, { ...entry, data: copyBytes(entry.data) });
    }
    this.#say(
      `member ${from} gave ${answer.entries.length} of entries ${gap.first} to ${gap.last}`,
    );
    this.#answers.clear();
    this.#movedMs = this.#loop.nowMs;
    if (this.#gap === undefined) this.#finish();
    else this.#ask();
  }

  /** The leader replaces what nobody can give; without one the member stops when all said no. */
  #hasGivenUp(nowMs: number): boolean {
    const { settings, configuration } = this.#loop;
    const isLate = nowMs - this.#movedMs > PATIENCE_ELECTIONS * settings.electionMs;
    if (this.#leader !== NO_MEMBER) {
      const answer = this.#answers.get(this.#leader);
      if (answer === undefined && !isLate) return false;
      this.#abandon(`member ${this.#leader} leads and cannot give them: ${answer?.reason ?? '?'}`);
      return true;
    }
    const others = configuration.voters.filter((id) => id !== settings.member);
    const answers = others.map((id) => this.#answers.get(id));
    if (!isLate || answers.includes(undefined)) return false;
    // Members enough with a whole log will elect a leader.
    if (answers.filter((answer) => answer!.isTrusted).length * 2 > configuration.voters.length) {
      return false;
    }
    this.#stop(others);
    return true;
  }

  #stop(others: readonly MemberId[]): void {
    const { file = '?', offset = 0, reason = '?' } = this.#recovered.logState.damage ?? {};
    const said = others.map((id) => `member ${id}: ${this.#answers.get(id)?.reason}`).join(', ');
    const { first, last } = this.#gap!;
    mark('lost log entries are nowhere');
    this.#loop.fatal(new LockstepError('LOG_LOST', first, last, file, offset, reason, said));
  }

  // ---- the end -------------------------------------------------------------------------------

  /** The log is what it was: one record, the first behind the damage, makes that durable. */
  #finish(): void {
    const { raft } = this.#loop;
    const salvage = this.#salvage!;
    this.#salvage = undefined;
    this.#release(salvage);
    const entries: Entry[] = [];
    for (let index = Math.max(this.#start, raft.commit + 1); index <= salvage.last; index++) {
      entries.push(this.#entries.get(index)!);
    }
    raft.restore(entries);
    this.#entries.clear();
    mark('log repaired');
    this.#say(`entries ${this.#start} to ${salvage.last} are whole again`);
  }

  /** Raft goes on; trusted when nothing but entries was lost, and those are here. */
  #release(whole: Salvage | undefined): void {
    const { installed, trust, log } = this.#recovered;
    if (whole?.isComplete === true) {
      trust.mayVote = true;
      log.repaired();
    }
    if (installed !== undefined) this.#loop.raft.snapshotInstalled(installed);
    this.#loop.wake();
  }

  /** What is behind the damage is given up: the leader's log replaces it. */
  #abandon(reason: string): void {
    this.#say(`${this.missing}: ${reason}; the leader's log replaces what is behind them`);
    this.#salvage = undefined;
    this.#entries.clear();
    mark('log repair left to the leader');
    this.#release(undefined);
  }

  #say(text: string): void {
    this.#loop.options.log?.(`log repair: ${text}`);
  }
}
