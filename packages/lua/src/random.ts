/**
 * The host-seeded generator behind math.random: the 48-bit linear congruence of POSIX drand48,
 * the one Redis uses for scripts, so a script draws the same numbers here as there.
 */
export class RandomSequence {
  // Three 16-bit words, lowest first: products stay exact in a double.
  private x0 = 0x330e;
  private x1: number;
  private x2: number;

  constructor(seed: number) {
    this.x1 = 0;
    this.x2 = 0;
    this.seed(seed);
  }

  /** Starts over; `seed` is taken as a 32-bit integer. */
  seed(seed: number): void {
    this.x0 = 0x330e;
    this.x1 = seed & 0xffff;
    this.x2 = (seed >>> 16) & 0xffff;
  }

  /** The next integer of 31 bits. */
  next(): number {
    // x = x * 0x5DEECE66D + 11 mod 2^48, word by word.
    const low = this.x0 * 0xe66d + 0xb;
    const middle = this.x1 * 0xe66d + this.x0 * 0xdeec + Math.floor(low / 65_536);
    const high = this.x2 * 0xe66d + this.x1 * 0xdeec + this.x0 * 0x5 + Math.floor(middle / 65_536);
    this.x0 = low % 65_536;
    this.x1 = middle % 65_536;
    this.x2 = high % 65_536;
    return this.x2 * 32_768 + (this.x1 >>> 1);
  }
}
