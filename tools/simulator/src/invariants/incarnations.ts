import { type Incarnation, LeaseKind, type MemberId } from '@lockstep/model';
import type { AppliedTransaction, CommandOutcome } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import type { History } from './history.ts';

/**
 * IncarnationAlive, on the canonical history: once a process is gone, because its member has said
 * hello again or has lost its lease, none of its commands applies, and nobody who waited there is
 * served (design §4, §9).
 */
export class Incarnations {
  readonly #world: World;
  /** Lowest incarnation of each member that may be alive. */
  readonly #alive = new Map<MemberId, Incarnation>();

  constructor(world: World, history: History) {
    this.#world = world;
    history.listeners.push({
      transaction: (transaction) => this.#transaction(transaction),
      result: (key, outcome) => this.#result(key, outcome),
    });
  }

  #transaction({ events }: AppliedTransaction): void {
    for (const event of events) {
      if (event.kind === 'lease-ended' && event.lease.kind === LeaseKind.Member) {
        const { id, incarnation } = event.lease;
        this.#alive.set(Number(id), incarnation + 1);
      }
      if (event.kind !== 'waiter' || event.outcome !== 'served') continue;
      const { id, origin, incarnation } = event.waiter;
      this.#check(origin, incarnation, `waiter ${id} is served`);
    }
  }

  #result(key: string, outcome: CommandOutcome): void {
    if (outcome.kind !== 'done') return;
    const [member, incarnation, sequence] = key.split('/').map(Number) as [number, number, number];
    // The hello of a member that was removed is answered again and again.
    if (sequence > 1) this.#check(member, incarnation, `command ${key} applies`);
  }

  #check(member: MemberId, incarnation: Incarnation, what: string): void {
    if (incarnation >= (this.#alive.get(member) ?? 0)) return;
    const whose = `incarnation ${incarnation} of member ${member} is gone`;
    this.#world.fail('IncarnationAlive', `${what}, but ${whose}`);
  }
}
