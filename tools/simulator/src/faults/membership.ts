import {
  encodeAddMember,
  encodeRemoveMember,
  encodeUpdateMember,
  type MembershipOutcome,
} from '@lockstep/state-machine';
import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { World } from '../world.ts';

/** As many members as a run may come to have, those that left included. */
const MEMBERS_MAX = 9;

/** What an operator does: adds a machine as learner, promotes it, removes a member for good. */
export class Membership {
  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #nodes: readonly SimNode[];
  readonly #admit: (id: number) => void;
  #count: number;
  #settling = false;
  /** Wishes without a certain outcome. */
  #open = 0;
  hasShrunk = false;

  constructor(
    world: World,
    oracle: Oracle,
    nodes: readonly SimNode[],
    admit: (id: number) => void,
  ) {
    this.#world = world;
    this.#oracle = oracle;
    this.#nodes = nodes;
    this.#admit = admit;
    this.#count = nodes.length;
    oracle.configurations.changed = () => this.#changed();
  }

  /** True while the configuration may still change by itself: a wish is under way, its outcome is
   * unknown, or the configuration has not followed the records yet. */
  get isChanging(): boolean {
    const { current } = this.#oracle.configurations;
    if (this.#open > 0 || current.votersOutgoing.length > 0) return true;
    const states = this.#nodes.map(({ replica }) => replica?.state);
    const newest = states.reduce((a, b) =>
      (b?.appliedIndex ?? 0) > (a?.appliedIndex ?? 0) ? b : a,
    );
    const records = newest?.members() ?? [];
    const wanted = records.map(({ id, learner }) => `${id}${learner ? '?' : ''}`).sort();
    const learners = current.learners.map((id) => `${id}?`);
    return wanted.join() !== [...current.voters.map(String), ...learners].sort().join();
  }

  grow(forMs: number): void {
    if (this.#count >= MEMBERS_MAX) return;
    this.#count += 1;
    const name = `n${this.#count}`;
    const etcdId = BigInt(this.#count + 1000);
    const command = encodeAddMember({ name, etcdId, peerAddress: `${name}:2380`, learner: true });
    this.#ask(undefined, command, (id) => {
      // Too late for this run: a learner that never comes does not matter.
      if (this.#settling) return;
      this.#world.trace(() => `n${id} is added`);
      this.#admit(id);
      this.#after(forMs, () => this.#setLearner(id, false));
    });
  }

  /** Never below two voters, and not while a damaged member may be unable to vote. */
  shrink(victim: SimNode, forMs: number): void {
    if (!this.#mayLoseVoter(victim, 3)) return;
    this.#remove(victim, forMs);
  }

  /** Another machine takes the place of this one. */
  replace(victim: SimNode, forMs: number): void {
    if (!this.#mayLoseVoter(victim, 2) || this.#count >= MEMBERS_MAX) return;
    this.grow(forMs / 2);
    this.#after(forMs, () => {
      if (this.#mayLoseVoter(victim, 3)) this.#remove(victim, forMs);
    });
  }

  /** A voter becomes a learner, and a voter again. */
  demote(victim: SimNode, forMs: number): void {
    if (!this.#mayLoseVoter(victim, 3)) return;
    this.hasShrunk = true;
    this.#setLearner(victim.id, true);
    this.#after(forMs, () => this.#setLearner(victim.id, false));
  }

  /**
   * The disk of a member is lost and an empty one put in its place, under the old id. It must be
   * refused wherever it knocks; the operator then replaces the member.
   */
  wipe(victim: SimNode, forMs: number): void {
    if (!this.#mayLoseVoter(victim, 3)) return;
    if (this.#nodes.some(({ isWiped }) => isWiped)) return;
    // Before everybody knows the first directory, the second cannot be told from it.
    const known = this.#nodes.every((node) => {
      const records = node.replica?.state.members() ?? [];
      return records.some(({ id, dataDirectory }) => id === victim.id && dataDirectory !== '');
    });
    if (!known) return;
    this.#leaves(victim);
    victim.wipe();
    this.#after(forMs / 4, () => victim.start());
    this.#after(forMs, () => this.#askRemoval(victim, 0));
    this.grow(forMs);
  }

  /** From now on machines that are no members any more go at once. */
  settle(): void {
    this.#settling = true;
    this.#changed();
    for (const node of this.#nodes) if (node.isWiped) node.retire();
  }

  #mayLoseVoter(victim: SimNode, atLeast: number): boolean {
    const { voters } = this.#oracle.configurations.current;
    const leaving = this.#nodes.filter(({ mayLeave, retired }) => mayLeave && !retired);
    if (voters.length - leaving.length < atLeast || !voters.includes(victim.id)) return false;
    return !victim.mayLeave && !this.#nodes.some(({ damaged }) => damaged);
  }

  #remove(victim: SimNode, forMs: number): void {
    if (victim.mayLeave) return;
    this.#leaves(victim);
    this.#askRemoval(victim, forMs);
  }

  #leaves(victim: SimNode): void {
    this.hasShrunk = true;
    victim.mayLeave = true;
    this.#oracle.commands.removed.add(victim.id);
  }

  #askRemoval(victim: SimNode, forMs: number): void {
    this.#ask(victim, encodeRemoveMember(victim.id), () => {
      this.#world.trace(() => `n${victim.id} is removed`);
      this.#after(forMs, () => {
        if (!this.#oracle.configurations.has(victim.id)) victim.retire();
      });
    });
  }

  #setLearner(id: number, learner: boolean): void {
    this.#ask(undefined, encodeUpdateMember({ member: id, learner }), () => {});
  }

  #changed(): void {
    if (!this.#settling) return;
    for (const node of this.#nodes) {
      if (node.retired || !node.mayLeave || this.#oracle.configurations.has(node.id)) continue;
      // Not from inside an apply: the machine may be the one that tells.
      this.#world.after(1, undefined, 'operator', () => node.retire());
    }
  }

  #after(ms: number, run: () => void): void {
    this.#world.after(ms * 1000, undefined, 'operator', () => {
      if (!this.#settling) run();
    });
  }

  /** Through any member that runs, but not through the one that leaves. */
  #ask(except: SimNode | undefined, command: Uint8Array, done: (member: number) => void): void {
    const node = this.#nodes.find((each) => {
      return each.isUp && each !== except && !each.mayLeave && !each.isWiped;
    });
    if (node?.replica === undefined) return;
    this.#open += 1;
    this.#oracle.commands.submit(node, node.replica, command, (outcome) => {
      if (outcome?.kind !== 'done') return;
      this.#open -= 1;
      const result = outcome.result as MembershipOutcome;
      if (result.kind === 'changed') done(result.member);
    });
  }
}
