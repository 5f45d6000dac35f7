import type { Mutant } from '../mutant.ts';

const LEADER = 'packages/raft/src/leader.ts';

/** Changes of membership (catalogue M). */
export const MEMBERSHIP: readonly Mutant[] = [
  {
    name: 'two-changes',
    title: 'a change is proposed while an earlier one is under way',
    catalogue: 'M-1',
    edits: [
      {
        file: LEADER,
        find: 'if (log.applied < termStart || log.applied < configurationIndex)',
        replace: 'if (log.applied < termStart && log.applied < configurationIndex)',
      },
    ],
  },
  {
    name: 'snapshot-keeps-configuration',
    title: 'the configuration of a snapshot is not taken over',
    catalogue: 'M-8, M-14',
    edits: [
      {
        file: 'packages/raft/src/follower.ts',
        find: 'core.membership.restore(meta.configuration);',
        replace: '',
      },
    ],
  },
  {
    name: 'image-keeps-configuration',
    title: 'the image is written with the configuration that the member started from',
    catalogue: 'M-10, M-13',
    edits: [
      {
        file: 'packages/replica/src/applier.ts',
        find: 'this.#configuration = this.#options.configured(change);',
        replace: 'this.#options.configured(change);',
      },
    ],
  },
  {
    name: 'joint-never-left',
    title: 'nobody proposes to leave a joint configuration',
    catalogue: 'M-2',
    edits: [
      {
        file: 'packages/replica/src/next-configuration.ts',
        find: 'return leaveJoint(configuration);',
        replace: 'return leaveJoint(configuration) && undefined;',
      },
    ],
  },
  {
    name: 'learner-counts',
    title: 'learners count in the quorum that commits',
    catalogue: 'M-6',
    edits: [
      {
        file: 'packages/raft/src/leadership.ts',
        find: 'return quorumIndex(this.#membership.configuration, this.#matchOf);',
        replace: `const { configuration } = this.#membership;
          const voters = [...configuration.voters, ...configuration.learners];
          return quorumIndex({ ...configuration, voters }, this.#matchOf);`,
      },
    ],
  },
];
