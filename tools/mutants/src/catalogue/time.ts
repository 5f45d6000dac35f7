import type { Mutant } from '../mutant.ts';

const RENEWAL = 'packages/state-machine/src/lease/renewal.ts';

/** Cluster time and leases (design §6, catalogue ). */
export const TIME: readonly Mutant[] = [
  {
    name: 'leases-reset-at-election',
    title: 'every change of leader gives leases their full time again',
    catalogue: 'A-5',
    edits: [
      {
        file: RENEWAL,
        find: 'store.meta.time + Math.min(lease.ttlMs, grace);',
        replace: 'store.meta.time + Math.max(lease.ttlMs, grace);',
      },
    ],
  },
  {
    name: 'no-grace-at-election',
    title: 'leases get no time to find the new leader after an election',
    catalogue: 'design §6',
    edits: [
      {
        file: 'packages/state-machine/src/machine.ts',
        find: 'if (entry.kind === EntryKind.Elected) liftAfterElection(this.store);',
        replace: '',
      },
    ],
  },
  {
    name: 'expires-early',
    title: 'deadlines are looked at 200 ms ahead',
    catalogue: 'design §6',
    edits: [
      {
        file: 'packages/state-machine/src/machine.ts',
        find: 'const subject = deadlines.due(meta.time)?.subject;',
        replace: 'const subject = deadlines.due(meta.time + 200)?.subject;',
      },
    ],
  },
  {
    name: 'renewed-from-memory',
    title: 'a keep-alive is answered before it is in the log',
    catalogue: 'A-4',
    edits: [
      {
        file: 'packages/replica/src/renewals.ts',
        find: `this.#sent = true;
    this.#sentMs = nowMs;
    return this.#group;`,
        replace: `const group = this.#group;
    const asked = this.#inFlight;
    this.#group = undefined;
    this.#inFlight = [];
    for (const { waiter } of asked) waiter.renewed(true);
    return group;`,
      },
    ],
  },
  {
    name: 'time-from-own-clock',
    title: 'a leader stamps entries with its own clock',
    catalogue: 'design §6',
    edits: [
      {
        file: 'packages/replica/src/loop.ts',
        find: 'return { clusterMs: this.clusterClock.now, wallMs: this.#wallMs(this.nowMs) };',
        replace: `const clusterMs = Math.max(this.machine.time, Math.floor(this.nowMs));
          return { clusterMs, wallMs: this.#wallMs(this.nowMs) };`,
      },
    ],
  },
  {
    name: 'time-runs-fast',
    title: 'cluster time counts each turn twice',
    catalogue: 'R-3',
    edits: [
      {
        file: 'packages/replica/src/cluster-clock.ts',
        find: 'this.#nowMs += Math.min(Math.max(0, elapsedMs), this.#stepMsMax);',
        replace: 'this.#nowMs += 2 * Math.min(Math.max(0, elapsedMs), this.#stepMsMax);',
      },
    ],
  },
  {
    name: 'renewed-though-ended',
    title: 'a keep-alive of a lease that has ended is answered with success',
    catalogue: 'A-4',
    edits: [
      { file: RENEWAL, find: 'alive.push(lease !== undefined);', replace: 'alive.push(true);' },
    ],
  },
  {
    name: 'time-from-remembered-maximum',
    title: 'the clock of a former leader runs on, and cluster time with it when it leads again',
    catalogue: 'design §6',
    edits: [
      {
        file: 'packages/replica/src/loop.ts',
        find: 'this.clusterClock.advance(nowMs, this.quorumLive);',
        replace: 'this.clusterClock.advance(nowMs, nowMs > 0);',
      },
      {
        file: 'packages/replica/src/leadership.ts',
        find: 'options.clock.begin(time, options.monotonicMs());',
        replace:
          'time = Math.max(time, options.clock.now); ' +
          'options.clock.begin(time, options.monotonicMs());',
      },
      {
        file: 'packages/replica/src/leadership.ts',
        find: 'const time = last === undefined',
        replace: 'let time = last === undefined',
      },
    ],
  },
];
