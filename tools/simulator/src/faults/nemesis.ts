import type { Wires } from '../network.ts';
import type { SimNode } from '../node.ts';
import type { Stream } from '../seed.ts';
import type { Settings } from '../settings.ts';
import type { World } from '../world.ts';
import { Atlas } from './atlas.ts';
import { strikeClock } from './clock-faults.ts';
import { strikeDisk } from './disk-faults.ts';
import type { Fault } from './fault.ts';
import type { Membership } from './membership.ts';
import { strikeMembership } from './membership-faults.ts';
import { strikeNetwork } from './network-faults.ts';
import { strikeProcess } from './process-faults.ts';

/** What the faults of all kinds work with. */
export interface Battlefield {
  readonly world: World;
  readonly wires: Wires;
  readonly nodes: readonly SimNode[];
  readonly membership: Membership;
  readonly atlas: Atlas;
  /** Runs it then, unless all faults are over. */
  later(ms: number, run: () => void): void;
  /** The process ends now and a new one starts after that time. */
  down(node: SimNode, power: boolean, forMs: number): void;
  /** Starts what is down; what stopped itself is killed first. */
  revive(node: SimNode): void;
}

/** A fault about to strike: its script, its victim and its own random numbers. */
export interface Strike {
  readonly fault: Fault;
  readonly node: SimNode;
  readonly stream: Stream;
}

export interface NemesisOptions {
  readonly world: World;
  readonly wires: Wires;
  readonly nodes: readonly SimNode[];
  readonly membership: Membership;
  readonly settings: Settings;
}

/** Carries the script out. */
export class Nemesis implements Battlefield {
  readonly world: World;
  readonly wires: Wires;
  readonly nodes: readonly SimNode[];
  readonly membership: Membership;
  readonly atlas: Atlas;
  readonly #founders: number;
  /** Faults that wait for a mark. */
  #waiting: Fault[] = [];
  #over = false;
  /** How many faults struck, by kind. */
  readonly struck = new Map<string, number>();

  constructor({ world, wires, nodes, membership, settings }: NemesisOptions) {
    this.world = world;
    this.wires = wires;
    this.nodes = nodes;
    this.membership = membership;
    this.atlas = new Atlas(world, settings.members, settings.damage);
    this.#founders = nodes.length;
  }

  plan(faults: readonly Fault[]): void {
    for (const fault of faults) {
      this.#at(fault.atMs * 1000, () => {
        if (fault.mark === undefined) this.#strike(fault, this.#victim(fault));
        else this.#waiting.push(fault);
      });
    }
  }

  /** Production code of a node reached a rare place: what waited for it strikes there and then. */
  reached(node: SimNode, mark: string): void {
    const at = this.#waiting.findIndex((fault) => fault.mark === mark);
    if (at < 0 || this.#over) return;
    const [fault] = this.#waiting.splice(at, 1);
    // Not from inside production code, except for an end that production code does not survive.
    const ends = fault!.kind === 'power loss' || fault!.kind === 'kill';
    if (ends) this.#strike(fault!, node);
    else this.later(0, () => this.#strike(fault!, node));
  }

  /** Ends all faults that still come or last, except what lasts outside of the core. */
  heal(core: ReadonlySet<SimNode>): void {
    this.#over = true;
    this.membership.settle();
    this.wires.calm([...core].map(({ id }) => id));
    for (const node of core) this.#healNode(node);
  }

  #healNode(node: SimNode): void {
    this.world.resume(node.life);
    node.clock.resume();
    node.disk.heal();
    // An error that is still armed would strike later; with the process it is forgotten.
    if (node.mayStop) node.crash(false);
    // An orderly stop must come to its end by itself.
    if (node.isClosing) node.onEnd(() => node.start());
    else this.revive(node);
  }

  later(ms: number, run: () => void): void {
    this.#at(this.world.nowUs + ms * 1000, run);
  }

  down(node: SimNode, power: boolean, forMs: number): void {
    node.crash(power);
    this.later(forMs, () => this.revive(node));
  }

  revive(node: SimNode): void {
    if (node.life.alive && node.stopped !== undefined) node.crash(false);
    node.start();
  }

  #at(atUs: number, run: () => void): void {
    this.world.at(atUs, undefined, 'nemesis', () => {
      if (!this.#over) run();
    });
  }

  #victim({ aim, node }: Fault): SimNode {
    const leader = aim === 'leader' ? leaderOf(this.nodes) : undefined;
    // Members that joined since the script was drawn get their share of the faults.
    const extra = this.nodes.length - this.#founders;
    const turn = Math.floor(this.world.nowUs / 1000) % (extra + 1);
    return leader ?? this.nodes[(node - 1 + turn) % this.nodes.length]!;
  }

  #strike(fault: Fault, node: SimNode): void {
    const { kind, forMs, mark } = fault;
    const at = mark === undefined ? '' : ` at '${mark}'`;
    this.world.trace(() => `nemesis: ${kind} n${node.id} for ${forMs} ms${at}`);
    this.struck.set(kind, (this.struck.get(kind) ?? 0) + 1);
    const strike = { fault, node, stream: this.world.stream(`fault:${fault.id}`) };
    const hit = [strikeProcess, strikeNetwork, strikeDisk, strikeClock, strikeMembership];
    for (const one of hit) if (one(this, strike)) return;
  }
}

/** Whoever leads with the highest term, as the members themselves believe. */
export function leaderOf(nodes: readonly SimNode[]): SimNode | undefined {
  const leaders = nodes.filter((node) => node.isUp && node.replica?.raft.role === 'leader');
  return leaders.sort((a, b) => b.replica!.raft.term - a.replica!.raft.term)[0];
}
