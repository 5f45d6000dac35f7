import { CLOCK_RATE_MAX, CLOCK_RATE_MIN } from './clock.ts';
import type { Membership } from './membership.ts';
import type { Wires } from './network.ts';
import type { SimNode } from './node.ts';
import type { Stream } from './seed.ts';
import type { Settings } from './settings.ts';
import type { World } from './world.ts';

/** Every kind of fault, and how often it comes relative to the others. */
const KINDS = {
  'power loss': 3,
  'power loss at a disk call': 4,
  kill: 3,
  'power loss everywhere': 1,
  pause: 3,
  isolate: 3,
  'one way': 2,
  reset: 3,
  flap: 1,
  'slow disk': 2,
  'sync error': 1,
  'clock rate': 1,
  'wall jump': 1,
  transfer: 3,
  storm: 1,
  'orderly stop': 2,
  'no space': 1,
  'bit rot': 1,
  grow: 1,
  shrink: 1,
} as const;
export type FaultKind = keyof typeof KINDS;

/** One fault of the script: when, what, to whom, for how long. */
export interface Fault {
  readonly atMs: number;
  readonly kind: FaultKind;
  readonly node: number;
  readonly other: number;
  readonly forMs: number;
  /** A number for what else the kind needs, uniform in [0, 1). */
  readonly amount: number;
}

export const FAULT_KINDS = Object.keys(KINDS) as FaultKind[];

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
  const weighted = kinds.flatMap((kind) => Array<FaultKind>(KINDS[kind]).fill(kind));
  if (weighted.length === 0) return [];
  const meanMs = stream.pick([300, 1000, 3000]);
  const faults: Fault[] = [];
  let atMs = 500;
  for (;;) {
    atMs += stream.exponential(meanMs);
    if (atMs >= settings.faultsMs) return faults;
    const node = stream.between(1, settings.members);
    const step = 1 + stream.below(Math.max(1, settings.members - 1));
    const other = 1 + ((node - 1 + step) % settings.members);
    const kind = stream.pick(weighted);
    const forMs = durationMs(stream, kind);
    faults.push({ atMs, kind, node, other, forMs, amount: stream.fraction() });
  }
}

function durationMs(stream: Stream, kind: FaultKind): number {
  switch (kind) {
    case 'pause':
      return stream.pick([20, 200, 1500, 6000]) * (0.5 + stream.fraction());
    case 'power loss':
    case 'power loss at a disk call':
    case 'kill':
    case 'power loss everywhere':
    case 'sync error':
    case 'orderly stop':
    case 'bit rot':
      return stream.pick([5, 300, 2500]) * (0.5 + stream.fraction());
    default:
      return stream.between(100, 5000);
  }
}

/** Carries the script out. */
export class Nemesis {
  readonly #world: World;
  readonly #wires: Wires;
  readonly #nodes: readonly SimNode[];
  readonly #membership: Membership;
  readonly #meanUs: number;
  readonly #founders: number;
  #over = false;

  constructor(world: World, wires: Wires, nodes: readonly SimNode[], membership: Membership) {
    this.#membership = membership;
    this.#meanUs = wires.weather.meanUs;
    this.#founders = nodes.length;
    this.#world = world;
    this.#wires = wires;
    this.#nodes = nodes;
  }

  plan(faults: readonly Fault[]): void {
    for (const fault of faults) this.#at(fault.atMs * 1000, () => this.#strike(fault));
  }

  /** Ends all faults: everything heals and every machine runs. */
  heal(): void {
    this.#over = true;
    this.#membership.settle();
    this.#wires.weather.meanUs = this.#meanUs;
    this.#wires.unclogAll();
    for (const node of this.#nodes) {
      node.life.pausedUntilUs = 0;
      node.disk.disarm();
      // An error that is still armed would strike later; with the process it is forgotten.
      if (node.mayStop) node.crash(false);
      // An orderly stop must come to its end by itself.
      if (node.isClosing) node.onEnd(() => node.start());
      else this.#revive(node);
    }
  }

