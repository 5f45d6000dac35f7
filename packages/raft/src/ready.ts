import { type Index, invariant, type MemberId, type Term } from '@lockstep/model';
import { entryBytes } from './config.ts';
import type { AppendTask, Entry, HardState, RaftConfig, Ready, Role } from './contract.ts';
import type { Core } from './core.ts';
import { flushLeader } from './leader.ts';

const NOTHING: readonly never[] = [];

/**
 * Turns the changes since the last call into work for the driver, and remembers what was handed
 * out: appends by sequence number, committed entries by index (reference §2.1–2.3).
 */
export class Readiness {
  readonly #core: Core;
  readonly #config: RaftConfig;
  // Last published soft and hard state.
  #leader: MemberId = 0;
  #role: Role = 'follower';
  #softTerm: Term;
  #term: Term;
  #vote: MemberId;
  #commit: Index;
  #sequence = 0;
  #sequenceSynced = 0;
  #sequenceDone = 0;
  /** Newest committed entry handed out. */
  #delivered: Index;
  // Pages handed out and not applied: last index and bytes of each.
  #pages: { last: Index; bytes: number }[] = [];
  #pageBytes = 0;
  /** The next page must first come from disk. */
  #awaitingLog = false;

  constructor(core: Core) {
    this.#core = core;
    this.#config = core.config;
    this.#softTerm = core.term;
    this.#term = core.term;
    this.#vote = core.vote;
    this.#commit = this.#config.log.initialState().hardState.commit;
    this.#delivered = core.log.applied;
  }

  get has(): boolean {
    const core = this.#core;
    const { leadership } = core;
    if (leadership !== undefined && (leadership.appendsDue || leadership.reads.open)) return true;
    return (
      !core.outbox.empty ||
      this.#softChanged ||
      this.#mustSync ||
      this.#commitHintDue ||
      this.#committedDue
    );
  }

  take(): Ready {
    const core = this.#core;
    if (core.leadership !== undefined) flushLeader(core, core.leadership);
    core.tracer?.event('Ready');
    const { outbox } = core;
    const soft = this.#takeSoft();
    const append = this.#takeAppend();
    return {
      soft,
      messages: outbox.takeMessages(),
      append,
      committed: this.#takeCommitted(),
      readStates: outbox.takeReadStates(),
      readsDropped: outbox.takeReadsDropped(),
      snapshotsNeeded: outbox.takeSnapshotsNeeded(),
    };
  }

  get #softChanged(): boolean {
    const { leader, role, term } = this.#core;
    return leader !== this.#leader || role !== this.#role || term !== this.#softTerm;
  }

  #takeSoft(): Ready['soft'] {
    if (!this.#softChanged) return undefined;
    const { leader, role, term } = this.#core;
    this.#leader = leader;
    this.#role = role;
    this.#softTerm = term;
    return { leader, role, term };
  }

  get #mustSync(): boolean {
    const { log, term, vote } = this.#core;
    return log.hasUnhanded || log.hasUnhandedSnapshot || term !== this.#term || vote !== this.#vote;
  }

  /** A hint alone is written only while the log is idle; else the next record takes it along. */
  get #commitHintDue(): boolean {
    return this.#idle && this.#core.log.commit > this.#commit;
  }

  get #idle(): boolean {
    return this.#sequenceDone >= this.#sequenceSynced;
  }

  #takeAppend(): AppendTask | undefined {
    const core = this.#core;
    const { outbox, log } = core;
    const changed = this.#mustSync;
    if (!changed && outbox.hasPromises && this.#idle) outbox.releasePromises();
    // Promises made while older tasks are being written wait behind them, in a task of their own.
    const mustSync = changed || outbox.hasPromises;
    if (!mustSync && !this.#commitHintDue) return undefined;
    const sequence = ++this.#sequence;
    if (mustSync) this.#sequenceSynced = sequence;
    if (core.leadership !== undefined && log.hasUnhanded) this.#promiseToSelf(log.lastIndex);
    const snapshot = log.handSnapshot(sequence);
    const entries = log.hand(sequence);
    const hardState = this.#takeHardState();
    return { sequence, entries, hardState, snapshot, mustSync, after: outbox.takePromises() };
  }

  /** The leader counts itself like any other: when its own disk says so (thesis §10.2.1). */
  #promiseToSelf(index: Index): void {
    const { id, term } = this.#core;
    this.#core.outbox.promise({
      kind: 'append-response',
      from: id,
      to: id,
      term,
      index,
      reject: false,
      hintIndex: 0,
      hintTerm: 0,
    });
  }

  /**
   * The commit index in a task is never ahead of the entries that are durable once the task is,
   * since the task carries all that were not handed out yet (rule 10). It must be as new as these
   * entries: whoever holds a configuration entry has to know after a restart that the one before
   * is committed, or it could be elected by voters of a configuration long replaced (M-3).
   */
  #takeHardState(): HardState | undefined {
    const { term, vote, log } = this.#core;
    const commit = Math.max(this.#commit, log.commit);
    if (term === this.#term && vote === this.#vote && commit === this.#commit) return undefined;
    this.#term = term;
    this.#vote = vote;
    this.#commit = commit;
    return { term, vote, commit };
  }

  appendDone(sequence: number): void {
    invariant(sequence <= this.#sequence, () => `append ${sequence} was never handed out`);
    if (sequence <= this.#sequenceDone) return;
    this.#sequenceDone = sequence;
    this.#core.log.stabilise(sequence);
  }

  /** Apply only what this member's own disk holds (rule 8): state never gets ahead of the log. */
  get #deliverable(): Index {
    const { commit, stableIndex } = this.#core.log;
    return Math.min(commit, stableIndex);
  }

  get #committedDue(): boolean {
    if (this.#awaitingLog || this.#pageBytes >= this.#config.committedBytesMax) return false;
    return this.#delivered < this.#deliverable;
  }

  #takeCommitted(): readonly Entry[] {
    if (!this.#committedDue) return NOTHING;
    const { committedBytesMax } = this.#config;
    const end = this.#deliverable + 1;
    const { log } = this.#core;
    const page = log.slice(this.#delivered + 1, end, committedBytesMax, Number.MAX_SAFE_INTEGER);
    if (page === 'pending') {
      this.#awaitingLog = true;
      return NOTHING;
    }
    invariant(page !== 'compacted', () => `entry ${this.#delivered + 1} is gone, not applied`);
    let bytes = 0;
    for (let i = 0; i < page.length; i++) bytes += entryBytes(page[i]!);
    const last = page[page.length - 1]!.index;
    this.#delivered = last;
    this.#pages.push({ last, bytes });
    this.#pageBytes += bytes;
    return page;
  }

  /** Frees the pages that are applied, so that the next may be handed out. */
  applied(index: Index): void {
    let count = 0;
    while (count < this.#pages.length && this.#pages[count]!.last <= index) {
      this.#pageBytes -= this.#pages[count]!.bytes;
      count++;
    }
    if (count > 0) this.#pages.splice(0, count);
    if (index > this.#delivered) this.#delivered = index;
  }

  logAvailable(): void {
    this.#awaitingLog = false;
  }
}
