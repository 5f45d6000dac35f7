import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { FAULT_KINDS, type Fault, type FaultKind, weightOf } from './fault.ts';

/** Places in production code at which a fault is worth more than at any other moment. */
export const TRIGGERS = [
  'became leader',
  'lost leadership',
  'configuration proposed',
  'snapshot stream begun',
  'snapshot receive begun',
  'snapshot installed',
  'image set aside',
  'incarnation expired',
  'leader link lost',
  'hand-over',
  'proposals held',
  'log space',
] as const;

/** Kinds that strike at a mark: those whose effect depends on the very moment. */
const AT_MARKS: readonly FaultKind[] = [
  'power loss',
  'power loss at a disk call',
  'kill',
  'pause',
  'isolate',
  'mute',
  'deaf',
  'reset',
  'slow disk',
  'orderly stop',
  'transfer',
];

/**
 * The script is drawn before the run: each kind is left out with probability one half (swarm),
 * unless the kinds are given.
 */
export function drawFaults(
  world: World,
  settings: Settings,
  given: readonly FaultKind[] | undefined,
): Fault[] {
  const stream = world.stream('nemesis');
  const drawn = FAULT_KINDS.filter(() => stream.chance(0.5));
  const kinds = given ?? drawn;
  const weighted = kinds.flatMap((kind) => Array<FaultKind>(weightOf(kind)).fill(kind));
  const markShare = stream.pick([0, 0, 0.2, 0.5]);
  const leaderShare = stream.pick([0, 0.3, 0.6]);
  const meanMs = stream.pick([300, 1000, 3000]);
  const faults: Fault[] = [];
  let atMs = 500;
  while (weighted.length > 0) {
    atMs += stream.exponential(meanMs);
    if (atMs >= settings.faultsMs) break;
    const node = stream.between(1, settings.members);
    const step = 1 + stream.below(Math.max(1, settings.members - 1));
    const other = 1 + ((node - 1 + step) % settings.members);
    const kind = stream.pick(weighted);
    const forMs = Math.round(durationMs(stream, kind));
    const amount = stream.fraction();
    const aim = stream.chance(leaderShare) ? 'leader' : 'member';
    const marked = stream.chance(markShare) && AT_MARKS.includes(kind);
    const trigger = marked ? { mark: stream.pick(TRIGGERS) } : {};
    const id = faults.length + 1;
    faults.push({ id, atMs: Math.round(atMs), kind, aim, node, other, forMs, amount, ...trigger });
  }
  return faults;
}

function durationMs(stream: Stream, kind: FaultKind): number {
  switch (kind) {
    case 'pause':
    case 'suspend':
      return stream.pick([20, 200, 1500, 6000, 20_000]) * (0.5 + stream.fraction());
    case 'power loss':
    case 'power loss at a disk call':
    case 'power loss in recovery':
    case 'kill':
    case 'power loss everywhere':
    case 'sync error':
    case 'write error':
    case 'read error':
    case 'orderly stop':
    case 'bit rot':
      return stream.pick([5, 300, 2500]) * (0.5 + stream.fraction());
    default:
      return stream.between(100, 5000);
  }
}
