import { mark } from '@lockstep/model';
import type { Entry, RaftConfig } from '@lockstep/raft';
import type { StateMachine } from '@lockstep/state-machine';
import type { Fitness } from './fitness.ts';
import { priorityOf } from './leader-preference.ts';
import type { ReplicaOptions, Settings } from './options.ts';
import type { Recovered } from './recovery.ts';

/** Settings of the core (defaults of reference raft.md §1), in ticks of this member. */
export function raftConfigOf(
  options: ReplicaOptions,
  settings: Settings,
  recovered: Recovered,
  state: {
    readonly imageLost: boolean;
    readonly fitness: Pick<Fitness, 'longWithoutLeader'>;
    readonly machine: StateMachine;
  },
  termStart: (last: Entry | undefined, transferred: boolean) => Uint8Array,
): RaftConfig {
  const { tickMs, electionMs, heartbeatMs } = settings;
  /** It may hold the only entries that a majority needs. Where the log holds none there is nothing
   * to give, nor a stamp for cluster time to go on from. */
  const isLastResort = (): boolean => {
    const { log } = recovered;
    if (!state.fitness.longWithoutLeader || log.lastIndex() < log.firstIndex()) return false;
    mark('campaign without an image');
    return true;
  };
  return {
    id: settings.member,
    incarnation: options.incarnation,
    electionTicks: Math.max(2, Math.round(electionMs / tickMs)),
    heartbeatTicks: Math.max(1, Math.round(heartbeatMs / tickMs)),
    appendBytesMax: settings.appendBytesMax,
    appendEntriesMax: settings.appendEntriesMax,
    inflightAppendsMax: settings.inflightAppendsMax,
    inflightBytesMax: settings.inflightBytesMax,
    uncommittedBytesMax: settings.uncommittedBytesMax,
    committedBytesMax: settings.committedBytesMax,
    random: () => options.random.u32(),
    log: recovered.log,
    termStart,
    mayCampaign: () => !recovered.trust.outOfSpace && (!state.imageLost || isLastResort()),
    priorityOf: (id) => priorityOf(state.machine, id),
    applyLagMax: 10_000,
    mayVote: () => recovered.trust.mayVote,
  };
}
