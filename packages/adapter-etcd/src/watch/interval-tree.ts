import type { ByteString } from '@lockstep/model';

/** Greater than every byte string: one char above a byte. Stands for "to the end". */
const INFINITY: ByteString = '\u0100';

interface Node<T> {
  readonly from: ByteString;
  readonly to: ByteString;
  readonly items: Set<T>;
  readonly priority: number;
  /** Highest `to` in this subtree: prunes the search. */
  last: ByteString;
  left: Node<T> | undefined;
  right: Node<T> | undefined;
}

/**
 * Ranges of keys with items on them, asked by key: a treap ordered by (from, to) in which each
 * node knows the highest end below it. Equal ranges share a node, so thousands of watchers of one
 * prefix cost one. Insert and remove O(log n), find O(log n + found).
 */
export class IntervalTree<T> {
  #root: Node<T> | undefined;
  #size = 0;
  #seed = 0x9e3779b9;

  /** Items, not distinct ranges. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item on from ≤ key < to; `to` undefined: to the end. The range is not empty. */
  insert(from: ByteString, to: ByteString | undefined, item: T): void {
    const end = to ?? INFINITY;
    const node = this.#find(from, end);
    if (node === undefined) {
      this.#root = insertNode(this.#root, this.#newNode(from, end, item));
      this.#size += 1;
    } else if (!node.items.has(item)) {
      node.items.add(item);
      this.#size += 1;
    }
  }

  /** Removes an item from the range it was inserted with; false when it was not there. */
  remove(from: ByteString, to: ByteString | undefined, item: T): boolean {
    const end = to ?? INFINITY;
    const node = this.#find(from, end);
    if (node === undefined || !node.items.delete(item)) return false;
    this.#size -= 1;
    if (node.items.size === 0) this.#root = removeNode(this.#root, from, end);
    return true;
  }

  /** Visits every item whose range holds the key. The tree must not be changed meanwhile. */
  find(key: ByteString, visit: (item: T) => void): void {
    findIn(this.#root, key, visit);
  }

  /** True when a range holds the key. */
  covers(key: ByteString): boolean {
    return coveredBy(this.#root, key);
  }

  /** Visits every item, in the order of the ranges. */
  forEach(visit: (item: T) => void): void {
    forEachIn(this.#root, visit);
  }

  #find(from: ByteString, to: ByteString): Node<T> | undefined {
    let node = this.#root;
    while (node !== undefined) {
      const order = compare(from, to, node);
      if (order === 0) return node;
      node = order < 0 ? node.left : node.right;
    }
    return undefined;
  }

  #newNode(from: ByteString, to: ByteString, item: T): Node<T> {
    // xorshift: the tree only needs priorities that do not follow the order of the keys.
    this.#seed ^= this.#seed << 13;
    this.#seed ^= this.#seed >>> 17;
    this.#seed ^= this.#seed << 5;
    const items = new Set([item]);
    const priority = this.#seed >>> 0;
    return { from, to, items, priority, last: to, left: undefined, right: undefined };
  }
}

function compare<T>(from: ByteString, to: ByteString, node: Node<T>): number {
  if (from !== node.from) return from < node.from ? -1 : 1;
  if (to !== node.to) return to < node.to ? -1 : 1;
  return 0;
}

function update<T>(node: Node<T>): Node<T> {
  let last = node.to;
  if (node.left !== undefined && node.left.last > last) last = node.left.last;
  if (node.right !== undefined && node.right.last > last) last = node.right.last;
  node.last = last;
  return node;
}

function rotateRight<T>(node: Node<T>): Node<T> {
  const top = node.left!;
  node.left = top.right;
  top.right = update(node);
  return update(top);
}

function rotateLeft<T>(node: Node<T>): Node<T> {
  const top = node.right!;
  node.right = top.left;
  top.left = update(node);
  return update(top);
}

function insertNode<T>(node: Node<T> | undefined, added: Node<T>): Node<T> {
  if (node === undefined) return added;
  if (compare(added.from, added.to, node) < 0) {
    node.left = insertNode(node.left, added);
    return node.left.priority > node.priority ? rotateRight(node) : update(node);
  }
  node.right = insertNode(node.right, added);
  return node.right.priority > node.priority ? rotateLeft(node) : update(node);
}

function removeNode<T>(
  node: Node<T> | undefined,
  from: ByteString,
  to: ByteString,
): Node<T> | undefined {
  if (node === undefined) return undefined;
  const order = compare(from, to, node);
  if (order === 0) return merge(node.left, node.right);
  if (order < 0) node.left = removeNode(node.left, from, to);
  else node.right = removeNode(node.right, from, to);
  return update(node);
}

function merge<T>(left: Node<T> | undefined, right: Node<T> | undefined): Node<T> | undefined {
  if (left === undefined) return right;
  if (right === undefined) return left;
  if (left.priority > right.priority) {
    left.right = merge(left.right, right);
    return update(left);
  }
  right.left = merge(left, right.left);
  return update(right);
}

function findIn<T>(node: Node<T> | undefined, key: ByteString, visit: (item: T) => void): void {
  let at = node;
  while (at !== undefined && at.last > key) {
    findIn(at.left, key, visit);
    // Everything to the right begins at or after this node.
    if (at.from > key) return;
    if (key < at.to) for (const item of at.items) visit(item);
    at = at.right;
  }
}

function coveredBy<T>(node: Node<T> | undefined, key: ByteString): boolean {
  let at = node;
  while (at !== undefined && at.last > key) {
    if (at.from > key) at = at.left;
    else if (key < at.to || coveredBy(at.left, key)) return true;
    else at = at.right;
  }
  return false;
}

function forEachIn<T>(node: Node<T> | undefined, visit: (item: T) => void): void {
  if (node === undefined) return;
  forEachIn(node.left, visit);
  for (const item of node.items) visit(item);
  forEachIn(node.right, visit);
}
