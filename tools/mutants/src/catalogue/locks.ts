import type { Mutant } from '../mutant.ts';

const RECORDS = 'packages/state-machine/src/record-writes.ts';
const WAITER = 'packages/state-machine/src/lock/lock-waiter.ts';
const FENCE = 'packages/adapter-redis/src/fence.ts';

/** Locks, waiters, tokens and fences (design §5, §9). */
export const LOCKS: readonly Mutant[] = [
  {
    name: 'token-from-clock',
    title: 'the fencing token is the time of the grant',
    catalogue: 'design §5',
    edits: [
      {
        file: RECORDS,
        find: 'new StoredRecord(value, revision, revision, 1, revision, lease, deadline);',
        replace: 'new StoredRecord(value, revision, revision, 1, tx.time, lease, deadline);',
      },
    ],
  },
  {
    name: 'two-waiters-woken',
    title: 'a lock is handed to the next waiter while it is held',
    catalogue: 'design §9',
    edits: [
      {
        file: WAITER,
        find: 'if (tx.get(keyspace, name) !== undefined) return undefined;',
        replace: '',
      },
    ],
  },
  {
    name: 'waiter-of-dead-incarnation',
    title: 'a lock is handed to a waiter whose process is gone',
    catalogue: 'design §4, §9',
    edits: [
      {
        file: 'packages/state-machine/src/system/incarnation.ts',
        find:
          'for (const waiter of queues.ofIncarnations(member, below)) ' +
          'tx.removeWaiter(waiter.id);',
        replace: '',
      },
    ],
  },
  {
    name: 'waiter-not-served',
    title: 'a lock that is freed by expiry wakes nobody',
    catalogue: 'design §9',
    edits: [
      {
        file: 'packages/state-machine/src/machine.ts',
        find: 'else tx.expireWaiter(subject); tx.waiterWrites.serve();',
        replace: 'else tx.expireWaiter(subject); tx.waiterWrites.forget();',
      },
    ],
  },
  {
    name: 'fence-accepts-stale',
    title: 'a resource accepts a token below the highest it has seen',
    catalogue: 'design §9',
    killedBy: ['GuardedWrite'],
    edits: [{ file: FENCE, find: 'if (token < highest) {', replace: 'if (token < 0) {' }],
  },
  {
    name: 'guard-not-compared',
    title: 'GUARD is content when somebody holds the lock',
    catalogue: 'design §9',
    edits: [
      {
        file: 'packages/adapter-redis/src/commands/guard.ts',
        find: 'if (current === token) return;',
        replace: 'if (current !== undefined) return;',
      },
    ],
  },
];
