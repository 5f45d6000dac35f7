import { describe, expect, it } from 'vitest';
import { PREVIOUS, previousBuild } from '../support/previous-build.ts';
import { SlowDisks, SmallDisks } from './disks.ts';
import { FAULTS, type Fault } from './nemesis.ts';
import { play, type Scenario } from './scenario.ts';

const LONG = process.env.LOCKSTEP_LONG === '1';
const seed = Number(process.env.LOCKSTEP_SEED ?? Math.floor(Math.random() * 2 ** 31));
const SHORT_SECONDS = 20;
const asked = process.env.LOCKSTEP_CHAOS_SECONDS;

const UPGRADES: readonly Fault[] = Array(3).fill('upgrade a member');
const faults = (...starts: string[]): Fault[] =>
  FAULTS.filter((fault) => starts.some((start) => fault.startsWith(start)));

interface Planned extends Omit<Scenario, 'seed' | 'seconds' | 'main'> {
  /** Seconds where there is time. */
  readonly long: number;
  readonly fromPrevious?: boolean;
}

const scenarios: readonly Planned[] = [
  { name: 'kills and pauses', faults: faults('kill', 'pause', 'rolling'), long: 120 },
  { name: 'partitions', faults: faults('cut', 'silence', 'slow links', 'flap'), long: 120 },
  { name: 'full disks', faults: ['fill a disk', 'kill the leader'], smallDisks: true, long: 120 },
  {
    name: 'slow disks',
    faults: faults('slow disk', 'pause the leader'),
    slowDisks: true,
    long: 120,
  },
  { name: 'members replaced', faults: ['replace a member', 'cut a link'], long: 120 },
  {
    name: `upgrade from ${PREVIOUS}`,
    faults: [...UPGRADES, 'kill the leader', 'cut off the leader', 'pause a follower'],
    long: 120,
    fromPrevious: true,
  },
  {
    name: 'everything',
    faults: FAULTS.filter((fault) => !['fill a disk', 'upgrade a member'].includes(fault)),
    together: true,
    slowDisks: true,
    long: 600,
  },
];

/** Why a scenario cannot be played here, or undefined. */
function missingFor({ smallDisks, slowDisks, fromPrevious }: Planned): string | undefined {
  if (smallDisks) return SmallDisks.missing();
  if (slowDisks) return SlowDisks.missing();
  return fromPrevious ? previousBuild().missing : undefined;
}

describe('clients of all doors while a cluster is broken', () => {
  for (const planned of scenarios) {
    // Where there is little time each kind of fault has its own scenario, and no second one.
    if (planned.name === 'everything' && !LONG && asked === undefined) continue;
    const { long, fromPrevious, ...scenario } = planned;
    const seconds = Number(asked ?? (LONG ? long : SHORT_SECONDS));
    const missing = missingFor(planned);
    const main = fromPrevious ? previousBuild().main : undefined;
    const title = `see only what one correct store could show: ${scenario.name}, seed ${seed}`;
    it.skipIf(missing !== undefined)(
      missing === undefined ? title : `${title} (left out: ${missing})`,
      async () => {
        expect(
          await play({ ...scenario, seed, seconds, ...(main !== undefined && { main }) }),
        ).toBe(true);
      },
      seconds * 2000 + 300_000,
    );
  }
});
