import type { Clock, Scheduler, Timer } from '@lockstep/model';
import type { Life, Scheduled, World } from './world.ts';

/** Clock rates are drawn within this, on purpose far beyond real quartz. */
export const CLOCK_RATE_MAX = 1.1;
export const CLOCK_RATE_MIN = 0.9;

const WALL_BASE_MS = 1_700_000_000_000;
/** What a posted call-back costs, so that time moves even in a tight exchange. */
const POST_US = 3;

/** The clock of one machine: rate and wall offset of its own; it outlives the processes on it. */
export class NodeClock {
  readonly #world: World;
  /** Timers go off at whole multiples of this. */
  readonly #granularityMs: number;
  /** When it woke from its last sleep, or will. */
  awakeSinceUs = 0;
  #rate: number;
  /** From then on it counts; in the future while the machine sleeps. */
  #baseUs = 0;
  #baseMs: number;
  #wallOffsetMs: number;

  constructor(world: World, rate: number, originMs: number, wallOffsetMs: number, granularity = 0) {
    this.#world = world;
    this.#rate = rate;
    this.#baseMs = originMs;
    this.#wallOffsetMs = wallOffsetMs;
    this.#granularityMs = granularity;
  }

  monotonicMs(): number {
    const awakeUs = Math.max(0, this.#world.nowUs - this.#baseUs);
    return this.#baseMs + (awakeUs / 1000) * this.#rate;
  }

  wallMs(): number {
    return Math.floor(WALL_BASE_MS + this.#wallOffsetMs + this.monotonicMs());
  }

  setRate(rate: number): void {
    this.#rebase();
    this.#rate = rate;
  }

  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Stands still for so long; the wall clock, set right on waking, has gone on. */
  sleep(us: number): void {
    this.awakeSinceUs = Math.max(this.awakeSinceUs, this.#world.nowUs + us);
    this.#rebase();
    const untilUs = Math.max(this.#baseUs, this.#world.nowUs + us);
    this.#wallOffsetMs += (untilUs - this.#baseUs) / 1000;
    this.#baseUs = untilUs;
  }

  /** Wakes now if it sleeps. */
  resume(): void {
    this.#baseUs = Math.min(this.#baseUs, this.#world.nowUs);
  }

  /** Counts from now on; what sleeps goes on sleeping. */
  #rebase(): void {
    if (this.#baseUs > this.#world.nowUs) return;
    this.#baseMs = this.monotonicMs();
    this.#baseUs = this.#world.nowUs;
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
    const world = this.#world;
    let dueMs = this.monotonicMs() + Math.max(0, delayMs);
    if (this.#granularityMs > 0) {
      dueMs = Math.ceil(dueMs / this.#granularityMs) * this.#granularityMs;
    }
    let event: Scheduled;
    const arm = (): void => {
      const leftMs = dueMs - this.monotonicMs();
      event = world.after(Math.ceil((leftMs * 1000) / this.#rate) + 1, life, 'timer', fire);
    };
    // A slower rate or a sleep since then: not before the delay has passed on this clock.
    const fire = (): void => {
      if (this.monotonicMs() < dueMs) arm();
      else callback();
    };
    arm();
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
