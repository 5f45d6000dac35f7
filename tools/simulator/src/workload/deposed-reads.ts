import type { SimNode } from '../node.ts';
import type { Oracle } from '../oracle.ts';
import type { World } from '../world.ts';

const EVERY_US = 50_000;

/**
 * Reads at leaders that another one has replaced. A cut-off leader's own clients are soon stuck in
 * their writes, so that nobody would ask it just when it must not answer (catalogue R-5).
 */
export class DeposedReads {
  readonly #world: World;
  readonly #oracle: Oracle;
  readonly #nodes: readonly SimNode[];
  #stopped = false;

  constructor(world: World, oracle: Oracle, nodes: readonly SimNode[]) {
    this.#world = world;
    this.#oracle = oracle;
    this.#nodes = nodes;
  }

  start(): void {
    this.#world.after(EVERY_US, undefined, 'deposed-reads', () => {
      if (this.#stopped) return;
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
  }

  #look(): void {
    const leaders = this.#nodes.filter(
      ({ isUp, replica }) => isUp && replica?.raft.role === 'leader',
    );
    if (leaders.length < 2) return;
    const newest = Math.max(...leaders.map(({ replica }) => replica!.raft.term));
    for (const node of leaders) {
      const { replica } = node;
      if (replica === undefined || replica.raft.term === newest) continue;
      this.#oracle.count('read at a deposed leader');
      const done = (): void => {};
      this.#oracle.commands.barrier(node, replica, done, done);
    }
  }
}
