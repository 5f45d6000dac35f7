import type { ByteString } from '@lockstep/model';
import type { KeyspaceIndex, LiveRecord } from '@lockstep/state-machine';
import { ScanIndex } from './scan.ts';

/** Bytes of a collection's number in front of each of its elements' keys. */
const ID_BYTES = 6;

/** Key of an element; big-endian, so that the image keeps a collection together. */
export function elementKey(collection: number, member: ByteString): ByteString {
  return collectionKey(collection) + member;
}

export function collectionKey(collection: number): ByteString {
  const high = Math.floor(collection / 2 ** 24);
  const low = collection % 2 ** 24;
  return String.fromCharCode(
    ...[(high >>> 16) & 0xff, (high >>> 8) & 0xff, high & 0xff],
    ...[(low >>> 16) & 0xff, (low >>> 8) & 0xff, low & 0xff],
  );
}

export function collectionOf(key: ByteString): number {
  let collection = 0;
  for (let i = 0; i < ID_BYTES; i++) collection = collection * 256 + key.charCodeAt(i);
  return collection;
}

/** The elements of each collection in the order of their hash, which no history shows in. */
export class ElementIndex implements KeyspaceIndex {
  readonly #collections = new Map<number, ScanIndex>();

  changed(key: ByteString, before: LiveRecord | undefined, after: LiveRecord | undefined): void {
    const collection = collectionOf(key);
    let elements = this.#collections.get(collection);
    if (elements === undefined) {
      elements = new ScanIndex();
      this.#collections.set(collection, elements);
    }
    elements.changed(key.slice(ID_BYTES), before, after);
    if (elements.isEmpty) this.#collections.delete(collection);
  }

  cleared(): void {
    this.#collections.clear();
  }

  of(collection: number): ScanIndex | undefined {
    return this.#collections.get(collection);
  }
}
