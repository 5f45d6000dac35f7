import type { Stream } from '../seed.ts';
import type { Life, World } from '../world.ts';

/** Least time on the way. */
const TRAVEL_US = 30;

/** One direction of a client's connection: what is sent arrives in order, or never. */
export class Pipe {
  readonly #world: World;
  readonly #stream: Stream;
  readonly #owner: Life | undefined;
  readonly #meanUs: number;
  #lastUs = 0;
  #open = true;
  #held: (() => void)[] | undefined;

  /** `owner` receives: what arrives after its end is lost, during its pause late. */
  constructor(world: World, stream: Stream, owner: Life | undefined, meanUs: number) {
    this.#world = world;
    this.#stream = stream;
    this.#owner = owner;
    this.#meanUs = meanUs;
  }

  send(deliver: () => void): void {
    if (!this.#open) return;
    const arrivesUs = this.#world.nowUs + TRAVEL_US + this.#stream.exponential(this.#meanUs);
    this.#lastUs = Math.max(this.#lastUs, Math.round(arrivesUs));
    this.#world.at(this.#lastUs, this.#owner, 'pipe', () => {
      if (this.#held !== undefined) this.#held.push(deliver);
      else if (this.#open) deliver();
    });
  }

  /** The receiver takes nothing any more until `resume`. */
  hold(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    for (const [at, deliver] of held.entries()) {
      // What is delivered may hold the pipe again.
      if (this.#held !== undefined) {
        (this.#held as (() => void)[]).push(...held.slice(at));
        return;
      }
      if (this.#open) deliver();
    }
  }

  /** Loses whatever has not arrived. */
  cut(): void {
    this.#open = false;
    this.#held = undefined;
  }
}
