import type { Mutant } from '../mutant.ts';

const FOLLOWER = 'packages/raft/src/follower.ts';
const LOG = 'packages/raft/src/log.ts';
const READY = 'packages/raft/src/ready.ts';
const REPLICATION = 'packages/raft/src/replication.ts';

/** Log, commit rule, flow control and asynchronous storage (catalogue B). */
export const LOG_MUTANTS: readonly Mutant[] = [
  {
    name: 'commit-by-count',
    title: 'an entry of an earlier term is committed by counting its replicas',
    catalogue: 'B-1',
    edits: [
      {
        file: REPLICATION,
        find: 'if (index < leadership.termStart || index <= core.log.commit) return;',
        replace: 'if (index <= core.log.commit) return;',
      },
    ],
  },
  {
    name: 'heartbeat-commit',
    title: 'a heartbeat carries the plain commit index',
    catalogue: 'B-3',
    edits: [
      {
        file: 'packages/raft/src/leader.ts',
        find: 'const commit = Math.min(peer.match, core.log.commit);',
        replace: 'const { commit } = core.log;',
      },
    ],
  },
  {
    name: 'conflict-kept',
    title: 'an entry of another term at the same index is taken for the same entry',
    catalogue: 'Raft §5.3',
    edits: [
      {
        file: LOG,
        find: 'this.term(entries[known]!.index) === entries[known]!.term) {',
        replace: 'this.term(entries[known]!.index) !== undefined) {',
      },
    ],
  },
  {
    name: 'acknowledged-before-durable',
    title: 'an append is acknowledged before it is on disk',
    catalogue: 'D-6, rule 2 of §2.2',
    edits: [
      {
        file: FOLLOWER,
        find:
          "core.outbox.promise({ kind: 'append-response', from: core.id, to, " +
          'term: core.term, index,',
        replace:
          "core.outbox.send({ kind: 'append-response', from: core.id, to, term: core.term, index,",
      },
    ],
  },
  {
    name: 'promise-past-writes',
    title: 'an acknowledgement does not wait for earlier appends that are still being written',
    catalogue: 'rule 2 of §2.2',
    edits: [
      {
        file: READY,
        find: 'if (!changed && outbox.hasPromises && this.#idle) outbox.releasePromises();',
        replace: 'if (!changed && outbox.hasPromises) outbox.releasePromises();',
      },
    ],
  },
  {
    name: 'leader-counts-itself',
    title: 'a leader counts itself before its own disk holds the entry',
    catalogue: 'thesis §10.2.1',
    edits: [
      {
        file: READY,
        find: 'this.#promiseToSelf(log.lastIndex);',
        replace: 'core.leadership.of(core.id)?.acknowledge(log.lastIndex);',
      },
    ],
  },
  {
    name: 'applied-before-durable',
    title: 'a member applies what is committed but not on its own disk',
    catalogue: 'D-3, D-4',
    edits: [
      {
        file: READY,
        find: 'return Math.min(commit, stableIndex);',
        replace: 'return Math.max(commit, Math.min(commit, stableIndex));',
      },
    ],
  },
  {
    name: 'write-over-in-flight',
    title: 'the end of any write makes all entries handed out since stable',
    catalogue: 'B-11, B-12',
    edits: [
      {
        file: 'packages/raft/src/tail.ts',
        find: 'const stable = this.#lasts[runs - 1]!;',
        replace: 'const stable = this.#handed;',
      },
    ],
  },
  {
    name: 'commit-goes-back',
    title: 'an old message takes the commit index back',
    catalogue: 'B-9',
    edits: [
      {
        file: LOG,
        find: 'if (index <= this.#commit) return false;',
        replace: 'if (index === this.#commit) return false;',
      },
    ],
  },
  {
    name: 'page-cut-short',
    title: 'committed entries beyond the end of a page are never applied',
    catalogue: 'B-9',
    edits: [
      { file: READY, find: 'this.#delivered = last;', replace: 'this.#delivered = end - 1;' },
    ],
  },
  {
    name: 'probe-not-resumed',
    title: 'a follower whose append was lost is never asked again',
    catalogue: 'B-8',
    edits: [
      {
        file: REPLICATION,
        find: "if (peer.state === 'probe') { peer.probeSent = false;",
        replace: "if (peer.state === 'probe') { peer.probeSent = peer.match >= 0;",
      },
    ],
  },
  {
    name: 'previous-term-not-compared',
    title: 'an append is accepted whatever the term of the entry before it',
    catalogue: 'B-5, Raft §5.3',
    edits: [
      {
        file: 'packages/raft/src/follower.ts',
        find: 'if (prevIndex > log.lastIndex || log.term(prevIndex) !== prevTerm) {',
        replace: 'if (prevIndex > log.lastIndex || prevTerm < 0) {',
      },
    ],
  },
];
