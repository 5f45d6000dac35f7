import { type MemberId, mark, NO_MEMBER } from '@lockstep/model';
import type { VoteRequest, VoteResponse } from './contract.ts';
import type { Core, Vote } from './core.ts';
import { becomeFollower } from './follower.ts';
import { becomeLeader } from './leader.ts';
import { quorumVote, unanimousVote, type VoteResult } from './quorum.ts';

export type CampaignKind = 'pre-vote' | 'last-resort' | 'transfer';

/** Further timeouts for which a member lets others try first, at most; also the last resort. */
const PATIENCE_MAX = 3;

/**
 * The election timer ran out. A voter campaigns, as soon as those preferred to it had their turn.
 * Another member does so only when nobody else has led for long: it may hold the newest log because
 * it was a voter a moment ago, while the others do not know yet that they may elect without it
 * (M-9). A quorum of voters has to elect it all the same, and it hands over to one of them.
 */
export function electionTimeout(core: Core): void {
  const { electionElapsed, electionTimeout: timeout, config } = core;
  if (core.membership.isVoter(core.id)) {
    if (electionElapsed >= timeout + patience(core) * core.timeoutSpan) campaign(core, 'pre-vote');
  } else if (electionElapsed >= timeout + PATIENCE_MAX * config.electionTicks) {
    campaign(core, 'last-resort');
  }
}

/** For how many windows of timeouts this member lets others go first. */
function patience(core: Core): number {
  if (lags(core)) return PATIENCE_MAX;
  const { priorityOf } = core.config;
  if (priorityOf === undefined) return 0;
  const own = priorityOf(core.id);
  let preferred = 0;
  for (const id of core.membership.voters) if (priorityOf(id) > own) preferred++;
  return Math.min(preferred, PATIENCE_MAX);
}

/** So much is committed and not applied that it could serve nobody for a while. */
function lags(core: Core): boolean {
  const { applyLagMax } = core.config;
  return applyLagMax !== undefined && core.log.commit - core.log.applied > applyLagMax;
}

/**
 * Starts a round of an election, if this member may lead: it is a voter (but for the last
 * resort), and it knows the newest committed configuration (reference §3.3). A member whose log is
 * damaged does so only by a pre-vote of all voters, never at the leader's request or as the last
 * resort.
 */
export function campaign(core: Core, kind: CampaignKind): void {
  if (core.role === 'leader') return;
  if (core.role === 'candidate') mark('election without result');
  core.resetElectionTimer();
  if (kind !== 'last-resort' && !core.membership.isVoter(core.id)) return;
  if (!mayLead(core) || (kind !== 'pre-vote' && !core.mayVote)) return;
  if (kind === 'transfer' && lags(core)) return;
  if (kind === 'last-resort') mark('election of last resort');
  if (kind === 'transfer') becomeCandidate(core, true);
  else becomePreCandidate(core);
  const { candidacy } = core;
  if (candidacy === undefined || (candidacy.preVote && decide(core))) return;
  requestVotes(core);
}

function mayLead(core: Core): boolean {
  const { log, config } = core;
  if (log.snapshotPending || !config.mayCampaign()) return false;
  if (log.lastEntry() === 'pending') return false;
  return log.hasUnappliedConfiguration() === false;
}

/**
 * Pre-vote (thesis §9.6): would a majority vote for this member? Neither term nor vote changes,
 * so that a member that was cut off disturbs nobody. Gives up the leader and former votes (E-7).
 */
function becomePreCandidate(core: Core): void {
  core.role = 'pre-candidate';
  core.setLeader(NO_MEMBER);
  const votes = new Map([[core.id, core.mayVote ? 'granted' : 'conditional'] as const]);
  core.candidacy = { campaign: ++core.campaigns, preVote: true, transfer: false, votes };
  core.tracer?.event('BecomePreCandidate');
}

/** Raft §5.2. Its own vote counts when it is durable, like everybody else's. */
function becomeCandidate(core: Core, transfer: boolean): void {
  core.enterTerm(core.term + 1);
  core.role = 'candidate';
  core.setLeader(NO_MEMBER);
  core.voteFor(core.id);
  const number = ++core.campaigns;
  core.candidacy = { campaign: number, preVote: false, transfer, votes: new Map() };
  core.tracer?.event('BecomeCandidate');
  core.outbox.promise({
    kind: 'vote-response',
    from: core.id,
    to: core.id,
    term: core.term,
    preVote: false,
    reject: false,
    conditional: !core.mayVote,
    incarnation: core.config.incarnation,
    campaign: number,
  });
}

