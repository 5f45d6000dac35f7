const EMPTY = Buffer.alloc(0);

/** What `next` found. */
export type Frame = Buffer | 'incomplete' | 'oversized';

/**
 * Cuts a byte stream into frames. A chunk is used where it lies; only a frame that spans chunks is
 * copied, into a buffer that doubles, so that a slow trickle costs no more than a fast stream.
 */
export class FrameAssembler {
  readonly #frameBytesMax: number;
  #buffer: Buffer = EMPTY;
  #start = 0;
  #end = 0;
  #owned = false;

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Bytes received and not yet taken. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Takes over the chunk. Frames taken before are no longer valid. */
  push(chunk: Buffer): void {
    const kept = this.length;
    if (kept === 0) {
      this.#buffer = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      this.#owned = false;
      return;
    }
    const needed = kept + chunk.length;
    if (!this.#owned || this.#end + chunk.length > this.#buffer.length) {
      const fits = this.#owned && needed <= this.#buffer.length;
      const target = fits ? this.#buffer : Buffer.allocUnsafeSlow(needed * 2);
      this.#buffer.copy(target, 0, this.#start, this.#end);
      this.#buffer = target;
      this.#start = 0;
      this.#end = kept;
      this.#owned = true;
    }
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
  }

  /** The next bytes without taking them; undefined while there are fewer. */
  peek(count: number): Buffer | undefined {
    if (this.length < count) return undefined;
    return this.#buffer.subarray(this.#start, this.#start + count);
  }

  /** The payload of the next frame as a view that is valid until the next `push`. */
  next(): Frame {
    if (this.length < 4) return 'incomplete';
    const length = this.#buffer.readInt32BE(this.#start);
    if (length < 0 || length > this.#frameBytesMax) return 'oversized';
    const at = this.#start + 4;
    if (at + length > this.#end) return 'incomplete';
    this.#start = at + length;
    const frame = this.#buffer.subarray(at, this.#start);
    if (this.#start === this.#end) this.clear();
    return frame;
  }

  /** Lets go of everything received. */
  clear(): void {
    this.#buffer = EMPTY;
    this.#start = 0;
    this.#end = 0;
    this.#owned = false;
  }
}
