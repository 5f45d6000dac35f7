import type { ByteString } from '@lockstep/model';

/**
 * SHA-1 (FIPS 180-4, §6.1) in lower-case hex: the name of a script. Written out here because
 * procedures are pure and may not call the platform's.
 */
export function sha1(text: ByteString): ByteString {
  const words = pad(text);
  const state = new Int32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0]);
  const schedule = new Int32Array(80);
  for (let block = 0; block < words.length; block += 16) mix(state, schedule, words, block);
  let hex = '';
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, '0');
  return hex;
}

function pad(text: ByteString): Int32Array {
  const blocks = Math.ceil((text.length + 9) / 64);
  const words = new Int32Array(blocks * 16);
  for (let i = 0; i < text.length; i++) {
    words[i >> 2]! |= text.charCodeAt(i) << (24 - 8 * (i & 3));
  }
  words[text.length >> 2]! |= 0x80 << (24 - 8 * (text.length & 3));
  words[words.length - 2] = Math.floor(text.length / 2 ** 29);
  words[words.length - 1] = text.length << 3;
  return words;
}

const rotate = (word: number, by: number) => (word << by) | (word >>> (32 - by));

function mix(state: Int32Array, w: Int32Array, words: Int32Array, block: number): void {
  for (let i = 0; i < 16; i++) w[i] = words[block + i]!;
  for (let i = 16; i < 80; i++) {
    w[i] = rotate(w[i - 3]! ^ w[i - 8]! ^ w[i - 14]! ^ w[i - 16]!, 1);
  }
  let [a, b, c, d, e] = state as unknown as [number, number, number, number, number];
  for (let i = 0; i < 80; i++) {
    const next = (rotate(a, 5) + choose(i, b, c, d) + e + w[i]!) | 0;
    e = d;
    d = c;
    c = rotate(b, 30);
    b = a;
    a = next;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
}

/** Round function and its constant. */
function choose(round: number, b: number, c: number, d: number): number {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}
