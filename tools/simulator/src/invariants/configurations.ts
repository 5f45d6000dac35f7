import { BinaryReader, type MemberId } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import { readConfiguration } from '@lockstep/replica';
import type { History } from './history.ts';

/** The configurations of the canonical history, as they came into force. */
export class Configurations {
  current: Configuration;
  /** What was in force before: a member that has not applied the change still counts by it. */
  previous: Configuration;
  changes = 0;
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
    history.listeners.push({
      entry: (_index, _term, { configuration }) => {
        if (configuration === undefined) return;
        this.previous = this.current;
        this.current = readConfiguration(new BinaryReader(configuration));
        this.changes += 1;
        this.changed();
      },
    });
  }

  has(member: MemberId): boolean {
    const { voters, learners } = this.current;
    return voters.includes(member) || learners.includes(member);
  }

  /** True when these members are a majority of the voters, as they are or as they were. */
  isQuorum(members: ReadonlySet<MemberId>): boolean {
    return [this.current, this.previous].some(({ voters }) => {
      return voters.filter((id) => members.has(id)).length * 2 > voters.length;
    });
  }
}
