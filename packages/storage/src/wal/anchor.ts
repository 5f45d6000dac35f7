import { crc32 } from 'node:zlib';
import type { Done, FileError, FileHandle, FileSystem, Index, Term } from '@lockstep/model';

/** Proof that the log was once durable up to a record. */
export interface AnchorPoint {
  readonly segment: number;
  /** Sequence number of the record. */
  readonly sequence: number;
  readonly lastIndex: Index;
  readonly lastTerm: Term;
}

const SLOT_BYTES = 4096;
const MAGIC = 0x484e_414c;
export const ANCHOR_BYTES = 2 * SLOT_BYTES;
const USED_BYTES = 48;

/** Encodes one slot; the slot with the greater counter counts. */
export function encodeAnchor(point: AnchorPoint, counter: number): Uint8Array {
  const bytes = Buffer.alloc(SLOT_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeDoubleLE(counter, 8);
  bytes.writeUInt32LE(point.segment, 16);
  bytes.writeDoubleLE(point.sequence, 24);
  bytes.writeDoubleLE(point.lastIndex, 32);
  bytes.writeDoubleLE(point.lastTerm, 40);
  bytes.writeUInt32LE(crc32(bytes.subarray(8, USED_BYTES)), 4);
  return bytes;
}

/** The newest valid slot; a torn one leaves the other. */
export function decodeAnchor(
  bytes: Uint8Array,
): { point: AnchorPoint; counter: number } | undefined {
  let newest: { point: AnchorPoint; counter: number } | undefined;
  for (let start = 0; start + USED_BYTES <= bytes.length; start += SLOT_BYTES) {
    const slot = Buffer.from(bytes.buffer, bytes.byteOffset + start, USED_BYTES);
    if (slot.readUInt32LE(0) !== MAGIC) continue;
    if (slot.readUInt32LE(4) !== crc32(slot.subarray(8))) continue;
    const counter = slot.readDoubleLE(8);
    if (newest !== undefined && newest.counter > counter) continue;
    const point = {
      segment: slot.readUInt32LE(16),
      sequence: slot.readDoubleLE(24),
      lastIndex: slot.readDoubleLE(32),
      lastTerm: slot.readDoubleLE(40),
    };
    newest = { point, counter };
  }
  return newest;
}

/** Writes anchor points beside the commit path: one at a time, the newest wins. */
export class Anchor {
  readonly #fileSystem: FileSystem;
  readonly #file: FileHandle;
  readonly #failed: (error: FileError) => void;
  #counter: number;
  #isWriting = false;
  #idle: (() => void) | undefined;

  constructor(
    fileSystem: FileSystem,
    file: FileHandle,
    counter: number,
    failed: (error: FileError) => void,
  ) {
    this.#fileSystem = fileSystem;
    this.#file = file;
    this.#counter = counter;
    this.#failed = failed;
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** The point must be durable already. Skipped while another one is being written. */
  write(point: AnchorPoint): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#counter += 1;
    const slot = encodeAnchor(point, this.#counter);
    const offset = (this.#counter % 2) * SLOT_BYTES;
    this.#fileSystem.write(this.#file, [slot], offset, (error) => {
      if (error !== undefined) this.#finish(error);
      else this.#fileSystem.sync(this.#file, (failure) => this.#finish(failure));
    });
  }

  #finish(error: FileError | undefined): void {
    this.#isWriting = false;
    if (error !== undefined) this.#failed(error);
    this.#idle?.();
  }

  close(done: Done): void {
    const close = (): void => this.#fileSystem.close(this.#file, done);
    if (!this.#isWriting) close();
    else this.#idle = close;
  }
}
