import type { MemberId } from '@lockstep/model';
import type { SimNode } from '../node.ts';
import type { Damage } from '../settings.ts';
import type { World } from '../world.ts';

/** What damage at rest or in a running member's files may strike. */
export type Medium = 'log' | 'image';

/**
 * Where damage may strike, so that of each thing a good quorum copy remains (reference §4.3): for
 * the logs and for the images a minority of the founders each, chosen before the run, not always
 * the same. In a run `beyond` that rule everybody may be struck; then members may halt for good,
 * but still must not tell anything wrong.
 */
export class Atlas {
  readonly beyond: boolean;
  readonly #victims: Record<Medium, ReadonlySet<MemberId>>;

  constructor(world: World, founders: number, damage: Damage) {
    const stream = world.stream('atlas');
    const minority = Math.floor((founders - 1) / 2);
    this.beyond = damage === 'beyond';
    const ids = Array.from({ length: founders }, (_, at) => at + 1);
    const draw = (): ReadonlySet<MemberId> => {
      if (this.beyond) return new Set(ids);
      return new Set(stream.shuffled(ids).slice(0, minority));
    };
    this.#victims = { log: draw(), image: draw() };
  }

  mayDamage(node: SimNode, medium: Medium): boolean {
    return this.#victims[medium].has(node.id);
  }
}
