import { ProcedureId, writePut } from '@lockstep/adapter-etcd';
import { BinaryWriter, listenToMarks, writeCommandHead } from '@lockstep/model';
import { NodeClock } from './clock.ts';
import type { Defects } from './defects.ts';
import { Membership } from './membership.ts';
import { drawFaults, type FaultKind, Nemesis } from './nemesis.ts';
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
}

export interface RunResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly digest: number;
  readonly events: number;
  readonly virtualMs: number;
  /** What happened how often. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Virtual time in which a healed cluster must come to rest. */
const LIVENESS_MS = 60_000;

/** One seed, from a fresh cluster over its faults to the healed end. */
export function runSeed(options: RunOptions): RunResult {
  const run = new Run(options);
  const before = listenToMarks((name) => run.mark(name));
  try {
    run.faults();
    run.liveness();
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

  constructor({ seed, trace, defects = {}, adjust, kinds }: RunOptions) {
    const world = new World(seed, trace);
    const drawn = drawSettings(world);
    const settings = adjust?.(drawn) ?? drawn;
    const oracle = new Oracle(world, settings);
    const wires = new Wires(world, { ...settings.weather });
    const cluster: Cluster = { world, wires, settings, observer: oracle, defects };
    const clocks = world.stream('clocks');
    for (let id = 1; id <= settings.members; id++) {
      const rate = settings.clockRates[id - 1]!;
      const [origin, offset] = [clocks.between(0, 1e6), clocks.between(-5000, 5000)];
      const clock = new NodeClock(world, rate, origin, offset);
      const configuration = oracle.configurations.current;
      this.#nodes.push(new SimNode(id, cluster, clock, { joins: false, configuration }));
    }
    world.afterEvent = (owner) => {
      const node = this.#nodeOf(owner);
      if (node !== undefined) oracle.cores.touched(node);
    };
    this.#world = world;
    this.#oracle = oracle;
    this.#settings = settings;
    const admit = (id: number) => {
      const clock = new NodeClock(world, 1, clocks.between(0, 1e6), clocks.between(-5000, 5000));
      const configuration = oracle.configurations.current;
      const node = new SimNode(id, cluster, clock, { joins: true, configuration });
      this.#nodes.push(node);
      this.#workload.join(node);
      node.start();
    };
    const membership = new Membership(world, oracle, this.#nodes, admit);
    this.#nemesis = new Nemesis(world, wires, this.#nodes, membership);
    this.#workload = new Workload(world, oracle, this.#nodes, settings);
    this.#nemesis.plan(drawFaults(world, settings, kinds));
  }

  /** Production code reached a rare place. */
  mark(name: string): void {
    this.#oracle.mark(this.#nodeOf(this.#world.running), name);
  }

  #nodeOf(life: Life | undefined): SimNode | undefined {
    return life === undefined ? undefined : this.#nodes.find((node) => node.life === life);
  }

  faults(): void {
    for (const node of this.#nodes) node.start();
    this.#workload.start();
    this.#world.run(this.#settings.faultsMs * 1000);
  }

  /** Heals everything; then the cluster must come to rest, whole and equal (reference §4.6). */
  liveness(): void {
    const world = this.#world;
    if (world.violation !== undefined) return;
    world.trace(() => 'everything heals');
    this.#nemesis.heal();
    this.#workload.stop();
    const endUs = world.nowUs + LIVENESS_MS * 1000;
    const written = new Set<SimNode>();
    for (const node of this.#nodes) this.#writeUntilDone(node, endUs, () => written.add(node));
    const isOver = () => this.#present.every((node) => written.has(node)) && this.#atRest();
    world.run(endUs, isOver);
    if (world.violation !== undefined) return;
    if (!isOver()) {
      world.fail('Progress', this.#whyNot(written.size));
      return;
    }
    this.#checkEnd();
  }

  result(): RunResult {
    const { violation, digest, events, nowMs, seed } = this.#world;
    const { commands, streams, tokens, logs, history, marks, versions } = this.#oracle;
    const { configurations } = this.#oracle;
    const counts = new Map(marks);
    counts.set('acknowledged', commands.acknowledged);
    counts.set('failed', commands.refused);
    counts.set('unknown outcome', commands.unknown);
    counts.set('barriers', commands.barriers);
    counts.set('terms', logs.elections);
    counts.set('configuration changes', configurations.changes);
    counts.set('entries', history.lastIndex);
    counts.set('grants', tokens.grants);
    counts.set('leases expired', tokens.expiries);
    counts.set('events skipped', streams.skips);
    counts.set('history reads', versions.reads);
    counts.set('history reads compacted', versions.compacted);
    counts.set(
      'starts',
      this.#nodes.reduce((sum, node) => sum + node.starts, 0),
    );
    return { seed, violation, digest, events, virtualMs: nowMs, counts };
  }

  /** A write that must get through, asked again when it fails. */
  #writeUntilDone(node: SimNode, endUs: number, done: () => void): void {
    const world = this.#world;
    world.after(200_000, undefined, 'last-write', () => {
      const { replica } = node;
      if (world.nowUs > endUs || node.retired) return;
      if (!node.isUp || replica === undefined) {
        this.#writeUntilDone(node, endUs, done);
        return;
      }
      const writer = writeCommandHead(new BinaryWriter(64), ProcedureId.Put, 1);
      const [key, value] = [Buffer.from(`last-${node.id}`), Buffer.from('x')];
      const flags = { prevKv: false, ignoreValue: false, ignoreLease: false };
      writePut(writer, { key, value, lease: 0n, ...flags });
      this.#oracle.commands.submit(node, replica, writer.take(), (outcome) => {
        const again = (): void => this.#writeUntilDone(node, endUs, done);
        if (outcome?.kind !== 'done') again();
        else this.#oracle.commands.barrier(node, replica, done, again);
      });
    });
  }

  /** Machines that are still there. */
  get #present(): SimNode[] {
    return this.#nodes.filter((node) => !node.retired);
  }

  #atRest(): boolean {
    const { commands, history } = this.#oracle;
    if (commands.waiting > 0 || this.#workload.busy > 0) return false;
    const statuses = this.#present.map((node) => (node.isUp ? node.replica?.status() : undefined));
    const leaders = statuses.filter((status) => status?.role === 'leader');
    const leader = leaders[0];
    if (leaders.length !== 1 || leader === undefined) return false;
    return statuses.every(
      (status) =>
        status?.appliedIndex === history.lastIndex &&
        status.commitIndex === leader.lastIndex &&
        status.leader === leader.member &&
        status.health === 'ok',
    );
  }

  #checkEnd(): void {
    const { history, commands } = this.#oracle;
    const hashes = this.#present.map((node) => node.replica?.state.stateHash());
    if (hashes.some((hash) => hash !== history.hashAt(history.lastIndex))) {
      this.#world.fail('StateHash', `at the end: ${hashes.join(' ')}`);
    }
    commands.checkKept(history.lastIndex);
  }

  #whyNot(written: number): string {
    const { commands, history } = this.#oracle;
    const open = `${commands.waiting} commands and ${this.#workload.busy} clients wait`;
    const members = this.#present.map((node) => {
      const status = node.replica?.status();
      if (status === undefined) return `n${node.id} is not open (${node.stopped ?? 'starting'})`;
      const { role, term, leader, lastIndex, commitIndex, appliedIndex, health, peers } = status;
      const place = `last ${lastIndex} commit ${commitIndex} applied ${appliedIndex}`;
      const stopped = node.stopped === undefined ? '' : ` stopped: ${node.stopped}`;
      const contact = node.replica?.inContact === true ? 'in contact' : 'no contact';
      const links = peers.map(({ id, state, match, connected }) =>
        connected ? `n${id} ${state} ${match}` : `n${id} not linked`,
      );
      const state = `${role} of ${leader} term ${term} ${place} ${health} ${contact}`;
      return `n${node.id} ${state} (${links.join(', ')})${stopped}`;
    });
    const last = `history ends at ${history.lastIndex}`;
    return `not at rest: ${written} last writes, ${open}, ${last}; ${members.join('; ')}`;
  }
}
