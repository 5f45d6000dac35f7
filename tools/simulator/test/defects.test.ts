import type { EventSink } from '@lockstep/replica';
import { describe, expect, it } from 'vitest';
import { type Defects, runSeed, type Settings } from '../src/index.ts';

interface Mutant {
  readonly defects: Defects;
  readonly adjust?: (settings: Settings) => Settings;
  readonly seeds: number;
  readonly caught: RegExp;
}

/** Invariants that a defect breaks within these seeds. */
function broken({ defects, adjust, seeds }: Mutant): Set<string> {
  const found = new Set<string>();
  for (let seed = 1; seed <= seeds && found.size === 0; seed++) {
    const { violation } = runSeed({ seed, defects, ...(adjust && { adjust }) });
    if (violation !== undefined) found.add(violation.invariant);
  }
  return found;
}

const mutants: Record<string, Mutant> = {
  'a log that acknowledges before it is durable': {
    seeds: 40,
    caught: /DurableLog|HardStateMonotone|NoMemberStops/,
    defects: {
      files: (files) => {
        files.sync = (_file, done) => files.size(_file, (error) => done(error));
        return files;
      },
    },
  },
  'a log that forgets for whom it voted': {
    seeds: 40,
    caught: /HardStateMonotone|ElectionSafety/,
    defects: {
      log: (open) => (identity, bootstrap, handlers, done) =>
        open(identity, bootstrap, handlers, (error, log, state) => {
          if (error !== undefined) return done(error, log, state);
          const initial = log.initialState.bind(log);
          log.initialState = () => {
            const before = initial();
            return { ...before, hardState: { ...before.hardState, vote: 0 } };
          };
          const hardState = { ...state.hardState, vote: 0 };
          done(error, log, { ...state, hardState });
        }),
    },
  },
  'a state machine that applies each command twice': {
    seeds: 5,
    caught: /SameOutcomes|StateHash|OnceAndInOrder|SameEvents|NoMemberStops/,
    defects: {
      machine: (machine, node) => {
        if (node !== 2) return machine;
        const begin = machine.begin.bind(machine);
        machine.begin = (index, term, entry, sink) => {
          const runs = entry.runs.flatMap((run) => (run.first === 0 ? [run] : [run, run]));
          begin(index, term, { ...entry, runs }, sink);
        };
        return machine;
      },
    },
  },
  'cluster time that runs faster than any clock may': {
    seeds: 20,
    caught: /LeaseNeverEarly/,
    defects: {},
    adjust: (settings) => ({ ...settings, clockRates: [1.5, 1.5, 1.5] }),
  },
  'a read that does not ask the leader': {
    seeds: 20,
    caught: /LinearizableRead/,
    defects: {
      replica: (replica) => {
        replica.barrier = (waiter) => waiter.reached({ clusterMs: 0, wallMs: 0 });
        return replica;
      },
    },
  },
  'an event stream that loses an event now and then': {
    seeds: 5,
    caught: /WatchReliable/,
    defects: {
      replica: (replica) => {
        const subscribe = replica.subscribe.bind(replica);
        replica.subscribe = (sink) => {
          let count = 0;
          return subscribe({
            transaction: (transaction) => {
              if (++count % 50 !== 0) sink.transaction(transaction);
            },
            skipped: (from, to) => sink.skipped(from, to),
          });
        };
        return replica;
      },
    },
  },
  'a door whose reads do not ask the leader': {
    seeds: 20,
    caught: /LinearizableRead/,
    defects: {
      door: (replica) => {
        replica.barrier = (waiter) => waiter.reached({ clusterMs: 0, wallMs: 0 });
        return replica;
      },
    },
  },
  'a door that misses an event now and then': {
    seeds: 10,
    caught: /^Watch|Progress/,
    defects: {
      door: (replica) => {
        const subscribe = replica.subscribe.bind(replica);
        replica.subscribe = (sink) => {
          let count = 0;
          return subscribe({
            ...forwarded(sink),
            transaction: (transaction) => {
              if (++count % 20 !== 0) sink.transaction(transaction);
            },
          });
        };
        return replica;
      },
    },
  },
  'a door that is not told of a snapshot install': {
    seeds: 40,
    caught: /Watch|Progress|AnsweredOnce|Session/,
    defects: {
      door: (replica) => {
        const subscribe = replica.subscribe.bind(replica);
        replica.subscribe = (sink) => subscribe({ ...forwarded(sink), skipped: () => {} });
        return replica;
      },
    },
  },
  'a member that leaves out a command now and then': {
    seeds: 5,
    caught: /SameOutcomes|StateHash|SameEvents|ReloadEquality|NoMemberStops/,
    defects: {
      machine: (machine, node) => {
        if (node !== 3) return machine;
        const begin = machine.begin.bind(machine);
        machine.begin = (index, term, entry, sink) => {
          const runs = index % 13 === 0 ? [] : entry.runs;
          begin(index, term, { ...entry, runs }, sink);
        };
        return machine;
      },
    },
  },
};

/** A sink that hands everything on. */
function forwarded(sink: EventSink): EventSink {
  return {
    transaction: (transaction) => sink.transaction(transaction),
    skipped: (from, to) => sink.skipped(from, to),
    gossip: (from, door, payload) => sink.gossip?.(from, door, payload),
    changed: () => sink.changed?.(),
  };
}

describe('the invariants notice', () => {
  for (const [name, mutant] of Object.entries(mutants)) {
    it(name, { timeout: 120_000 }, () => {
      const found = broken(mutant);
      expect(found.size, `not caught within ${mutant.seeds} seeds`).toBe(1);
      expect([...found][0]).toMatch(mutant.caught);
    });
  }
});
