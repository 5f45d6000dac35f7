import { BinaryReader, type Index, type MemberId } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import { readConfiguration } from '@lockstep/replica';
import type { History } from './history.ts';

/** The configurations of the canonical history, as they came into force. */
export class Configurations {
  current: Configuration;
  /** What was in force before: a member that has not applied the change still counts by it. */
  previous: Configuration;
  changes = 0;
  readonly #all: { readonly index: Index; readonly configuration: Configuration }[] = [];
  /** Called after each change. */
  changed: () => void = () => {};

  constructor(history: History, founders: readonly MemberId[]) {
    this.current = {
      voters: founders,
      votersOutgoing: [],
      learners: [],
      learnersNext: [],
      autoLeave: false,
    };
    this.previous = this.current;
    this.#all.push({ index: 0, configuration: this.current });
    history.listeners.push({
      entry: (index, _term, { configuration }) => {
        if (configuration === undefined) return;
        this.previous = this.current;
        this.current = readConfiguration(new BinaryReader(configuration));
        this.#all.push({ index, configuration: this.current });
        this.changes += 1;
        this.changed();
      },
    });
  }

  /** The configuration in force once this index is applied, and the index that set it. */
  at(applied: Index): { readonly index: Index; readonly configuration: Configuration } {
    return this.#all.findLast(({ index }) => index <= applied)!;
  }

  has(member: MemberId): boolean {
    const { voters, votersOutgoing, learners } = this.current;
    return [voters, votersOutgoing, learners].some((ids) => ids.includes(member));
  }

  /** True when these members are a majority of the voters, as they are or as they were. */
  isQuorum(members: ReadonlySet<MemberId>): boolean {
    const isMajority = (voters: readonly MemberId[]): boolean =>
      voters.length === 0 || voters.filter((id) => members.has(id)).length * 2 > voters.length;
    return [this.current, this.previous].some(
      ({ voters, votersOutgoing }) => isMajority(voters) && isMajority(votersOutgoing),
    );
  }
}
