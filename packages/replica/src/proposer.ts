import {
  EntryKind,
  encodeEntry,
  type Incarnation,
  LIMITS,
  type LinkInfo,
  type LogEntry,
  type MemberId,
  mark,
  type RenewalGroup,
  type Run,
  type Sequence,
  type Term,
} from '@lockstep/model';
import type { ProposeResult, Raft } from '@lockstep/raft';
import type { Forwarder } from './forwarder.ts';

/** What the leader knows of the commands of another member. */
interface Origin {
  readonly incarnation: Incarnation;
  readonly link: number;
  /** Number that follows those taken over this link. */
  expected: Sequence;
}

export interface EntryTimes {
  readonly clusterMs: number;
  readonly wallMs: number;
}

/**
 * The leader's side of commands and renewals: gathers those of all members and makes entries of
 * them, within the limits of an entry, renewals first (design §4, §6). An origin's runs are taken
 * from its newest link only, without holes, so that they stand in the log in the order given.
 */
export class Proposer {
  readonly #member: MemberId;
  readonly #forwarder: Forwarder;
  readonly #origins = new Map<MemberId, Origin>();
  #runs: Run[] = [];
  #renewals: RenewalGroup[] = [];
  #commands: Uint8Array[] = [];
  #tick = false;
  #term: Term = 0;

  constructor(member: MemberId, forwarder: Forwarder) {
    this.#member = member;
    this.#forwarder = forwarder;
  }

  /** This member leads in `term`: what it gathered in a former one does not count. */
  enterTerm(term: Term): void {
    if (term === this.#term) return;
    this.#term = term;
    this.clear();
  }

  /** Nothing gathered is of use any more: origins resend when they see the new leader. */
  clear(): void {
    this.#origins.clear();
    this.#runs = [];
    this.#renewals = [];
    this.#commands = [];
    this.#tick = false;
  }

  /**
   * Takes a run that came over `link`. Returns the number wanted instead when numbers are missing
   * before it, 0 when it was taken or is of no use any more. `applied`: last number of the origin's
   * incarnation that is applied here; others than this link may have brought it.
   */
  takeRun(link: LinkInfo, run: Run, applied: Sequence): Sequence {
    const { origin, incarnation, first, commands } = run;
    if (origin !== link.member || first === 0) return 0;
    let known = this.#origins.get(origin);
    if (known !== undefined && (link.link < known.link || incarnation < known.incarnation)) {
      mark('run over a former link dropped');
      return 0;
    }
    if (known?.link !== link.link || known.incarnation !== incarnation) {
      // The origin begins each link behind its last applied number; apply voids what is not new.
      known = { incarnation, link: link.link, expected: first };
      this.#origins.set(origin, known);
    }
    known.expected = Math.max(known.expected, applied + 1);
    if (first > known.expected) {
      mark('run with numbers missing before it');
      return known.expected;
    }
    known.expected = Math.max(known.expected, first + commands.length);
    this.#runs.push(run);
    return 0;
  }

  takeRenewals(group: RenewalGroup): void {
    this.#renewals.push(group);
  }

  /** A command that only a leader makes (hash check). */
  takeOwn(command: Uint8Array): void {
    this.#commands.push(command);
  }

  /** An entry is wanted even if nothing is gathered: it lets due expiry happen. */
  takeTick(): void {
    this.#tick = true;
  }

  /**
   * Proposes everything gathered. `held`: back-pressure lets only renewals and leader's commands
   * through. Returns how many entries were made.
   */
  propose(raft: Raft, times: EntryTimes, held: boolean, nowMs: number): number {
    for (let count = 0; ; count++) {
      const entry = this.#build(times, held);
      if (entry === undefined) return count;
      if (this.proposeEntry(raft, entry) !== 'ok') return count;
      this.#consume(entry, nowMs);
    }
  }

  proposeEntry(raft: Raft, entry: LogEntry): ProposeResult {
    return raft.propose([encodeEntry(entry)]);
  }

  #build(times: EntryTimes, held: boolean): LogEntry | undefined {
    const renewals = this.#renewals;
    const runs: Run[] = [];
    if (this.#commands.length > 0) {
      runs.push({ origin: this.#member, incarnation: 0, first: 0, commands: this.#commands });
    }
    if (!held) this.#addRuns(runs);
    if (renewals.length === 0 && runs.length === 0 && !this.#tick) return undefined;
    const { clusterMs: time, wallMs: wall } = times;
    return { kind: EntryKind.Commands, time, wall, renewals, runs };
  }

  /** Forwarded runs first, each whole, then own commands as far as the entry has room. */
  #addRuns(runs: Run[]): void {
    let bytesLeft: number = LIMITS.entryBytesMax;
    let commandsLeft: number = LIMITS.entryCommandsMax;
    for (const run of this.#runs) {
      for (const command of run.commands) bytesLeft -= command.length + 8;
      commandsLeft -= run.commands.length;
      if ((bytesLeft < 0 || commandsLeft < 0) && runs.length > 0) return;
      runs.push(run);
    }
    if (bytesLeft <= 0 || commandsLeft <= 0) return;
    const own = this.#forwarder.peek(this.#member, bytesLeft, commandsLeft);
    if (own !== undefined) runs.push(own);
  }

  #consume(entry: LogEntry, nowMs: number): void {
    this.#renewals = [];
    this.#commands = [];
    this.#tick = false;
    let forwarded = 0;
    for (const run of entry.runs) {
      if (run.first === 0) continue;
      if (run === this.#runs[forwarded]) forwarded++;
      else this.#forwarder.handed(run, nowMs);
    }
    if (forwarded > 0) this.#runs = this.#runs.slice(forwarded);
  }
}
