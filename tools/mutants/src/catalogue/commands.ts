import type { Mutant } from '../mutant.ts';

const DUPLICATES = 'packages/state-machine/src/duplicate-table.ts';
const FORWARDER = 'packages/replica/src/forwarder.ts';

/** Commands on their way through the cluster (design §4, catalogue A-1). */
export const COMMANDS: readonly Mutant[] = [
  {
    name: 'duplicate-applies',
    title: 'a command that was resent applies again',
    catalogue: 'A-1',
    edits: [
      {
        file: DUPLICATES,
        find: 'const skip = Math.min(row.lastSequence + 1 - first, count);',
        replace: 'const skip = 0;',
      },
    ],
  },
  {
    name: 'gap-applies',
    title: 'a run that leaves out numbers of its origin applies',
    catalogue: 'design §4',
    edits: [
      {
        file: DUPLICATES,
        find: 'if (first > row.lastSequence + 1) {',
        replace: 'if (first < 0) {',
      },
      {
        file: DUPLICATES,
        find: 'Math.min(row.lastSequence + 1 - first, count);',
        replace: 'Math.max(0, Math.min(row.lastSequence + 1 - first, count));',
      },
      {
        file: 'packages/replica/src/proposer.ts',
        find: 'if (first > known.expected) {',
        replace: 'if (first < 0) {',
      },
    ],
  },
  {
    name: 'dead-incarnation-applies',
    title: 'commands of an incarnation whose lease has expired still apply',
    catalogue: 'design §4',
    edits: [
      {
        file: DUPLICATES,
        find: 'if (incarnation < row.incarnation || !row.alive) {',
        replace: 'if (incarnation < row.incarnation) {',
      },
    ],
  },
  {
    name: 'replied-before-commit',
    title: 'a command is answered when it is handed to the leader',
    catalogue: 'D-2, design §4',
    edits: [
      {
        file: FORWARDER,
        find: 'this.#bytesHanded += pending.command.length;',
        replace: `this.#bytesHanded += pending.command.length;
          if (pending.deadlineMs !== Number.POSITIVE_INFINITY) {
            pending.waiter?.applied({ kind: 'done', result: undefined, revision: 0 });
            pending.waiter = undefined;
          }`,
      },
    ],
  },
  {
    name: 'unknown-told-as-failed',
    title: 'a command that a leader may hold is reported as certainly failed',
    catalogue: 'A-1, design §4',
    edits: [
      {
        file: FORWARDER,
        find: "new LockstepError(handed ? 'UNKNOWN_OUTCOME' : 'NO_LEADER')",
        replace: "new LockstepError(handed ? 'NO_LEADER' : 'NO_LEADER')",
      },
    ],
  },
  {
    name: 'failed-command-sent',
    title: 'a command whose client was told that it failed is handed to a leader later',
    catalogue: 'design §4',
    edits: [
      {
        file: FORWARDER,
        find: 'pending.empty(command);',
        replace: 'command.waiter = undefined;',
      },
    ],
  },
  {
    name: 'resent-from-wrong-number',
    title: 'after a change of leader commands are resent from where the last one stopped',
    catalogue: 'A-2, design §4',
    edits: [
      {
        file: FORWARDER,
        find: 'this.#next = this.pending.first; this.#bytesHanded = 0;',
        replace: 'this.#next = Math.max(this.#next, this.pending.first); this.#bytesHanded = 0;',
      },
    ],
  },
  {
    name: 'applies-where-wanted',
    title: 'a command takes effect only on the member whose client waits',
    catalogue: 'A-11',
    edits: [
      {
        file: 'packages/state-machine/src/machine.ts',
        find: 'if (procedure.readOnly && !head.wanted) return UNWANTED;',
        replace: 'if (!head.wanted && run.first !== 1) return UNWANTED;',
      },
    ],
  },
];
