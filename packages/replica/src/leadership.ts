import { EntryKind, encodeEntry, entryStamps, type MemberId, mark } from '@lockstep/model';
import type { Entry, Raft } from '@lockstep/raft';
import { encodeRaiseFeatureLevel, type StateMachine } from '@lockstep/state-machine';
import type { ClusterClock } from './cluster-clock.ts';
import type { Contact } from './contact.ts';
import { dueFeatureLevel } from './feature-level.ts';
import { dueMemberRenewals } from './member-lease.ts';
import type { Proposer } from './proposer.ts';

export interface TermStartOptions {
  readonly clock: ClusterClock;
  readonly machine: () => StateMachine;
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
  readonly member: MemberId;
  /** Commands of the very first entry of a cluster. */
  readonly formation: readonly Uint8Array[];
}

/**
 * First entry of a term (design §6): cluster time goes on from the stamp of the last entry of this
 * log as it now stands, of the image when the log holds none; never from a remembered maximum.
 * The first entry of all seeds the cluster options: whoever was elected decides (design §10).
 */
export function termStartEntry(
  last: Entry | undefined,
  transferred: boolean,
  options: TermStartOptions,
): Uint8Array {
  const time = last === undefined ? options.machine().time : entryStamps(last.data).time;
  options.clock.begin(time, options.monotonicMs());
  const kind = transferred ? EntryKind.Transferred : EntryKind.Elected;
  const isFirst = last === undefined && options.machine().appliedIndex === 0;
  const commands = isFirst ? options.formation : [];
  const own = { origin: options.member, incarnation: 0, first: 0, commands };
  const runs = commands.length === 0 ? [] : [own];
  return encodeEntry({ kind, time, wall: options.wallMs(), renewals: [], runs });
}

/** True when only an entry of the leader's own makes due expiry happen (design §6), or lets
 * compaction and the freeing of a cleared keyspace go on. */
export function tickDue(raft: Raft, machine: StateMachine, clusterMs: number): boolean {
  if (raft.role !== 'leader' || raft.lastIndex !== machine.appliedIndex) return false;
  if (machine.expiryPending || machine.backgroundPending) return true;
  return machine.nextDeadline !== 0 && clusterMs >= machine.nextDeadline;
}

/** Renewals of member leases and the feature level: what a leader adds of its own accord. */
export class LeaderDuties {
  #renewedUpTo = 0;

  /** Once per tick while leading. */
  tick(
    raft: Raft,
    machine: StateMachine,
    proposer: Proposer,
    contact: Contact,
    incarnation: number,
    clusterMs: number,
    nowMs: number,
  ): void {
    // One at a time: wait until the last one has been applied.
    if (machine.appliedIndex >= this.#renewedUpTo) {
      const id = raft.status().id;
      const group = dueMemberRenewals(machine, contact, id, incarnation, clusterMs, nowMs);
      if (group !== undefined) {
        proposer.takeRenewals(group);
        this.#renewedUpTo = raft.lastIndex + 1;
      }
      const level = dueFeatureLevel(machine);
      if (level !== undefined) {
        mark('feature level raised');
        proposer.takeOwn(encodeRaiseFeatureLevel(level));
        this.#renewedUpTo = raft.lastIndex + 1;
      }
    }
  }

  /** A new term: what the last one proposed may be lost. */
  begin(): void {
    this.#renewedUpTo = 0;
  }
}
