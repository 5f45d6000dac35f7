import type { Index } from '@lockstep/model';
import { hashText } from '../state-hash.ts';

const SIZE = 4096;

/** State hashes after the latest entries: what a hash check from the log is compared with. Not
 * part of the state: a member that was just started knows none and checks nothing. */
export class HashRing {
  readonly #indexes = new Float64Array(SIZE);
  readonly #lanes = new Int32Array(2 * SIZE);

  add(index: Index, a: number, b: number): void {
    const at = index % SIZE;
    this.#indexes[at] = index;
    this.#lanes[2 * at] = a;
    this.#lanes[2 * at + 1] = b;
  }

  /** Sixteen hex digits; undefined when that entry is not remembered. */
  get(index: Index): string | undefined {
    const at = index % SIZE;
    if (this.#indexes[at] !== index || index === 0) return undefined;
    return hashText(this.#lanes[2 * at]!, this.#lanes[2 * at + 1]!);
  }
}
