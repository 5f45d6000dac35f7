import { CLOCK_RATE_MAX, CLOCK_RATE_MIN } from '../clock.ts';
import type { Battlefield, Strike } from './nemesis.ts';

/** Clocks that drift, jump and stand still. False: the fault is of another kind. */
export function strikeClock(_field: Battlefield, { fault, node }: Strike): boolean {
  const { kind, forMs, amount } = fault;
  switch (kind) {
    case 'clock rate':
      node.clock.setRate(CLOCK_RATE_MIN + amount * (CLOCK_RATE_MAX - CLOCK_RATE_MIN));
      return true;
    case 'wall jump':
      node.clock.jumpWall((amount - 0.5) * 7_200_000);
      return true;
    case 'suspend':
      // The machine sleeps, and its monotonic clock with it.
      node.clock.sleep(forMs * 1000);
      node.pause(forMs * 1000);
      return true;
    default:
      return false;
  }
}
