import type { ByteString } from '@lockstep/model';
import type { KeyspaceIndex, LiveRecord } from '@lockstep/state-machine';
import { baseName, childPath, parentPath } from './paths.ts';
import type { TreeValue } from './tree.ts';

interface Family {
  readonly names: Set<ByteString>;
  /** Made when first listed after a change. */
  sorted: readonly ByteString[] | undefined;
}

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
    const sizeBefore = family.names.size;
    family.names.add(baseName(path));
    this.#nodes += family.names.size - sizeBefore;
    family.sorted = undefined;
  }

  #remove(path: ByteString): void {
    const parent = parentPath(path);
    const family = this.#families.get(parent);
    this.#reapable.delete(path);
    if (family?.names.delete(baseName(path)) !== true) return;
    this.#nodes--;
    family.sorted = undefined;
    if (family.names.size === 0) this.#families.delete(parent);
  }

  /** Names of the children in byte order; owned by the index. */
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

function dataBytes(record: LiveRecord<TreeValue> | undefined): number {
  return record?.value.kind === 'data' ? (record.value.bytes?.length ?? 0) : 0;
}
