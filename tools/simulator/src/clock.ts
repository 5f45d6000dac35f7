import type { Clock, Scheduler, Timer } from '@lockstep/model';
import type { Life, World } from './world.ts';

/** Clock rates are drawn within this, on purpose far beyond real quartz. */
export const CLOCK_RATE_MAX = 1.1;
export const CLOCK_RATE_MIN = 0.9;

const WALL_BASE_MS = 1_700_000_000_000;
/** What a posted call-back costs, so that time moves even in a tight exchange. */
const POST_US = 3;

/** The clock of one machine: rate and wall offset of its own; it outlives the processes on it. */
export class NodeClock {
  readonly #world: World;
  #rate: number;
  #baseUs = 0;
  #baseMs: number;
  #wallOffsetMs: number;

  constructor(world: World, rate: number, originMs: number, wallOffsetMs: number) {
    this.#world = world;
    this.#rate = rate;
    this.#baseMs = originMs;
    this.#wallOffsetMs = wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#baseMs + ((this.#world.nowUs - this.#baseUs) / 1000) * this.#rate;
  }

  wallMs(): number {
    return Math.floor(WALL_BASE_MS + this.#wallOffsetMs + this.monotonicMs());
  }

  setRate(rate: number): void {
    this.#baseMs = this.monotonicMs();
    this.#baseUs = this.#world.nowUs;
    this.#rate = rate;
  }

  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** The Clock port of one process life. */
  clockOf(life: Life): Clock {
    return {
      monotonicMs: () => this.monotonicMs(),
      wallMs: () => this.wallMs(),
      setTimer: (delayMs, callback) => this.#timer(life, delayMs, callback),
    };
  }

  #timer(life: Life, delayMs: number, callback: () => void): Timer {
    const delayUs = Math.ceil((Math.max(0, delayMs) * 1000) / this.#rate) + 1;
    const event = this.#world.after(delayUs, life, 'timer', callback);
    return {
      cancel: () => {
        event.run = undefined;
      },
    };
  }
}

/** The Scheduler port of one process life. */
export function schedulerOf(world: World, life: Life): Scheduler {
  return { post: (callback) => void world.after(POST_US, life, 'post', callback) };
}
