import type { Tuning } from '@lockstep/replica';
import { CLOCK_RATE_MAX, CLOCK_RATE_MIN } from './clock.ts';
import type { Weather } from './network.ts';
import type { Stream } from './seed.ts';
import type { World } from './world.ts';

const MIB = 1024 * 1024;

/** How far damage to disks may go: see `Atlas`. */
export type Damage = 'within' | 'beyond';

/** Everything that a seed fixes before the run begins, faults aside. Plain data:
 * it goes to a replay file. */
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
  /** Timers go off at whole multiples of this; 0: exactly. */
  readonly timerGranularityMs: number;
  readonly damage: Damage;
  readonly clientsPerNode: number;
  /** Clients of each kind that come through the doors. */
  readonly doorClients: number;
  /** Clients that run nothing but scripts, each with a listener at the first member. */
  readonly scriptClients: number;
  /** Most requests that a client of a door sends at once. */
  readonly pipeline: number;
  /** Mean pause of a client between two requests. */
  readonly thinkMs: number;
}

/** Draws settings, small on purpose: segments roll, logs compact, snapshots are needed. */
export function drawSettings(world: World): Settings {
  const stream = world.stream('settings');
  const members = stream.pick([1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5]);
  const skewed = stream.chance(0.5);
  const rate = () =>
    skewed ? CLOCK_RATE_MIN + stream.fraction() * (CLOCK_RATE_MAX - CLOCK_RATE_MIN) : 1;
  const tuning = drawTuning(stream);
  // With one small append under way at a time a cluster carries only a few clients.
  const narrow = tuning.inflightBytesMax! < MIB || tuning.inflightAppendsMax === 1;
  return {
    members,
    faultsMs: stream.between(5_000, 18_000),
    heartbeatMs: 100,
    electionMs: stream.pick([500, 1000]),
    requestTimeoutMs: stream.pick([2000, 4000]),
    tuning,
    segmentBytes: stream.pick([4_096, 16_384, 131_072]),
    logCacheBytes: stream.pick([1_000, 20_000, 16 * 1024 * 1024]),
    diskMeanUs: stream.pick([50, 500, 3_000]),
    weather: {
      meanUs: stream.pick([100, 500, 5_000]),
      tailShare: stream.pick([0, 0.01, 0.1]),
      tailUs: stream.pick([20_000, 200_000]),
      lossShare: stream.pick([0, 0, 0, 0.002, 0.05]),
      ghostShare: stream.pick([0, 0, 0, 0.002, 0.05]),
      bytesPerMs: stream.pick([0, 0, 0, 2_000]),
      damageShare: 0,
    },
    clockRates: Array.from({ length: members }, rate),
    timerGranularityMs: stream.pick([0, 0, 1, 10, 50]),
    damage: stream.chance(0.05) ? 'beyond' : 'within',
    clientsPerNode: stream.between(1, members > 3 ? 2 : 4),
    doorClients: narrow ? 1 : stream.between(1, 3),
    thinkMs: stream.pick([40, 100, 300]),
    scriptClients: 0,
    pipeline: narrow ? 1 : stream.pick([1, 4, 16]),
  };
}

/** The member's own sizes; "buggify": each now and then as small as it can be. */
function drawTuning(stream: Stream): Settings['tuning'] {
  const small = stream.chance(0.7);
  const tiny = <T>(least: T, usual: T): T => (stream.chance(0.15) ? least : usual);
  return {
    logEntriesMax: tiny(3, small ? stream.between(20, 150) : 100_000),
    logEntriesTrailing: small ? stream.pick([0, 1, 5, 20]) : 10_000,
    imageFlushMs: stream.pick([20, 100]),
    imageSyncMs: stream.pick([100, 300, 1000]),
    imageFlushBytes: stream.pick([2_000, 4 * MIB]),
    imageBacklogBytesMax: stream.pick([20_000, 64 * MIB]),
    snapshotChunkBytes: stream.pick([300, 2_000, 20_000]),
    snapshotChunksInFlight: stream.pick([1, 4]),
    renewalIntervalMs: stream.pick([0, 50]),
    forwardBytesMax: stream.pick([500, 16 * MIB]),
    hashCheckEntries: stream.pick([5, 50, 100_000]),
    // Not drawn: another draw would make another history of every seed.
    scrubBytesPerSecond: 1024 * 1024,
    scrubIntervalMs: 2000,
    appendEntriesMax: tiny(1, 1024),
    appendBytesMax: tiny(64, MIB),
    inflightAppendsMax: tiny(1, 256),
    inflightBytesMax: tiny(256, 16 * MIB),
    uncommittedBytesMax: tiny(4_096, 64 * MIB),
    committedBytesMax: tiny(1, 4 * MIB),
  };
}
