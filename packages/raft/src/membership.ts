import { invariant, type MemberId } from '@lockstep/model';
import { describeConfiguration, isWellFormed, kindOfChange } from './configuration-change.ts';
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
    this.restore(configuration);
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /** Every member that gets the log, in ascending order. */
  get members(): readonly MemberId[] {
    return this.#members;
  }

  /** The next configuration by an applied entry; its quorums must overlap with the present ones. */
  changeTo(next: Configuration): void {
    const from = this.#configuration;
    invariant(
      kindOfChange(from, next) !== undefined,
      () => `no step from ${describeConfiguration(from)} to ${describeConfiguration(next)}`,
    );
    this.#take(next);
  }

  /** Whatever a snapshot says: it stands for any number of changes. */
  restore(configuration: Configuration): void {
    invariant(
      isWellFormed(configuration),
      () => `malformed: ${describeConfiguration(configuration)}`,
    );
    this.#take(configuration);
  }

  /** Both halves of a joint configuration vote (thesis §4.3). */
  #take(configuration: Configuration): void {
    const { voters, votersOutgoing, learners } = configuration;
    this.#configuration = configuration;
    this.#voters = new Set([...voters, ...votersOutgoing]);
    this.#members = [...this.#voters, ...learners].sort((a, b) => a - b);
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
