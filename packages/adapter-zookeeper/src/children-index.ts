import type { ByteString } from '@lockstep/model';
import type { KeyspaceIndex, LiveRecord } from '@lockstep/state-machine';
import { baseName, childPath, parentPath } from './paths.ts';
import type { TreeValue } from './tree.ts';

interface Family {
  readonly names: Set<ByteString>;
  /** Made when first listed, and kept in order from then on while there are not too many. */
  sorted: ByteString[] | undefined;
}

/** Above this many names a list is sorted afresh when needed: keeping it in order moves it all. */
const KEPT_SORTED_MAX = 10_000;

const NONE: readonly ByteString[] = [];
const NODE_LETTER = 110;
const CONTAINER = 2;
const TTL = 3;

/**
 * Derived, member-local: the children of each node, and the nodes that clean-up must look at.
 * Procedures never see it; listings are sorted, since the order of a set depends on history.
 */
export class ChildrenIndex implements KeyspaceIndex<TreeValue> {
  readonly #families = new Map<ByteString, Family>();
  readonly #reapable = new Set<ByteString>();
  readonly #permanent: readonly ByteString[];
  #nodes = 0;
  #dataBytes = 0;

  /** `permanent`: paths that are listed even while they have no record. */
  constructor(permanent: readonly ByteString[]) {
    this.#permanent = permanent;
    this.#addPermanent();
  }

  #addPermanent(): void {
    for (const path of this.#permanent) this.#add(path);
  }

  changed(
    key: ByteString,
    before: LiveRecord<TreeValue> | undefined,
    after: LiveRecord<TreeValue> | undefined,
  ): void {
    if (key.charCodeAt(0) !== NODE_LETTER) {
      this.#dataBytes += dataBytes(after) - dataBytes(before);
      return;
    }
    if (before !== undefined && after !== undefined) return;
    const path = key.slice(1);
    if (after === undefined) {
      this.#remove(path);
      return;
    }
    this.#add(path);
    const { value } = after;
    if (value.kind !== 'node') return;
    if (value.mode === CONTAINER || value.mode === TTL) this.#reapable.add(path);
  }

  cleared(): void {
    this.#families.clear();
    this.#reapable.clear();
    this.#nodes = 0;
    this.#dataBytes = 0;
    this.#addPermanent();
  }

  #add(path: ByteString): void {
    if (path === '/') {
      if (this.#nodes === 0) this.#nodes = 1;
      return;
    }
    const parent = parentPath(path);
    let family = this.#families.get(parent);
    if (family === undefined) {
      family = { names: new Set(), sorted: undefined };
      this.#families.set(parent, family);
    }
    const name = baseName(path);
    if (family.names.has(name)) return;
    family.names.add(name);
    this.#nodes++;
    if (family.names.size > KEPT_SORTED_MAX) family.sorted = undefined;
    family.sorted?.splice(positionOf(family.sorted, name), 0, name);
  }

  #remove(path: ByteString): void {
    const parent = parentPath(path);
    const family = this.#families.get(parent);
    this.#reapable.delete(path);
    const name = baseName(path);
    if (family?.names.delete(name) !== true) return;
    this.#nodes--;
    if (family.names.size > KEPT_SORTED_MAX) family.sorted = undefined;
    family.sorted?.splice(positionOf(family.sorted, name), 1);
    if (family.names.size === 0) this.#families.delete(parent);
  }

  /** Names of the children in byte order; owned by the index and valid until the next change. */
  list(path: ByteString): readonly ByteString[] {
    const family = this.#families.get(path);
    if (family === undefined) return NONE;
    family.sorted ??= [...family.names].sort();
    return family.sorted;
  }

  /** Number of nodes below a path at any depth. */
  descendants(path: ByteString): number {
    let count = 0;
    const open = [path];
    for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
      for (const name of this.#families.get(parent)?.names ?? []) {
        count++;
        const child = childPath(parent, name);
        if (this.#families.has(child)) open.push(child);
      }
    }
    return count;
  }

  /** Container and TTL nodes, which end without a client's doing. */
  reapable(): Iterable<ByteString> {
    return this.#reapable;
  }

  get nodes(): number {
    return this.#nodes;
  }

  /** Bytes of all nodes' data. */
  get dataBytes(): number {
    return this.#dataBytes;
  }
}

/** Where a name stands, or would stand, in a sorted list. */
function positionOf(sorted: readonly ByteString[], name: ByteString): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dataBytes(record: LiveRecord<TreeValue> | undefined): number {
  return record?.value.kind === 'data' ? (record.value.bytes?.length ?? 0) : 0;
}
