import type { ByteString } from '@lockstep/model';
import sortedBTree from 'sorted-btree';

// A CommonJS package: Node hands its exports over, in which the class is `default`; bundlers and
// test runners hand over the class itself.
type BTreeClass = typeof sortedBTree.default;
const BTree: BTreeClass =
  typeof sortedBTree === 'function' ? (sortedBTree as BTreeClass) : sortedBTree.default;

const compare = (a: ByteString, b: ByteString): number => (a < b ? -1 : a > b ? 1 : 0);

/** Keys in byte order over a B+ tree. Exact look-ups belong to the Map that stands beside it. */
export class OrderedMap<T> {
  readonly #tree = new BTree<ByteString, T>(undefined, compare);

  get(key: ByteString): T | undefined {
    return this.#tree.get(key);
  }

  set(key: ByteString, item: T): void {
    this.#tree.set(key, item);
  }

  delete(key: ByteString): void {
    this.#tree.delete(key);
  }

  /** Ascending over from ≤ key < to until `visit` returns false. Must not change meanwhile. */
  scan(
    from: ByteString,
    to: ByteString | undefined,
    visit: (key: ByteString, item: T) => boolean | undefined,
  ): void {
    for (const pair of this.#tree.entries(from, [])) {
      if (to !== undefined && pair[0] >= to) return;
      if (visit(pair[0], pair[1]) === false) return;
    }
  }
}
