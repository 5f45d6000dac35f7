/** Every kind of fault, and how often it comes relative to the others. */
const KINDS = {
  'power loss': 3,
  'power loss at a disk call': 4,
  'power loss in recovery': 2,
  'power loss everywhere': 1,
  kill: 3,
  'kills in a row': 1,
  pause: 3,
  suspend: 1,
  'orderly stop': 2,
  wipe: 1,
  isolate: 3,
  'one way': 2,
  deaf: 1,
  mute: 1,
  halves: 2,
  bridge: 1,
  ring: 1,
  flap: 1,
  swizzle: 1,
  reset: 3,
  'resets in a row': 1,
  storm: 1,
  loss: 1,
  ghosts: 1,
  narrow: 1,
  'slow disk': 2,
  'stuck disk': 1,
  'sync error': 1,
  'write error': 1,
  'read error': 1,
  'no space': 1,
  'bit rot': 1,
  'bit rot while running': 1,
  'misdirected reads': 1,
  'stale reads': 1,
  'snapshot damage': 1,
  'clock rate': 1,
  'wall jump': 1,
  transfer: 3,
  'transfers in a row': 1,
  grow: 1,
  shrink: 1,
  replace: 1,
  demote: 1,
  churn: 1,
} as const;
export type FaultKind = keyof typeof KINDS;

export const FAULT_KINDS = Object.keys(KINDS) as FaultKind[];

export function weightOf(kind: FaultKind): number {
  return KINDS[kind];
}

/** Whom a fault strikes: the member with that number, or whoever leads then, if anybody does. */
export type Aim = 'member' | 'leader';

/** One fault of the script: when, what, to whom, for how long. Plain data: it goes to a file. */
export interface Fault {
  /** Names its random numbers, so that taking another fault away changes nothing here. */
  readonly id: number;
  readonly atMs: number;
  readonly kind: FaultKind;
  readonly aim: Aim;
  readonly node: number;
  readonly other: number;
  readonly forMs: number;
  /** A number for what else the kind needs, uniform in [0, 1). */
  readonly amount: number;
  /** From `atMs` on it waits for this coverage mark and strikes the member that reached it. */
  readonly mark?: string;
}
