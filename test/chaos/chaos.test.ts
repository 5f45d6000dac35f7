import { describe, expect, it } from 'vitest';
import { SmallDisks } from './disks.ts';
import { FAULTS, type Fault } from './nemesis.ts';
import { play, type Scenario } from './scenario.ts';

const LONG = process.env.LOCKSTEP_LONG === '1';
const seed = Number(process.env.LOCKSTEP_SEED ?? Math.floor(Math.random() * 2 ** 31));
const asked = process.env.LOCKSTEP_CHAOS_SECONDS;

const DISK: readonly Fault[] = ['fill a disk', 'slow disks', 'slow disk of the leader'];
const faults = (...starts: string[]): Fault[] =>
  FAULTS.filter((fault) => starts.some((start) => fault.startsWith(start)));

const scenarios: (Omit<Scenario, 'seed' | 'seconds'> & { readonly long: number })[] = [
  { name: 'kills and pauses', faults: faults('kill', 'pause', 'rolling'), long: 120 },
  { name: 'partitions', faults: faults('cut', 'silence', 'slow links', 'flap'), long: 120 },
  { name: 'full disks', faults: ['fill a disk', 'kill the leader'], smallDisks: true, long: 120 },
  {
    name: 'slow disks',
    faults: faults('slow disk', 'pause the leader'),
    slowDisks: true,
    long: 120,
  },
  {
    name: 'everything',
    faults: FAULTS.filter((fault) => !DISK.includes(fault) || fault.startsWith('slow')),
    slowDisks: true,
    long: 600,
  },
];

describe('clients of all doors while a cluster is broken', () => {
  for (const { long, ...scenario } of scenarios) {
    const seconds = Number(asked ?? (LONG ? long : 30));
    const missing = scenario.smallDisks ? SmallDisks.missing() : undefined;
    const title = `see only what one correct store could show: ${scenario.name}, seed ${seed}`;
    it.skipIf(missing !== undefined)(
      missing === undefined ? title : `${title} (left out: ${missing})`,
      async () => {
        expect(await play({ ...scenario, seed, seconds })).toBe(true);
      },
      seconds * 2000 + 300_000,
    );
  }
});
