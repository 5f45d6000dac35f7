import { type Index, invariant, type MemberId } from '@lockstep/model';
import type { RaftConfig } from './contract.ts';
import type { Membership } from './membership.ts';
import { Progress } from './progress.ts';
import { quorumIndex, quorumVote } from './quorum.ts';
import { LeaderReads } from './read-index.ts';

/** Everything a member knows only while it leads; made at election, dropped at step-down. */
export class Leadership {
  readonly id: MemberId;
  /** Index of the first entry of this term: the only ones whose replicas count (Raft §5.4.2). */
  readonly termStart: Index;
  readonly reads = new LeaderReads();
  /** All members but this one, in ascending order. */
  peers: readonly Progress[] = [];
  /** Newest configuration entry proposed in this term. */
  configurationIndex: Index = 0;
  /** Something changed that may let an append be sent; looked at once per turn. */
  appendsDue = true;
  transferTarget: MemberId = 0;
  transferTicks = 0;
  /** This member is no voter: it takes no proposals and hands over to one that is. */
  leaving = false;
  leavingTicks = 0;
  heartbeatTicks = 0;
  quorumTicks = 0;
  #progress = new Map<MemberId, Progress>();
  readonly #config: RaftConfig;
  readonly #membership: Membership;
  // Sizes of the entries (commit, last] of this term: what was added is what is taken off (B-10).
  #sizes: number[] = [];
  #uncommittedFirst: Index;
  #uncommittedBytes = 0;
  // Made once, so that the hot path allocates no closures.
  readonly #matchOf = (id: MemberId): Index => this.#progress.get(id)?.match ?? 0;
  readonly #roundOf = (id: MemberId): number =>
    id === this.id ? this.reads.round : (this.#progress.get(id)?.roundConfirmed ?? 0);
  readonly #activeOf = (id: MemberId): boolean =>
    id === this.id || (this.#progress.get(id)?.active ?? false);

  constructor(config: RaftConfig, membership: Membership, termStart: Index) {
    this.id = config.id;
    this.#config = config;
    this.#membership = membership;
    this.termStart = termStart;
    this.#uncommittedFirst = termStart;
    this.follow(termStart);
    // Whoever just voted is alive: the first check of the quorum must not find silence.
    for (const peer of this.peers) peer.active = true;
  }

  /** Tracks the members of the configuration in force; those that stay keep their progress. */
  follow(next: Index): void {
    const progress = new Map<MemberId, Progress>();
    for (const id of this.#membership.members) {
      progress.set(id, this.#progress.get(id) ?? this.#begin(id, next));
    }
    this.#progress = progress;
    this.peers = [...progress.values()].filter((peer) => peer.id !== this.id);
  }

  #begin(id: MemberId, next: Index): Progress {
    const { inflightAppendsMax, inflightBytesMax } = this.#config;
    const begun = new Progress(id, next, inflightAppendsMax, inflightBytesMax);
    begun.active = true;
    return begun;
  }

  of(id: MemberId): Progress | undefined {
    return this.#progress.get(id);
  }

  /** Greatest index that a quorum has on disk; this member counts only once its own disk has it. */
  durableIndex(): Index {
    return quorumIndex(this.#membership.configuration, this.#matchOf);
  }

  confirmedRound(): number {
    const round = quorumIndex(this.#membership.configuration, this.#roundOf);
    return Math.min(round, this.reads.round);
  }

  /** Whether a quorum of voters was heard since the last call (thesis §6.2). */
  takeQuorumActive(): boolean {
    const active = quorumVote(this.#membership.configuration, this.#activeOf) === 'won';
    for (const peer of this.peers) peer.beginPeriod();
    return active;
  }

  get uncommittedBytes(): number {
    return this.#uncommittedBytes;
  }

  /** A single proposal over the cap passes when nothing else is uncommitted. */
  hasRoom(bytes: number): boolean {
    if (this.#uncommittedBytes === 0) return true;
    return this.#uncommittedBytes + bytes <= this.#config.uncommittedBytesMax;
  }

  appended(bytes: number): void {
    this.#sizes.push(bytes);
    this.#uncommittedBytes += bytes;
  }

  committed(commit: Index): void {
    const count = commit + 1 - this.#uncommittedFirst;
    if (count <= 0) return;
    invariant(count <= this.#sizes.length, () => `commit ${commit} beyond what was appended`);
    for (let i = 0; i < count; i++) this.#uncommittedBytes -= this.#sizes[i]!;
    if (count === this.#sizes.length) this.#sizes = [];
    else this.#sizes.splice(0, count);
    this.#uncommittedFirst = commit + 1;
  }
}
