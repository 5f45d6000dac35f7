import type { Mutant } from '../mutant.ts';

const READER = 'packages/replica/src/reader.ts';

/** Linearizable reads (catalogue R). */
export const READS: readonly Mutant[] = [
  {
    name: 'read-before-first-commit',
    title: 'a new leader gives read indexes before the first commit of its term',
    catalogue: 'R-1',
    edits: [
      {
        file: 'packages/raft/src/leader.ts',
        find: 'if (core.log.commit < leadership.termStart) {',
        replace: 'if (core.log.commit < 0) {',
      },
    ],
  },
  {
    name: 'read-without-quorum',
    title: 'a leader answers reads without asking a quorum whether it still leads',
    catalogue: 'R-5',
    edits: [
      {
        file: 'packages/raft/src/leadership.ts',
        find: 'return Math.min(round, this.reads.round);',
        replace: 'return Math.max(round, this.reads.round);',
      },
      {
        file: 'packages/raft/src/leader.ts',
        find: 'if (core.membership.voters.size === 1) answerReads(core, leadership);',
        replace: 'answerReads(core, leadership);',
      },
    ],
  },
  {
    name: 'read-before-applied',
    title: 'a read runs before its member has applied up to the read index',
    catalogue: 'R-7',
    edits: [
      {
        file: READER,
        find: 'const ready = this.#reached.filter((reached) => reached.index <= index);',
        replace: 'const ready = this.#reached;',
      },
      {
        file: READER,
        find: 'this.#reached = this.#reached.filter((reached) => reached.index > index);',
        replace: 'this.#reached = [];',
      },
    ],
  },
  {
    name: 'read-dropped',
    title: 'a read that its leader did not answer is forgotten',
    catalogue: 'R-8',
    edits: [
      {
        file: READER,
        find: 'if (barriers !== undefined) this.#dropped = this.#dropped.concat(barriers);',
        replace: 'if (barriers !== undefined) this.#dropped = this.#dropped.slice();',
      },
    ],
  },
];
