/**
 * Bytes have two shapes. `Uint8Array` for values and frames; `ByteString` for keys: a string with
 * one char (0–255) per byte, so that `===` and `<` compare as bytes do and a Map can hash it.
 */
export type ByteString = string;

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Bytes to a byte string. Copies. */
export function toByteString(bytes: Uint8Array): ByteString {
  return asBuffer(bytes).toString('latin1');
}

/** A byte string to bytes. Copies; the caller owns the result. */
export function fromByteString(text: ByteString): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** UTF-8 text (a literal, an error message) to bytes. */
export function utf8Bytes(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** Bytes decoded as UTF-8; invalid sequences become U+FFFD. For messages, never for keys. */
export function utf8Text(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('utf8');
}

/** Byte order: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** True when both hold the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

const SLAB_BYTES = 2048;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let slabUsed = 0;

/**
 * A copy for keeping: a small view would keep its whole frame alive. Copies up to 512 bytes share
 * slabs of 2 KiB, which is what one of them may pin: an ArrayBuffer each costs several times the
 * copy, in time and in the collector's work.
 */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  let copy: Buffer;
  if (length > SLAB_BYTES / 4) copy = Buffer.allocUnsafeSlow(length);
  else {
    if (slabUsed + length > SLAB_BYTES) {
      slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      slabUsed = 0;
    }
    copy = slab.subarray(slabUsed, slabUsed + length);
    // Aligned, so that copies of words are cheap.
    slabUsed += (length + 7) & ~7;
  }
  copy.set(bytes);
  return copy;
}

export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);
