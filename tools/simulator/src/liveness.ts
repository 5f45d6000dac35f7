import { ProcedureId, writePut } from '@lockstep/adapter-etcd';
import { BinaryWriter, writeCommandHead } from '@lockstep/model';
import type { Nemesis } from './faults/nemesis.ts';
import { GRACE_US } from './invariants/messages.ts';
import type { SimNode } from './node.ts';
import type { Oracle } from './oracle.ts';
import type { Stream } from './seed.ts';
import type { Settings } from './settings.ts';
import { timedOf } from './timed.ts';
import type { Workload } from './workload/workload.ts';
import type { World } from './world.ts';

/** Virtual time in which a healed cluster must come to rest: elections, snapshots, recoveries. */
const REST_MS = 60_000;
/** Longest time to live that the workload asks for, with all grace a lease may get. */
const LEASES_MS = 15_000;

export interface LivenessOptions {
  readonly world: World;
  readonly oracle: Oracle;
  readonly nodes: readonly SimNode[];
  readonly nemesis: Nemesis;
  readonly workload: Workload;
  readonly settings: Settings;
}

/**
 * Progress (reference §4.6). First a quorum chosen at random heals and everything else stays as
 * broken as it is: the quorum must come to rest, with one leader, fresh writes from each member,
 * everything answered and all members equal. Then the rest heals and the same holds for all.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  readonly #stream: Stream;
  readonly #written = new Set<SimNode>();

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#stream = options.world.stream('liveness');
  }

  run(): void {
    const { world, workload, nemesis, nodes } = this.#options;
    workload.stop();
    const core = this.#chooseCore();
    if (core !== undefined) {
      world.trace(() => `a core heals: ${core.map(({ id }) => `n${id}`).join(' ')}`);
      nemesis.heal(new Set(core));
      for (const node of nodes) if (!core.includes(node)) this.#breakFurther(node, core);
      this.#writeAll(core);
      if (!this.#reach('the core', () => core.every((node) => this.#isAtRest(node, nodes)))) return;
    }
    world.trace(() => 'everything heals');
    nemesis.heal(new Set(nodes));
    this.#written.clear();
    this.#writeAll(this.#present);
    const isOver = () => {
      const present = this.#present;
      return this.#nothingWaits && present.every((node) => this.#isAtRest(node, present));
    };
    if (!this.#reach('the cluster', isOver)) return;
    this.#checkEqual();
    this.#clientsSettle();
    if (this.#stream.chance(0.3)) this.#leasesEnd();
  }

  /**
   * A majority of the voters, whoever they are; nobody whose log was damaged, since that member
   * does not count until it has caught up. Undefined: not while the membership changes.
   */
  #chooseCore(): SimNode[] | undefined {
    const { oracle, nodes, nemesis } = this.#options;
    const { voters } = oracle.configurations.current;
    if (nemesis.membership.isChanging || voters.length < 3) return undefined;
    const sound = nodes.filter((node) => {
      const whole = !node.damaged && !node.mayLeave && !node.isWiped && !node.retired;
      return whole && voters.includes(node.id);
    });
    const size = Math.floor(voters.length / 2) + 1;
    if (sound.length < size) return undefined;
    return this.#stream.shuffled(sound).slice(0, size);
  }

  /**
   * Who is not of the core is gone, or cut off one way or both, or as the faults left it; but not
   * linked to a part of the core only: a leader outside could then keep that part, by right.
   */
  #breakFurther(node: SimNode, core: readonly SimNode[]): void {
    const { wires } = this.#options.nemesis;
    const drawn = this.#stream.pick(['down', 'down', 'mute', 'deaf', 'cut', 'as it is']);
    const isPartial = core.some(
      ({ id }) => wires.isClogged(id, node.id) || wires.isClogged(node.id, id),
    );
    const way = isPartial && drawn === 'as it is' ? 'cut' : drawn;
    if (way === 'down') node.crash(this.#stream.chance(0.5));
    for (const { id } of core) {
      if (way === 'mute' || way === 'cut') wires.clog(node.id, id);
      if (way === 'deaf' || way === 'cut') wires.clog(id, node.id);
    }
  }

  /** Runs until then; false, and Progress is broken, when the time is over. */
  #reach(who: string, isReached: () => boolean): boolean {
    const { world, nemesis, oracle } = this.#options;
    const startUs = world.nowUs;
    world.run(startUs + REST_MS * 1000, isReached);
    if (world.violation !== undefined) return false;
    if (isReached()) {
      const ms = Math.round((world.nowUs - startUs) / 1000);
      oracle.most(`ms until ${who} rests`, ms);
      return true;
    }
    // More was damaged than anybody can repair: to halt is right.
    const halts = nemesis.atlas.beyond && this.#options.nodes.some(({ damaged }) => damaged);
    if (!halts) world.fail('Progress', `${who} is not at rest: ${this.#whyNot()}`);
    return false;
  }

  #writeAll(nodes: readonly SimNode[]): void {
    const { world } = this.#options;
    const endUs = world.nowUs + REST_MS * 1000;
    for (const node of nodes) this.#writeUntilDone(node, endUs);
  }

  /** A write that must get through, asked again when it fails. */
  #writeUntilDone(node: SimNode, endUs: number): void {
    const { world, oracle } = this.#options;
    world.after(200_000, undefined, 'last-write', () => {
      const { replica } = node;
      if (world.nowUs > endUs || node.retired || this.#written.has(node)) return;
      const again = (): void => this.#writeUntilDone(node, endUs);
      if (!node.isUp || replica === undefined) {
        again();
        return;
      }
      let isOver = false;
      node.onEnd(() => {
        if (!isOver) again();
      });
      const writer = writeCommandHead(new BinaryWriter(64), ProcedureId.Put, 1);
      const [key, value] = [Buffer.from(`last-${node.id}`), Buffer.from('x')];
      const flags = { prevKv: false, ignoreValue: false, ignoreLease: false };
      writePut(writer, { key, value, lease: 0n, ...flags });
      const done = (): void => {
        isOver = true;
        this.#written.add(node);
      };
      const failed = (): void => {
        isOver = true;
        again();
      };
      oracle.commands.submit(node, replica, writer.take(), (outcome) => {
        if (outcome?.kind !== 'done') failed();
        else oracle.commands.barrier(node, replica, done, failed);
      });
    });
  }

  /** Machines that are still there. */
  get #present(): SimNode[] {
    return this.#options.nodes.filter((node) => !node.retired);
  }

  get #nothingWaits(): boolean {
    const { oracle, workload } = this.#options;
    return oracle.commands.waiting === 0 && workload.busy === 0;
  }

  /** It has written, follows the one leader of the group, and has all that the history has. */
  #isAtRest(node: SimNode, group: readonly SimNode[]): boolean {
    const { replica } = node;
    if (!node.isUp || replica === undefined || !this.#written.has(node)) return false;
    const { history, configurations } = this.#options.oracle;
    const { raft, state } = replica;
    if (state.appliedIndex !== history.lastIndex || raft.commit !== history.lastIndex) return false;
    if (configurations.current.votersOutgoing.length > 0) return false;
    const leader = group.find(({ id }) => id === raft.leader)?.replica;
    if (leader === undefined || leader.raft.role !== 'leader') return false;
    if (raft.lastIndex !== leader.raft.lastIndex || raft.term !== leader.raft.term) return false;
    return replica.status().health === 'ok';
  }

  #checkEqual(): void {
    const { world, oracle } = this.#options;
    const { history, commands } = oracle;
    const hashes = this.#present.map((node) => node.replica?.state.stateHash());
    if (hashes.some((hash) => hash !== history.hashAt(history.lastIndex))) {
      world.fail('StateHash', `at the end: ${hashes.join(' ')}`);
    }
    commands.checkKept(history.lastIndex);
  }

  /** What is still on its way arrives; then clients check what is owed to them. */
  #clientsSettle(): void {
    const { world, workload } = this.#options;
    world.run(world.nowUs + GRACE_US + 500_000);
    if (world.violation === undefined) workload.settled();
  }

  /** LeaseEventually: nobody renews any more, so all that has a time to live ends. */
  #leasesEnd(): void {
    const { world, workload } = this.#options;
    workload.release();
    const left = (): string[] => this.#present.flatMap((node) => timedOf(node));
    const endUs = world.nowUs + LEASES_MS * 1000;
    // Seldom looked at: it is a walk over all leases.
    while (world.violation === undefined && left().length > 0 && world.nowUs < endUs) {
      world.run(world.nowUs + 1_000_000);
    }
    if (world.violation !== undefined || left().length === 0) return;
    world.fail(
      'LeaseEventually',
      `still there ${LEASES_MS} ms after the end: ${left().join(', ')}`,
    );
  }

  /** Roles, terms and logs of all members. */
  #whyNot(): string {
    const { oracle, workload } = this.#options;
    const { commands, history, configurations } = oracle;
    const open = `${commands.waiting} commands and ${workload.busy} clients wait`;
    const { voters, votersOutgoing, learners } = configurations.current;
    const lists = `voters ${voters.join()} (${votersOutgoing.join()}) learners ${learners.join()}`;
    const members = this.#present.map((node) => this.#describe(node));
    const written = [...this.#written].map(({ id }) => `n${id}`).join(' ');
    const last = `history ends at ${history.lastIndex}, ${lists}`;
    return `last writes of ${written}, ${open}, ${last}; ${members.join('; ')}`;
  }

  #describe(node: SimNode): string {
    const status = node.replica?.status();
    if (status === undefined) return `n${node.id} is not open (${node.stopped ?? 'starting'})`;
    const { role, term, leader, lastIndex, commitIndex, appliedIndex, health, peers } = status;
    const place = `last ${lastIndex} commit ${commitIndex} applied ${appliedIndex}`;
    const stopped = node.stopped === undefined ? '' : ` stopped: ${node.stopped}`;
    const closing = node.isClosing ? ' closing' : '';
    const contact = node.replica?.inContact === true ? 'in contact' : 'no contact';
    const links = peers.map(({ id, state, match, connected }) =>
      connected ? `n${id} ${state} ${match}` : `n${id} not linked`,
    );
    const state = `${role} of ${leader} term ${term} ${place} ${health} ${contact}`;
    return `n${node.id} ${state} (${links.join(', ')})${stopped}${closing}`;
  }
}
