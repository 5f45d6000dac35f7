import { invariant, type MemberId, NO_MEMBER, type Term } from '@lockstep/model';
import { validateConfig } from './config.ts';
import type { RaftConfig, Role, VoteRequest } from './contract.ts';
import type { Leadership } from './leadership.ts';
import { RaftLog } from './log.ts';
import { Membership } from './membership.ts';
import { Outbox } from './outbox.ts';
import { ForwardedReads } from './read-index.ts';
import { Tracer } from './trace.ts';

/** `conditional`: granted, but counts only together with everybody's (design §11). */
export type Vote = 'granted' | 'conditional' | 'refused';

/** Votes received in one round of an election. */
export interface Candidacy {
  /** Names this round in requests; answers to another round are dropped. */
  readonly campaign: number;
  readonly preVote: boolean;
  /** The former leader asked for this election: its leases need no grace. */
  readonly transfer: boolean;
  readonly votes: Map<MemberId, Vote>;
}

/**
 * The state of one member (Raft figure 2), without behaviour of any role. The files of the roles
 * change it; nothing else does.
 */
export class Core {
  readonly config: RaftConfig;
  readonly id: MemberId;
  readonly log: RaftLog;
  readonly membership: Membership;
  readonly outbox = new Outbox();
  readonly forwardedReads = new ForwardedReads();
  /** Undefined unless somebody wants to know each step. */
  readonly tracer: Tracer | undefined;
  role: Role = 'follower';
  candidacy: Candidacy | undefined;
  leadership: Leadership | undefined;
  /** Number of the last election round of this process life. */
  campaigns = 0;
  electionElapsed = 0;
  electionTimeout = 0;
  /** Ticks over which the present timeout was drawn: a member of low priority waits as many more
   * for each one that is preferred to it. */
  timeoutSpan = 0;
  /** The link to the leader is gone: this member no longer protects it from elections. */
  leaderSuspect = false;
  /** Newest read round of the leader that this member has confirmed in this term. */
  roundAnswered = 0;
  /** Newest index whose acknowledgement was given or waits for the disk, in this term. */
  promisedIndex = 0;
  #term: Term;
  #vote: MemberId;
  #leader: MemberId = NO_MEMBER;
  /** The leader seen in this term, also after it was given up: there can be no second. */
  #leaderOfTerm: MemberId = NO_MEMBER;

  constructor(config: RaftConfig) {
    validateConfig(config);
    this.config = config;
    this.id = config.id;
    const { hardState, configuration, applied } = config.log.initialState();
    this.#term = hardState.term;
    this.#vote = hardState.vote;
    this.log = new RaftLog(config.log, hardState.commit, applied);
    this.membership = new Membership(configuration);
    // Only an installed snapshot can be of a later term than the hard state; whoever crashed then
    // had promised nothing in that term.
    this.enterTerm(Math.max(hardState.term, this.log.lastTerm));
    this.resetElectionTimer();
    if (config.trace !== undefined) this.tracer = new Tracer(this, config.trace);
    this.outbox.tracer = this.tracer;
    this.tracer?.event('InitState');
  }

  get term(): Term {
    return this.#term;
  }

  get vote(): MemberId {
    return this.#vote;
  }

  get leader(): MemberId {
    return this.#leader;
  }

  /** Enters a later term; only this clears the vote (E-1). */
  enterTerm(term: Term): void {
    if (term === this.#term) return;
    invariant(term > this.#term, () => `term goes back from ${this.#term} to ${term}`);
    this.#term = term;
    this.#vote = NO_MEMBER;
    this.#leaderOfTerm = NO_MEMBER;
    this.roundAnswered = 0;
    this.promisedIndex = 0;
  }

  /** Votes once per term (Raft §5.2). */
  voteFor(id: MemberId): void {
    invariant(
      this.#vote === NO_MEMBER || this.#vote === id,
      () => `second vote in term ${this.#term}: ${this.#vote}, then ${id}`,
    );
    this.#vote = id;
  }

  /** Reads forwarded to a former leader will not be answered any more. */
  setLeader(id: MemberId): void {
    if (id === this.#leader) return;
    if (id !== NO_MEMBER) {
      invariant(
        this.#leaderOfTerm === NO_MEMBER || this.#leaderOfTerm === id,
        () => `two leaders in term ${this.#term}: ${this.#leaderOfTerm} and ${id}`,
      );
      this.#leaderOfTerm = id;
    }
    this.#leader = id;
    for (const context of this.forwardedReads.takeAll()) this.outbox.dropRead(context);
  }

  /** Randomised per attempt, so that split votes are rare and end soon (Raft §5.2). */
  resetElectionTimer(): void {
    const { electionTicks, random } = this.config;
    this.electionElapsed = 0;
    this.electionTimeout = electionTicks + (random() % electionTicks);
    this.timeoutSpan = electionTicks;
    this.leaderSuspect = false;
  }

  /** The leader spoke. */
  heardLeader(): void {
    if (this.leaderSuspect) this.resetElectionTimer();
    else this.electionElapsed = 0;
  }

  /**
   * Whether this member believes in a live leader and so leaves requests for votes unanswered
   * (thesis §4.2.3). A leader is its own proof, since it steps down without a quorum.
   */
  get sticky(): boolean {
    if (this.role === 'leader') return true;
    if (this.#leader === NO_MEMBER || this.leaderSuspect) return false;
    return this.electionElapsed < this.config.electionTicks;
  }

  get mayVote(): boolean {
    return this.config.mayVote();
  }

  isUpToDate(request: VoteRequest): boolean {
    return this.log.isUpToDate(request.lastIndex, request.lastTerm);
  }
}
