import { OpCode } from '../src/opcodes.ts';
import { type Body, body, type MultiOperation } from './frames.ts';

/** A request of a random run. */
export type RandomRequest = readonly [type: number, body: Body];

/** Small deterministic generator; the seed is all there is to a run. */
export class RandomRequests {
  readonly #root: string;
  #state: number;

  constructor(seed: number, root: string) {
    this.#root = root;
    this.#state = seed >>> 0 || 1;
  }

  /** Uniform in 0 … bound − 1 (xorshift32). */
  below(bound: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % bound;
  }

  /** Few paths of up to three levels, so that requests meet. */
  #path(): string {
    let path = this.#root;
    for (let depth = this.below(3); depth >= 0; depth--) path += `/${'abc'[this.below(3)]}`;
    return path;
  }

  #version(): number {
    return this.below(3) > 0 ? -1 : this.below(4);
  }

  #change(): MultiOperation {
    const path = this.#path();
    switch (this.below(8)) {
      case 0:
      case 1:
        return [OpCode.Create, body.create(path, 'x'.repeat(this.below(9)), this.below(4))];
      case 2:
        return [OpCode.Create2, body.create(path, null, 0)];
      case 3:
        return [OpCode.CreateContainer, body.create(path, '', 4)];
      case 4:
        return [OpCode.SetData, body.setData(path, 'y'.repeat(this.below(9)), this.#version())];
      case 5:
        return [OpCode.CreateTtl, body.createTtl(path, 1_000_000 - this.below(2) * 2_000_000)];
      default:
        return [OpCode.Delete, body.version(path, this.#version())];
    }
  }

  /** A change, a multi of changes, or a read that may leave a watch. */
  next(): RandomRequest {
    const path = this.#path();
    switch (this.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return this.#change();
      case 4: {
        const operations = Array.from({ length: this.below(5) }, () => this.#change());
        if (this.below(3) === 0)
          operations.push([OpCode.Check, body.version(path, this.#version())]);
        return [OpCode.Multi, body.multi(...operations)];
      }
      case 5:
        return [OpCode.GetData, body.read(path, this.below(2) === 0)];
      case 6:
        return [OpCode.GetChildren2, body.read(path, this.below(2) === 0)];
      case 7:
        return [OpCode.Exists, body.read(path, this.below(2) === 0)];
      case 8:
        return [OpCode.GetEphemerals, body.path(this.#root)];
      default:
        return [OpCode.GetAllChildrenNumber, body.path(path)];
    }
  }
}
