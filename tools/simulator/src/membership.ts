import { encodeAddMember, encodeRemoveMember, encodeUpdateMember } from '@lockstep/state-machine';
import type { SimNode } from './node.ts';
import type { Oracle } from './oracle.ts';
import type { World } from './world.ts';

/** As many members as a run may come to have. */
const MEMBERS_MAX = 6;

/** What an operator does: adds a machine as learner, promotes it, removes a member for good. */
export class Membership {
  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #nodes: readonly SimNode[];
  readonly #admit: (id: number) => void;
  #count: number;
  #settling = false;
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

  grow(forMs: number): void {
    if (this.#count >= MEMBERS_MAX) return;
    this.#count += 1;
    const name = `n${this.#count}`;
    const etcdId = BigInt(this.#count + 1000);
    const command = encodeAddMember({ name, etcdId, peerAddress: `${name}:2380`, learner: true });
    this.#ask(undefined, command, (result) => {
      const id = result as number;
      // Too late for this run: a learner that never comes does not matter.
      if (this.#settling) return;
      this.#world.trace(() => `n${id} is added`);
      this.#admit(id);
      this.#world.after(forMs * 1000, undefined, 'operator', () => {
        this.#ask(undefined, encodeUpdateMember({ member: id, learner: false }), () => {});
      });
    });
  }

  /** Never below two voters, and not while a damaged member may be unable to vote. */
  shrink(victim: SimNode, forMs: number): void {
    const { voters } = this.#oracle.configurations.current;
    const leaving = this.#nodes.filter(({ mayLeave, retired }) => mayLeave && !retired);
    if (voters.length - leaving.length < 3 || !voters.includes(victim.id)) return;
    if (this.#nodes.some(({ damaged }) => damaged)) return;
    this.hasShrunk = true;
    victim.mayLeave = true;
    this.#oracle.commands.removed.add(victim.id);
    this.#ask(victim, encodeRemoveMember(victim.id), () => {
      this.#world.trace(() => `n${victim.id} is removed`);
      this.#world.after(forMs * 1000, undefined, 'operator', () => {
        if (!this.#oracle.configurations.has(victim.id)) victim.retire();
      });
    });
  }

  /** From now on machines that are no members any more go at once. */
  settle(): void {
    this.#settling = true;
    this.#changed();
  }

  #changed(): void {
    if (!this.#settling) return;
    for (const node of this.#nodes) {
      if (node.retired || !node.mayLeave || this.#oracle.configurations.has(node.id)) continue;
      // Not from inside an apply: the machine may be the one that tells.
      this.#world.after(1, undefined, 'operator', () => node.retire());
    }
  }

  /** Through any member that runs, but not through the one that leaves. */
  #ask(except: SimNode | undefined, command: Uint8Array, done: (result: unknown) => void): void {
    const node = this.#nodes.find((each) => each.isUp && each !== except && !each.mayLeave);
    if (node?.replica === undefined) return;
    this.#oracle.commands.submit(node, node.replica, command, (outcome) => {
      if (outcome?.kind === 'done') done(outcome.result);
    });
  }
}
