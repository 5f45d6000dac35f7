import { listenToMarks } from '@lockstep/model';
import { NodeClock } from './clock.ts';
import type { Defects } from './defects.ts';
import type { Fault, FaultKind } from './faults/fault.ts';
import { Membership } from './faults/membership.ts';
import { Nemesis } from './faults/nemesis.ts';
import { drawFaults } from './faults/script.ts';
import { ReplayedLog } from './invariants/replay.ts';
import { Liveness } from './liveness.ts';
import { Wires } from './network.ts';
import { type Cluster, SimNode } from './node.ts';
import { Oracle } from './oracle.ts';
import { drawSettings, type Settings } from './settings.ts';
import { Workload } from './workload/workload.ts';
import { type Life, type Violation, World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly trace?: (line: string) => void;
  readonly defects?: Defects;
  /** Only these faults happen; left out: the seed chooses. */
  readonly kinds?: readonly FaultKind[];
  /** Changes what the seed draws, for tests. */
  readonly adjust?: (settings: Settings) => Settings;
  /** Applies the whole log once more at the end. */
  readonly replaysLog?: boolean;
  /** Instead of what the seed draws: a replay. */
  readonly settings?: Settings;
  /** Instead of the script that the seed draws: a replay. */
  readonly faults?: readonly Fault[];
}

export interface RunResult {
  readonly seed: number;
  readonly verdict: 'passed' | 'failed';
  readonly violation: Violation | undefined;
  /** Of the whole trace: the same for the same seed, settings and script, on any machine. */
  readonly digest: number;
  readonly events: number;
  readonly virtualMs: number;
  /** What happened how often. */
  readonly counts: ReadonlyMap<string, number>;
  /** Coverage marks of production code, and how often each was reached. */
  readonly marks: ReadonlyMap<string, number>;
  /** Faults that struck, by kind. */
  readonly struck: ReadonlyMap<string, number>;
  readonly settings: Settings;
  readonly faults: readonly Fault[];
}

/** One seed, from a fresh cluster over its faults to the healed end. */
export function runSeed(options: RunOptions): RunResult {
  const run = new Run(options);
  const before = listenToMarks((name) => run.mark(name));
  try {
    run.faults();
    run.liveness();
    run.replay();
  } finally {
    listenToMarks(before);
  }
  return run.result();
}

class Run {
  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #nodes: SimNode[] = [];
  readonly #nemesis: Nemesis;
  readonly #workload: Workload;
  readonly #settings: Settings;
  readonly #script: readonly Fault[];
  readonly #wires: Wires;
  #replayed: ReplayedLog | undefined;

  constructor(options: RunOptions) {
    const { seed, trace, defects = {}, adjust, kinds, settings: given, faults } = options;
    const world = new World(seed, trace);
    const drawn = given ?? drawSettings(world);
    const settings = adjust?.(drawn) ?? drawn;
    const oracle = new Oracle(world, settings);
    const wires = new Wires(world, settings.weather);
    wires.sending = (from, frame) => oracle.logs.sends(from, frame);
    wires.delivered = (to, from) => oracle.contacts.heard(to, from);
    const cluster: Cluster = { world, wires, settings, observer: oracle, defects };
    this.#world = world;
    this.#oracle = oracle;
    this.#settings = settings;
    this.#wires = wires;
    const clocks = world.stream('clocks');
    const addNode = (id: number, rate: number, joins: boolean): SimNode => {
      const [origin, offset] = [clocks.between(0, 1e6), clocks.between(-5000, 5000)];
      const clock = new NodeClock(world, rate, origin, offset, settings.timerGranularityMs);
      const configuration = oracle.configurations.current;
      const node = new SimNode(id, cluster, clock, { joins, configuration });
      this.#nodes.push(node);
      return node;
    };
    for (let id = 1; id <= settings.members; id++) {
      addNode(id, settings.clockRates[id - 1] ?? 1, false);
    }
    const membership = new Membership(world, oracle, this.#nodes, (id) => {
      const node = addNode(id, 1, true);
      this.#workload.join(node);
      node.start();
    });
    this.#nemesis = new Nemesis({ world, wires, nodes: this.#nodes, membership, settings });
    this.#workload = new Workload(world, oracle, this.#nodes, settings, defects);
    if (options.replaysLog === true) this.#replayed = new ReplayedLog(world, oracle.history);
    this.#script = faults ?? drawFaults(world, settings, kinds);
    this.#nemesis.plan(this.#script);
    world.afterEvent = (owner) => {
      const node = this.#nodeOf(owner);
      if (node !== undefined) oracle.cores.touched(node);
    };
  }

  /** Production code reached a rare place. */
  mark(name: string): void {
    const node = this.#nodeOf(this.#world.running);
    this.#oracle.mark(node, name);
    if (node !== undefined) this.#nemesis.reached(node, name);
  }

  #nodeOf(life: Life | undefined): SimNode | undefined {
    return life === undefined ? undefined : this.#nodes.find((node) => node.life === life);
  }

  faults(): void {
    for (const node of this.#nodes) node.start();
    this.#workload.start();
    this.#world.run(this.#settings.faultsMs * 1000);
  }

  replay(): void {
    if (this.#world.violation === undefined) this.#replayed?.check(this.#settings);
  }

  liveness(): void {
    if (this.#world.violation !== undefined) return;
    new Liveness({
      world: this.#world,
      oracle: this.#oracle,
      nodes: this.#nodes,
      nemesis: this.#nemesis,
      workload: this.#workload,
      settings: this.#settings,
    }).run();
  }

  result(): RunResult {
    const { violation, digest, events, nowMs, seed } = this.#world;
    return {
      seed,
      verdict: violation === undefined ? 'passed' : 'failed',
      violation,
      digest,
      events,
      virtualMs: nowMs,
      counts: this.#counts(),
      marks: this.#oracle.marks,
      struck: this.#nemesis.struck,
      settings: this.#settings,
      faults: this.#script,
    };
  }

  #counts(): Map<string, number> {
    const { commands, streams, tokens, logs, history, versions, counts: seen } = this.#oracle;
    const { configurations } = this.#oracle;
    const counts = new Map(seen);
    counts.set('acknowledged', commands.acknowledged);
    counts.set('failed', commands.refused);
    counts.set('unknown outcome', commands.unknown);
    counts.set('barriers', commands.barriers);
    counts.set('terms', logs.elections);
    counts.set('configuration changes', configurations.changes);
    counts.set('entries', history.lastIndex);
    counts.set('transactions', history.transactionCount);
    counts.set('grants', tokens.grants);
    for (const [name, count] of this.#oracle.promises.counts()) counts.set(name, count);
    counts.set('leases expired', tokens.expiries);
    counts.set('events skipped', streams.skips);
    counts.set('history reads', versions.reads);
    counts.set('history reads compacted', versions.compacted);
    counts.set('handshakes refused', this.#wires.refusals);
    const sum = (of: (node: SimNode) => number) => this.#nodes.reduce((s, n) => s + of(n), 0);
    counts.set('members', this.#nodes.length);
    counts.set(
      'starts',
      sum(({ starts }) => starts),
    );
    counts.set(
      'crashes',
      sum(({ crashes }) => crashes),
    );
    counts.set(
      'wrong reads',
      sum(({ disk }) => disk.wrongReads),
    );
    return counts;
  }
}
