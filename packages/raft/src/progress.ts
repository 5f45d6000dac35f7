import { type Index, invariant, type MemberId } from '@lockstep/model';
import { Inflights } from './inflights.ts';

/**
 * What the leader knows of one member's log (Raft §5.3, nextIndex and matchIndex).
 *
 *            rejected or unreachable                    log compacted
 *   replicate ──────────────────────▶ probe ──────────────────────────▶ snapshot
 *       ▲      an append is accepted    │ ▲     stream ended               │
 *       └───────────────────────────────┘ └────────────────────────────────┤
 *       ▲                    acknowledged behind our first index           │
 *       └──────────────────────────────────────────────────────────────────┘
 *
 * Invariant: 0 ≤ match < next; `match` never decreases within a term (B-13, B-14).
 */
export class Progress {
  readonly id: MemberId;
  match: Index = 0;
  next: Index;
  state: 'probe' | 'replicate' | 'snapshot' = 'probe';
  /** Probe state: one append is out, nothing more until an answer or a heartbeat response. */
  probeSent = false;
  /** Heard from since the last check of the quorum, and between the two before it. */
  active = false;
  #wasActive = false;
  /** The entries needed must first come from disk. */
  awaitingLog = false;
  /** Commit index this member has been told. */
  commitSent: Index = 0;
  /** Newest read round sent to, and confirmed by, this member. */
  roundSent = 0;
  roundConfirmed = 0;
  /** No acknowledgement moved `match` between the last two heartbeats: appends may be lost. */
  stalled = false;
  /** Send an append even when it is empty: its answer tells whether earlier ones were lost. */
  checkDue = false;
  #matchAtHeartbeat: Index = -1;
  readonly inflights: Inflights;

  constructor(id: MemberId, next: Index, inflightCountMax: number, inflightBytesMax: number) {
    this.id = id;
    this.next = next;
    this.inflights = new Inflights(inflightCountMax, inflightBytesMax);
  }

  get recentlyActive(): boolean {
    return this.active || this.#wasActive;
  }

  /** The quorum is checked: a new period begins. */
  beginPeriod(): void {
    this.#wasActive = this.active;
    this.active = false;
  }

  get paused(): boolean {
    if (this.awaitingLog) return true;
    if (this.state === 'replicate') return this.inflights.full;
    return this.state === 'snapshot' || this.probeSent;
  }

  becomeProbe(next: Index): void {
    this.#enter('probe');
    this.next = Math.max(next, this.match + 1);
  }

  becomeReplicate(): void {
    this.#enter('replicate');
    this.next = this.match + 1;
  }

  becomeSnapshot(): void {
    this.#enter('snapshot');
  }

  #enter(state: Progress['state']): void {
    this.state = state;
    this.probeSent = false;
    this.awaitingLog = false;
    this.checkDue = false;
    this.inflights.reset();
  }

  /** An append of `count` entries, `bytes` long, left for this member. */
  sent(count: number, bytes: number): void {
    this.checkDue = false;
    if (this.state === 'probe') {
      this.probeSent = true;
    } else if (count > 0) {
      this.next += count;
      this.inflights.add(this.next - 1, bytes);
    }
    this.#check();
  }

  /** The member acknowledged everything up to `index`. False when that is nothing new. */
  acknowledge(index: Index): boolean {
    if (index <= this.match) return false;
    this.match = index;
    if (this.next <= index) this.next = index + 1;
    this.stalled = false;
    this.#check();
    return true;
  }

  /**
   * The member refused the append behind `rejected`; its log could match at `hint`. False when
   * the rejection is stale, that is, not caused by the append now in question (B-13, B-14).
   */
  reject(rejected: Index, hint: Index): boolean {
    if (this.state === 'snapshot') return false;
    if (this.state === 'replicate') {
      if (rejected <= this.match) return false;
      this.becomeProbe(this.match + 1);
      return true;
    }
    if (this.next - 1 !== rejected) return false;
    const next = Math.max(Math.min(rejected, hint + 1), this.match + 1);
    // It lost what it had acknowledged: asking again at once would go round for ever.
    if (next === this.next) return false;
    this.next = next;
    this.probeSent = false;
    this.#check();
    return true;
  }

  /** Called with each periodic heartbeat. */
  heartbeat(): void {
    this.stalled = this.match === this.#matchAtHeartbeat;
    this.#matchAtHeartbeat = this.match;
  }

  #check(): void {
    invariant(this.next > this.match, () => `next ${this.next} ≤ match ${this.match}`);
  }
}
