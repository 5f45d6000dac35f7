import { EntryKind, type LeaseHandle, LeaseKind, type LogEntry } from '@lockstep/model';
import type { StateMachine } from '@lockstep/state-machine';
import type { World } from '../world.ts';

/** Kinds whose holders are given time to find the new leader. */
const LIFTED: readonly LeaseKind[] = [LeaseKind.Etcd, LeaseKind.ZooKeeper];
const KINDS = [...LIFTED, LeaseKind.RedisConnection, LeaseKind.Member];

/**
 * LeaseNotReset: the first entry of a term moves a deadline to two election timeouts from then at
 * most, and only after an election without orderly transfer; else leases would live for ever
 * where leaders change often (design §6).
 */
export class LeaseLifts {
  readonly #world: World;
  readonly #graceMs: number;

  constructor(world: World, electionMs: number) {
    this.#world = world;
    this.#graceMs = 2 * electionMs;
  }

  /** Runs `begin`, which applies the head of the entry, and compares the deadlines. */
  watch(who: string, machine: StateMachine, entry: LogEntry, begin: () => void): void {
    if (entry.kind !== EntryKind.Elected && entry.kind !== EntryKind.Transferred) {
      begin();
      return;
    }
    const before = deadlinesOf(machine);
    begin();
    const lifts = entry.kind === EntryKind.Elected;
    for (const [lease, { deadline, kind, ttlMs }] of deadlinesOf(machine)) {
      const was = before.get(lease)?.deadline ?? 0;
      const grace = entry.time + Math.min(ttlMs, this.#graceMs);
      const lifted = lifts && was !== 0 && LIFTED.includes(kind);
      const wanted = lifted ? Math.max(was, grace) : was;
      if (deadline === wanted) continue;
      const what = `lease ${lease} of ${ttlMs} ms from ${was} to ${deadline} at time ${entry.time}`;
      this.#world.fail('LeaseNotReset', `${who}: an election moves ${what}, not to ${wanted}`);
    }
  }
}

interface Deadline {
  readonly deadline: number;
  readonly kind: LeaseKind;
  readonly ttlMs: number;
}

function deadlinesOf(machine: StateMachine): Map<LeaseHandle, Deadline> {
  const found = new Map<LeaseHandle, Deadline>();
  for (const kind of KINDS) {
    for (const { handle, deadline, ttlMs } of machine.leases(kind)) {
      found.set(handle, { deadline, kind, ttlMs });
    }
  }
  return found;
}
