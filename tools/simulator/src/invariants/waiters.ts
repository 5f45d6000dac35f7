import { type Incarnation, LeaseKind, type MemberId } from '@lockstep/model';
import type { AppliedTransaction } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/**
 * WaiterAlive, on the canonical history: nobody is served who waited at a process that is gone,
 * that is, whose member has said hello again or has lost its lease (design §4, §9).
 */
export class Waiters {
  readonly #world: World;
  /** Lowest incarnation of each member that may be alive. */
  readonly #alive = new Map<MemberId, Incarnation>();

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({ transaction: (transaction) => this.#transaction(transaction) });
  }

  #transaction({ events }: AppliedTransaction): void {
    for (const event of events) {
      if (event.kind === 'lease-ended' && event.lease.kind === LeaseKind.Member) {
        const { id, incarnation } = event.lease;
        this.#alive.set(Number(id), incarnation + 1);
      }
      if (event.kind !== 'waiter' || event.outcome !== 'served') continue;
      const { id, origin, incarnation } = event.waiter;
      if (incarnation >= (this.#alive.get(origin) ?? 0)) continue;
      const what = `of member ${origin}'s incarnation ${incarnation}, which is gone`;
      this.#world.fail('WaiterAlive', `waiter ${id} is served: it is ${what}`);
    }
  }
}
