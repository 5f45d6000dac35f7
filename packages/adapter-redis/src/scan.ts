import type { ByteString } from '@lockstep/model';
import type { KeyspaceIndex, LiveRecord } from '@lockstep/state-machine';

const HASH_BITS = 48;
const BUCKET_KEYS_MAX = 64;
/** Bounds the directory (a million slots) against keys chosen to share leading bits. */
const DEPTH_MAX = 20;

/**
 * The fixed 48-bit hash that orders SCAN on every member (design §9): two multiply-xor lanes over
 * the bytes, each finished by an avalanche. Part of the protocol: cursors survive failover.
 */
export function scanHash(key: ByteString): number {
  let a = 0x811c9dc5 ^ key.length;
  let b = 0x9747b28c;
  for (let i = 0; i < key.length; i++) {
    const byte = key.charCodeAt(i);
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x5bd1e995);
    b ^= b >>> 15;
  }
  return avalanche(a ^ b) * 65_536 + (avalanche(b + Math.imul(a, 0x85ebca6b)) & 0xffff);
}

function avalanche(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Keys in the order of their hash, equal hashes in the order of the keys. */
interface Bucket {
  /** Leading bits of the hash that its keys share. */
  readonly depth: number;
  readonly keys: ByteString[];
  /** Of each key: keys may be long, and a page must not cost more than what it gives. */
  readonly hashes: number[];
}

const emptyBucket = (depth: number): Bucket => ({ depth, keys: [], hashes: [] });

/** One page of SCAN: `next` is 0 at the end. */
export interface ScanPage {
  readonly keys: ByteString[];
  readonly next: number;
}

/**
 * The keys of one keyspace by leading bits of their hash: an extendible hash directory, so that
 * buckets lie in hash order, as do the keys in each. What a reader sees depends on the set of keys
 * alone, never on the order in which they came.
 */
export class ScanIndex implements KeyspaceIndex {
  #depth = 0;
  #size = 0;
  #directory: Bucket[] = [emptyBucket(0)];

  changed(key: ByteString, before: LiveRecord | undefined, after: LiveRecord | undefined): void {
    if (before === undefined && after !== undefined) this.#add(key);
    else if (before !== undefined && after === undefined) this.#remove(key);
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  cleared(): void {
    this.#depth = 0;
    this.#size = 0;
    this.#directory = [emptyBucket(0)];
  }

  /**
   * Keys whose hash is at least `from`, in hash order, at least `count` of them if there are as
   * many; keys of equal hash share a page.
   */
  page(from: number, count: number): ScanPage {
    const keys: ByteString[] = [];
    let last = -1;
    let at = this.#slot(from);
    while (at < this.#directory.length) {
      const bucket = this.#directory[at]!;
      for (let i = firstFrom(bucket, from); i < bucket.keys.length; i++) {
        const hash = bucket.hashes[i]!;
        if (keys.length >= count && hash !== last) return { keys, next: hash };
        keys.push(bucket.keys[i]!);
        last = hash;
      }
      at = this.#after(at, bucket);
    }
    return { keys, next: 0 };
  }

  /** A key chosen by 48 bits of a seed; undefined when there are none. */
  choose(seed: number): ByteString | undefined {
    return this.round(seed, 1)[0];
  }

  /** Up to `count` different keys from `from` on in hash order, going on at the beginning. */
  round(from: number, count: number): ByteString[] {
    const { keys } = this.page(from, count);
    // One by one: there may be more than a call can have arguments.
    for (const key of this.page(0, count - keys.length).keys) {
      if (keys.length >= Math.min(count, this.#size)) break;
      keys.push(key);
    }
    return keys.slice(0, count);
  }

  #slot(hash: number): number {
    return Math.floor(hash / 2 ** (HASH_BITS - this.#depth));
  }

  /** First slot behind those that share the bucket at `slot`. */
  #after(slot: number, bucket: Bucket): number {
    const span = 2 ** (this.#depth - bucket.depth);
    return (Math.floor(slot / span) + 1) * span;
  }

  #add(key: ByteString): void {
    this.#size++;
    const hash = scanHash(key);
    for (;;) {
      const bucket = this.#directory[this.#slot(hash)]!;
      if (bucket.keys.length < BUCKET_KEYS_MAX || bucket.depth >= DEPTH_MAX) {
        const at = placeOf(bucket, hash, key);
        bucket.keys.splice(at, 0, key);
        bucket.hashes.splice(at, 0, hash);
        return;
      }
      this.#split(hash, bucket);
    }
  }

  #split(hash: number, bucket: Bucket): void {
    if (bucket.depth === this.#depth) this.#double();
    const depth = bucket.depth + 1;
    const span = 2 ** (this.#depth - depth);
    const first = Math.floor(this.#slot(hash) / (2 * span)) * 2 * span;
    const boundary = firstFrom(bucket, (first + span) * 2 ** (HASH_BITS - this.#depth));
    const low = part(bucket, depth, 0, boundary);
    const high = part(bucket, depth, boundary, bucket.keys.length);
    for (let i = 0; i < span; i++) {
      this.#directory[first + i] = low;
      this.#directory[first + span + i] = high;
    }
  }

  #double(): void {
    const directory: Bucket[] = [];
    for (const bucket of this.#directory) directory.push(bucket, bucket);
    this.#directory = directory;
    this.#depth++;
  }

  #remove(key: ByteString): void {
    this.#size--;
    const hash = scanHash(key);
    const bucket = this.#directory[this.#slot(hash)]!;
    const at = placeOf(bucket, hash, key);
    bucket.keys.splice(at, 1);
    bucket.hashes.splice(at, 1);
  }
}

/** All keys in hash order, page by page. */
export function* everyKey(index: ScanIndex | undefined): Generator<ByteString> {
  for (let from = 0; index !== undefined; ) {
    const { keys, next } = index.page(from, BUCKET_KEYS_MAX);
    yield* keys;
    if (next === 0) return;
    from = next;
  }
}

function part({ keys, hashes }: Bucket, depth: number, from: number, to: number): Bucket {
  return { depth, keys: keys.slice(from, to), hashes: hashes.slice(from, to) };
}

/** Where the keys whose hash is at least `hash` begin. */
function firstFrom({ hashes }: Bucket, hash: number): number {
  let low = 0;
  let high = hashes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (hashes[middle]! < hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a key is, or belongs. */
function placeOf(bucket: Bucket, hash: number, key: ByteString): number {
  const { keys, hashes } = bucket;
  let at = firstFrom(bucket, hash);
  while (at < keys.length && hashes[at] === hash && keys[at]! < key) at++;
  return at;
}