/**
 * Requests announce the last entry, so they wait until it, term and vote are durable: a crash
 * must not let a grant for more than the disk holds count later (reference §2.2, rule 7).
 */
function requestVotes(core: Core): void {
  const { candidacy, log } = core;
  if (candidacy === undefined) return;
  for (const to of core.membership.voters) {
    if (to === core.id) continue;
    core.outbox.promise({
      kind: 'vote',
      from: core.id,
      to,
      term: candidacy.preVote ? core.term + 1 : core.term,
      preVote: candidacy.preVote,
      transfer: candidacy.transfer,
      lastIndex: log.lastIndex,
      lastTerm: log.lastTerm,
      incarnation: core.config.incarnation,
      campaign: candidacy.campaign,
    });
  }
}

/** Would be, or is, voted for: same rule in every role (Raft §5.2, §5.4.1). */
export function handleVoteRequest(core: Core, request: VoteRequest): void {
  if (request.term > core.term) {
    // While a leader is alive, others cannot force an election (thesis §4.2.3).
    if (core.sticky && !request.transfer) {
      mark('vote refused for the sake of a live leader');
      return;
    }
    if (!request.preVote) becomeFollower(core, request.term, NO_MEMBER);
  }
  if (request.preVote) {
    const granted = request.term > core.term && core.isUpToDate(request);
    // A grant is for the term asked for; a refusal carries ours, which the asker adopts (E-9).
    respond(core, request, granted ? request.term : core.term, !granted);
    return;
  }
  const granted = request.term === core.term && canVoteFor(core, request);
  if (granted) {
    if (core.vote === request.from) mark('vote given a second time to the same');
    if (core.role !== 'follower') becomeFollower(core, core.term, NO_MEMBER);
    core.voteFor(request.from);
    core.electionElapsed = 0;
  }
  respond(core, request, core.term, !granted);
}

/** The log is compared each time; an earlier vote proves nothing about this request (E-2). */
function canVoteFor(core: Core, request: VoteRequest): boolean {
  if (core.vote !== NO_MEMBER && core.vote !== request.from) return false;
  if (core.vote === NO_MEMBER && core.leader !== NO_MEMBER) return false;
  return core.isUpToDate(request);
}

function respond(core: Core, request: VoteRequest, term: number, reject: boolean): void {
  core.outbox.promise({
    kind: 'vote-response',
    from: core.id,
    to: request.from,
    term,
    preVote: request.preVote,
    reject,
    conditional: !reject && !core.mayVote,
    incarnation: request.incarnation,
    campaign: request.campaign,
  });
}

/** Counts a vote of this round and process life; any other is dropped. */
export function handleVoteResponse(core: Core, response: VoteResponse): void {
  const { candidacy } = core;
  if (candidacy === undefined || response.campaign !== candidacy.campaign) return;
  if (response.incarnation !== core.config.incarnation) {
    mark('vote for a former life dropped');
    return;
  }
  if (response.preVote !== candidacy.preVote) return;
  if (!candidacy.votes.has(response.from)) candidacy.votes.set(response.from, voteOf(response));
  decide(core);
}

function voteOf(response: VoteResponse): Vote {
  if (response.reject) return 'refused';
  if (response.conditional) mark('conditional vote received');
  return response.conditional ? 'conditional' : 'granted';
}

/**
 * A majority of votes that can be trusted, or everybody's. A committed entry that still exists is
 * held by some voter; when all grant, the candidate's log is no worse than that one. The same
 * holds for a forgotten vote: whoever it was given to remembers the term and refuses. A candidate
 * whose own log is damaged needs everybody: it may have led the very term it asks for.
 */
function tally(core: Core, votes: ReadonlyMap<MemberId, Vote>): VoteResult {
  const { configuration } = core.membership;
  const all = unanimousVote(configuration, (id) => {
    const vote = votes.get(id);
    return vote === undefined ? undefined : vote !== 'refused';
  });
  if (all === 'won' || votes.get(core.id) === 'conditional') return all;
  const trusted = quorumVote(configuration, (id) => {
    const vote = votes.get(id);
    return vote === undefined ? undefined : vote === 'granted';
  });
  return trusted === 'lost' ? all : trusted;
}

/** True when the round is over. */
function decide(core: Core): boolean {
  const { candidacy } = core;
  if (candidacy === undefined) return true;
  const result = tally(core, candidacy.votes);
  if (result === 'pending') return false;
  if (result === 'lost') {
    mark('election lost');
    becomeFollower(core, core.term, NO_MEMBER);
  } else if (candidacy.preVote) {
    becomeCandidate(core, false);
    requestVotes(core);
  } else {
    becomeLeader(core);
  }
  return true;
}
