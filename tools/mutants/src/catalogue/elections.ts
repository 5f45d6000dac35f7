import type { Mutant } from '../mutant.ts';

const ELECTION = 'packages/raft/src/election.ts';
const CORE = 'packages/raft/src/core.ts';
const READY = 'packages/raft/src/ready.ts';

/** Elections, terms, pre-vote and check-quorum (catalogue E). */
export const ELECTIONS: readonly Mutant[] = [
  {
    name: 'vote-before-durable',
    title: 'a vote leaves before it is on disk',
    catalogue: 'E-3',
    edits: [
      {
        file: ELECTION,
        find: 'reject: boolean): void { core.outbox.promise({',
        replace: 'reject: boolean): void { core.outbox.send({',
      },
    ],
  },
  {
    name: 'vote-not-recorded',
    title: 'a new vote in a known term is not written to the log',
    catalogue: 'E-3',
    edits: [
      {
        file: READY,
        find: 'term !== this.#term || vote !== this.#vote;',
        replace: 'term !== this.#term;',
      },
      {
        file: READY,
        find: 'if (term === this.#term && vote === this.#vote && commit === this.#commit)',
        replace: 'if (term === this.#term && commit === this.#commit)',
      },
    ],
  },
  {
    name: 'log-not-compared',
    title: 'votes are given without comparing the logs',
    catalogue: 'E-2',
    edits: [
      {
        file: CORE,
        find: 'return this.log.isUpToDate(request.lastIndex, request.lastTerm);',
        replace: 'return request.term > 0;',
      },
    ],
  },
  {
    name: 'own-vote-at-once',
    title: 'a candidate asks for votes before its own term, vote and log are on disk',
    catalogue: 'rule 7 of §2.2',
    edits: [
      {
        file: ELECTION,
        find: `if (to === core.id) continue;
    core.outbox.promise({`,
        replace: `if (to === core.id) continue;
    core.outbox.send({`,
      },
      {
        file: ELECTION,
        find: `core.outbox.promise({
    kind: 'vote-response',
    from: core.id,
    to: core.id,`,
        replace: `core.outbox.send({
    kind: 'vote-response',
    from: core.id,
    to: core.id,`,
      },
    ],
  },
  {
    name: 'any-campaign-counts',
    title: 'votes for an earlier process life or round are counted',
    catalogue: 'rule 7 of §2.2',
    edits: [
      {
        file: ELECTION,
        find: 'if (candidacy === undefined || response.campaign !== candidacy.campaign) return;',
        replace: 'if (candidacy === undefined) return;',
      },
      {
        file: ELECTION,
        find: 'if (response.incarnation !== core.config.incarnation)',
        replace: 'if (response.incarnation < 0)',
      },
      {
        file: ELECTION,
        find: 'if (response.preVote !== candidacy.preVote) return;',
        replace: '',
      },
    ],
  },
  {
    name: 'quorum-of-half',
    title: 'an election is won with half of the votes',
    catalogue: 'E-4',
    edits: [
      {
        file: 'packages/raft/src/quorum.ts',
        find: 'const needed = Math.floor(voters.length / 2) + 1;',
        replace: 'const needed = Math.ceil(voters.length / 2);',
      },
    ],
  },
  {
    name: 'pre-vote-adopts-term',
    title: 'a request for a pre-vote raises the term of whoever receives it',
    catalogue: 'E-5',
    edits: [
      {
        file: ELECTION,
        find: 'if (!request.preVote) becomeFollower(core, request.term, NO_MEMBER);',
        replace: 'becomeFollower(core, request.term, NO_MEMBER);',
      },
    ],
  },
  {
    name: 'vote-cleared-on-step-down',
    title: 'stepping down forgets the vote although the term is the same',
    catalogue: 'E-1',
    edits: [
      {
        file: CORE,
        find: 'if (term === this.#term) return;',
        replace: 'if (term === this.#term) { this.#vote = NO_MEMBER; return; }',
      },
    ],
  },
  {
    name: 'no-check-quorum',
    title: 'a leader that reaches no majority goes on leading',
    catalogue: 'E-10',
    edits: [
      {
        file: 'packages/raft/src/leader.ts',
        find: 'if (!leadership.takeQuorumActive()) {',
        replace: 'if (!leadership.takeQuorumActive() && core.term < 0) {',
      },
    ],
  },
];
