import type { Mutant } from '../mutant.ts';

/**
 * Defects that the simulator ought to find and has not been seen to find in a minute or two. They
 * are run by `--only NAME` and stand in no table; whoever makes the simulator find one moves it to
 * its subject. One that nothing can notice is deleted.
 */
export const CANDIDATES: readonly Mutant[] = [
  {
    name: 'stale-term-silence',
    title: 'a leader of an earlier term is not told of the present one',
    catalogue: 'E-8, E-14',
    edits: [
      {
        file: 'packages/raft/src/step.ts',
        find: "if (message.kind === 'append' || message.kind === 'heartbeat') {",
        replace: "if (message.kind === 'append' && message.term < 0) {",
      },
    ],
  },
  {
    name: 'old-append-truncates',
    title: 'an append that repeats known entries cuts off those behind them',
    catalogue: 'Raft §5.3, B-14',
    edits: [
      {
        file: 'packages/raft/src/log.ts',
        find:
          'if (known < entries.length) this.append(known === 0 ? entries : ' +
          'entries.slice(known));',
        replace: 'this.append(entries.filter((entry) => entry.index > this.#commit));',
      },
    ],
  },
  {
    name: 'joint-commit-by-one-half',
    title: 'in a joint configuration the incoming half alone commits',
    catalogue: 'thesis §4.3',
    edits: [
      {
        file: 'packages/raft/src/quorum.ts',
        find: 'return Math.min(incoming, majorityIndex(sets.votersOutgoing, acknowledged));',
        replace: 'return incoming;',
      },
    ],
  },
  {
    name: 'joint-elected-by-one-half',
    title: 'in a joint configuration the incoming half alone elects',
    catalogue: 'thesis §4.3',
    edits: [
      {
        file: 'packages/raft/src/quorum.ts',
        find: 'const outgoing = majorityVote(sets.votersOutgoing, voteOf);',
        replace: 'const outgoing = majorityVote([], voteOf);',
      },
    ],
  },
  {
    name: 'header-not-synced',
    title: 'a new segment is used before its header is on disk',
    catalogue: 'D-7, D-11',
    edits: [
      {
        file: 'packages/storage/src/wal/segment-writer.ts',
        find: 'runSteps([write, (next) => fileSystem.sync(file, next)], (error) => {',
        replace: 'runSteps([write], (error) => {',
      },
    ],
  },
  {
    name: 'former-connection-writes',
    title: 'a connection goes on writing for a session that has moved to another',
    catalogue: 'design §4',
    edits: [
      {
        file: 'packages/state-machine/src/machine.ts',
        find: "return lease.epoch === epoch ? undefined : 'session-moved';",
        replace: "return lease.epoch >= epoch ? undefined : 'session-moved';",
      },
    ],
  },
  {
    name: 'damaged-member-votes',
    title: 'a member with a damaged log votes like any other',
    catalogue: 'D-5, D-10',
    edits: [
      {
        file: 'packages/raft/src/core.ts',
        find: 'return this.config.mayVote();',
        replace: 'return this.config.mayVote() || this.id > 0;',
      },
    ],
  },
];
