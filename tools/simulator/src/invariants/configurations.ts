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

  /** Those in force while a member went on to apply from one index to another. */
  within(from: Index, to: Index): Configuration[] {
    const since = this.#all.filter(({ index }) => index > from && index <= to);
    return [this.at(from), ...since].map(({ configuration }) => configuration);
  }

  has(member: MemberId): boolean {
    const { voters, votersOutgoing, learners } = this.current;
    return [voters, votersOutgoing, learners].some((ids) => ids.includes(member));
  }

  /** True when these members are a majority of the voters, as they are or as they were. */
  isQuorum(members: ReadonlySet<MemberId>): boolean {
    return [this.current, this.previous].some((each) => isQuorumOf(each, members));
  }
}

/** A majority of the voters: of each half, while the configuration is a joint one. */
export function isQuorumOf(
  { voters, votersOutgoing }: Configuration,
  members: ReadonlySet<MemberId>,
): boolean {
  return [voters, votersOutgoing].every(
    (ids) => ids.length === 0 || ids.filter((id) => members.has(id)).length * 2 > ids.length,
  );
}
