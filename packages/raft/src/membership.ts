import { invariant, type MemberId } from '@lockstep/model';
import type { Configuration } from './contract.ts';

/**
 * The configuration in force and the questions asked of it. It is a pure function of the applied
 * index: it changes only when the driver applies an entry or installs a snapshot (reference §3.3).
 */
export class Membership {
  #configuration: Configuration;
  #voters = new Set<MemberId>();
  #members: readonly MemberId[] = [];

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
    this.replace(configuration);
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Every member that gets the log, in ascending order. */
  get members(): readonly MemberId[] {
    return this.#members;
  }

  /** Takes a new configuration; both halves of a joint one vote (thesis §4.3). */
  replace(configuration: Configuration): void {
    const { voters, votersOutgoing, learners, learnersNext } = configuration;
    const voting = new Set<MemberId>([...voters, ...votersOutgoing]);
    for (const id of learners) {
      invariant(!voting.has(id), `member ${id} is both voter and learner`);
    }
    for (const id of learnersNext) {
      invariant(votersOutgoing.includes(id), `next learner ${id} is no outgoing voter`);
    }
    this.#configuration = configuration;
    this.#voters = voting;
    this.#members = [...voting, ...learners].sort((a, b) => a - b);
  }

  /** Voter in either half: it may campaign, votes, and counts in quorums. */
  isVoter(id: MemberId): boolean {
    return this.#voters.has(id);
  }

  isMember(id: MemberId): boolean {
    return this.#members.includes(id);
  }

  get voters(): ReadonlySet<MemberId> {
    return this.#voters;
  }
}
