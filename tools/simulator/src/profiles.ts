import type { RunOptions } from './run.ts';
import type { Settings } from './settings.ts';

/** What `--profile` measures: the simulator's own speed on two kinds of load. */
export const PROFILES = {
  /** Members alone: ticks, heartbeats and the renewal of their leases. */
  idle: (settings: Settings): Settings => ({
    ...plain(settings),
    faultsMs: 3_600_000,
    clientsPerNode: 0,
    doorClients: 0,
  }),
  /** As many commands as the clients can put through. */
  busy: (settings: Settings): Settings => ({
    ...plain(settings),
    faultsMs: 5_000,
    clientsPerNode: 8,
    doorClients: 1,
    pipeline: 4,
    thinkMs: 1,
  }),
} as const;
export type Profile = keyof typeof PROFILES;

/** Options of a run without faults. */
export function profileOptions(profile: Profile, seed: number): RunOptions {
  return { seed, faults: [], adjust: PROFILES[profile] };
}

/** Three members with production's own sizes on a fair network. */
function plain(settings: Settings): Settings {
  return {
    ...settings,
    members: 3,
    heartbeatMs: 100,
    electionMs: 1000,
    tuning: {},
    segmentBytes: 1024 * 1024,
    logCacheBytes: 16 * 1024 * 1024,
    diskMeanUs: 50,
    weather: {
      meanUs: 100,
      tailShare: 0,
      tailUs: 0,
      lossShare: 0,
      ghostShare: 0,
      bytesPerMs: 0,
      damageShare: 0,
    },
    clockRates: [1, 1, 1],
    timerGranularityMs: 0,
    damage: 'within',
  };
}
