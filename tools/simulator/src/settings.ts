import type { Tuning } from '@lockstep/replica';
import { CLOCK_RATE_MAX, CLOCK_RATE_MIN } from './clock.ts';
import type { Weather } from './network.ts';
import type { World } from './world.ts';

/** Everything that a seed fixes before the run begins, faults aside. */
export interface Settings {
  readonly members: number;
  /** Virtual time with faults; the liveness phase follows. */
  readonly faultsMs: number;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  readonly requestTimeoutMs: number;
  readonly tuning: Partial<Tuning>;
  readonly segmentBytes: number;
  readonly logCacheBytes: number;
  readonly diskMeanUs: number;
  readonly weather: Weather;
  readonly clockRates: readonly number[];
  readonly clientsPerNode: number;
  /** Mean pause of a client between two requests. */
  readonly thinkMs: number;
}

/** Draws settings, small on purpose: segments roll, logs compact, snapshots are needed. */
export function drawSettings(world: World): Settings {
  const stream = world.stream('settings');
  const members = stream.pick([1, 2, 3, 3, 3, 3, 3, 3, 5, 5]);
  const skewed = stream.chance(0.5);
  const rate = () =>
    skewed ? CLOCK_RATE_MIN + stream.fraction() * (CLOCK_RATE_MAX - CLOCK_RATE_MIN) : 1;
  const small = stream.chance(0.7);
  return {
    members,
    faultsMs: stream.between(5_000, 18_000),
    heartbeatMs: 100,
    electionMs: stream.pick([500, 1000]),
    requestTimeoutMs: stream.pick([2000, 4000]),
    tuning: {
      logEntriesMax: small ? stream.between(20, 150) : 100_000,
      logEntriesTrailing: small ? stream.pick([0, 1, 5, 20]) : 10_000,
      imageFlushMs: stream.pick([20, 100]),
      imageSyncMs: stream.pick([100, 300, 1000]),
      imageFlushBytes: stream.pick([2_000, 4 * 1024 * 1024]),
      imageBacklogBytesMax: stream.pick([20_000, 64 * 1024 * 1024]),
      snapshotChunkBytes: stream.pick([300, 2_000, 20_000]),
      snapshotChunksInFlight: stream.pick([1, 4]),
      renewalIntervalMs: stream.pick([0, 50]),
      forwardBytesMax: stream.pick([500, 16 * 1024 * 1024]),
      hashCheckEntries: stream.pick([5, 50, 100_000]),
    },
    segmentBytes: stream.pick([4_096, 16_384, 131_072]),
    logCacheBytes: stream.pick([1_000, 20_000, 16 * 1024 * 1024]),
    diskMeanUs: stream.pick([50, 500, 3_000]),
    weather: {
      meanUs: stream.pick([100, 500, 5_000]),
      tailShare: stream.pick([0, 0.01, 0.1]),
      tailUs: stream.pick([20_000, 200_000]),
    },
    clockRates: Array.from({ length: members }, rate),
    clientsPerNode: stream.between(1, members > 3 ? 2 : 4),
    thinkMs: stream.pick([40, 100, 300]),
  };
}