  #at(atUs: number, run: () => void): void {
    this.#world.at(atUs, undefined, 'nemesis', () => {
      if (!this.#over) run();
    });
  }

  #later(ms: number, run: () => void): void {
    this.#at(this.#world.nowUs + ms * 1000, run);
  }

  #node(id: number): SimNode {
    // Members that joined since the script was drawn get their share of the faults.
    const extra = this.#nodes.length - this.#founders;
    return this.#nodes[(id - 1 + (this.#world.nowUs % (extra + 1))) % this.#nodes.length]!;
  }

  #strike(fault: Fault): void {
    const { kind, forMs, amount } = fault;
    const node = this.#node(fault.node);
    const wires = this.#wires;
    this.#world.trace(() => `nemesis: ${kind} n${fault.node} for ${Math.round(forMs)} ms`);
    switch (kind) {
      case 'power loss':
      case 'kill':
        this.#down(node, kind === 'power loss', forMs);
        return;
      case 'power loss everywhere':
        for (const each of this.#nodes) this.#down(each, true, forMs * (0.5 + amount));
        return;
      case 'power loss at a disk call':
        this.#armed(node, 1 + Math.floor(amount * 40), forMs);
        return;
      case 'pause':
        node.pause(forMs * 1000);
        return;
      case 'isolate':
        for (const each of this.#nodes) {
          if (each !== node) this.#cut(fault, node.id, each.id, true);
        }
        return;
      case 'one way':
        this.#cut(fault, node.id, fault.other, false);
        return;
      case 'reset':
        wires.reset(node.id, fault.other);
        return;
      case 'flap':
        for (let i = 0; i < 6; i++) {
          this.#later((forMs * i) / 6, () => wires.reset(node.id, fault.other));
        }
        return;
      default:
        this.#disturb(fault, node);
    }
  }

  #disturb({ kind, forMs, amount }: Fault, node: SimNode): void {
    const { weather } = this.#wires;
    switch (kind) {
      case 'slow disk':
        node.disk.speed.slowUntilUs = this.#world.nowUs + forMs * 1000;
        return;
      case 'sync error':
        if (!node.life.alive) return;
        node.mayStop = true;
        node.disk.failNextSync();
        this.#later(forMs + 500, () => this.#down(node, amount < 0.5, forMs));
        return;
      case 'orderly stop':
        node.close();
        this.#later(forMs + 1000, () => this.#down(node, false, forMs));
        return;
      case 'no space':
        node.mayStop = true;
        node.disk.limit(amount * 20_000);
        this.#later(forMs, () => node.disk.limit(Number.POSITIVE_INFINITY));
        this.#later(forMs + 2000, () => {
          if (node.stopped !== undefined) this.#revive(node);
        });
        return;
      case 'bit rot':
        this.#rot(forMs);
        return;
      case 'grow':
        this.#membership.grow(forMs);
        return;
      case 'shrink':
        this.#membership.shrink(node, forMs);
        return;
      case 'clock rate':
        node.clock.setRate(CLOCK_RATE_MIN + amount * (CLOCK_RATE_MAX - CLOCK_RATE_MIN));
        return;
      case 'wall jump':
        node.clock.jumpWall((amount - 0.5) * 7_200_000);
        return;
      case 'transfer':
        if (node.isUp) node.replica?.transferLeadership(undefined, () => {});
        return;
      case 'storm':
        weather.meanUs = 100_000 * amount + 1000;
        this.#later(forMs, () => {
          weather.meanUs = this.#meanUs;
        });
        return;
      default:
        return;
    }
  }

  /** Damage strikes one machine only in a run, and a minority: the others can repair it. */
  #rot(forMs: number): void {
    const victim = this.#nodes[0]!;
    if (this.#founders < 3 || this.#membership.hasShrunk) return;
    victim.crash(true);
    if (victim.disk.rot()) victim.damaged = true;
    this.#later(forMs, () => this.#revive(victim));
  }

  #cut({ forMs }: Fault, from: number, to: number, both: boolean): void {
    const wires = this.#wires;
    wires.clog(from, to);
    if (both) wires.clog(to, from);
    this.#later(forMs, () => {
      wires.unclog(from, to);
      if (both) wires.unclog(to, from);
    });
  }

  #down(node: SimNode, power: boolean, forMs: number): void {
    node.crash(power);
    this.#later(forMs, () => this.#revive(node));
  }

  /** The power fails a few disk calls from now; when nothing is called, soon. */
  #armed(node: SimNode, calls: number, forMs: number): void {
    if (!node.life.alive) return;
    const { life } = node;
    node.disk.arm(calls);
    this.#later(2000, () => {
      if (node.life === life) this.#down(node, true, forMs);
      else if (!node.life.alive) this.#revive(node);
    });
    node.onEnd(() => this.#later(forMs, () => this.#revive(node)));
  }

  /** Starts what is down; what stopped itself is killed first. */
  #revive(node: SimNode): void {
    if (node.life.alive && node.stopped !== undefined) node.crash(false);
    node.start();
  }
}
