import type { Entry, RaftConfig } from '@lockstep/raft';
import type { ReplicaOptions, Settings } from './options.ts';
import type { Recovered } from './recovery.ts';

const MIB = 1024 * 1024;

/** Settings of the core (defaults of reference raft.md §1), in ticks of this member. */
export function raftConfigOf(
  options: ReplicaOptions,
  settings: Settings,
  recovered: Recovered,
  imageLost: () => boolean,
  termStart: (last: Entry | undefined, transferred: boolean) => Uint8Array,
): RaftConfig {
  const { tickMs, electionMs, heartbeatMs } = settings;
  return {
    id: settings.member,
    incarnation: options.incarnation,
    electionTicks: Math.max(2, Math.round(electionMs / tickMs)),
    heartbeatTicks: Math.max(1, Math.round(heartbeatMs / tickMs)),
    appendBytesMax: 1 * MIB,
    appendEntriesMax: 1024,
    inflightAppendsMax: 256,
    inflightBytesMax: 16 * MIB,
    uncommittedBytesMax: 64 * MIB,
    committedBytesMax: 4 * MIB,
    random: () => options.random.u32(),
    log: recovered.log,
    termStart,
    mayCampaign: () => !recovered.trust.outOfSpace && !imageLost(),
    mayVote: () => recovered.trust.mayVote,
  };
}
