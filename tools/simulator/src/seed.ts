import type { Random } from '@lockstep/model';

/** FNV-1a over the UTF-16 units of a text; also the running digest of a run. */
export function mixText(hash: number, text: string): number {
  let mixed = hash;
  for (let i = 0; i < text.length; i++) mixed = Math.imul(mixed ^ text.charCodeAt(i), 0x01000193);
  return mixed >>> 0;
}

export function mixNumber(hash: number, value: number): number {
  const low = Math.imul(hash ^ (value >>> 0), 0x01000193);
  return Math.imul(low ^ Math.floor(value / 2 ** 32), 0x85ebca6b) >>> 0;
}

/**
 * One stream of random numbers (xoshiro128**). Each use has a stream of its own by label, so that
 * taking a fault away does not shift what the others draw.
 */
export class Stream implements Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number, label: string) {
    const words: number[] = [];
    let state = mixText(mixNumber(0x811c9dc5, seed), label);
    for (let i = 0; i < 4; i++) {
      state = (state + 0x9e3779b9) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
      words.push((mixed ^ (mixed >>> 15)) >>> 0);
    }
    [this.#a, this.#b, this.#c, this.#d] = words as [number, number, number, number];
  }

  u32(): number {
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.u32() & 255;
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    return this.u32() / 2 ** 32;
  }

  /** Whole number in 0 … count − 1. */
  below(count: number): number {
    return Math.floor(this.fraction() * count);
  }

  /** Whole number in low … high, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Exponentially distributed, cut at twenty times the mean. */
  exponential(mean: number): number {
    return Math.min(20 * mean, -mean * Math.log(1 - this.fraction()));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** The same in another order. */
  shuffled<T>(items: readonly T[]): T[] {
    const result = [...items];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [result[i], result[j]] = [result[j]!, result[i]!];
    }
    return result;
  }
}
