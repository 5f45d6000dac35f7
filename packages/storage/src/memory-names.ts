import type { Random } from '@lockstep/model';
import type { MemoryInode } from './memory-inode.ts';

/** A file, or `undefined` for a directory. */
type Target = MemoryInode | undefined;

interface NameChange {
  readonly order: number;
  /** Directory whose sync makes the change durable. */
  readonly directory: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly target: Target;
}

/** Directory part of a path; the root is the empty string. */
export function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

/**
 * The names of the memory disk: those seen, those durable, and the creations, renames and removals
 * between, which a power loss keeps or drops one by one.
 */
export class MemoryNames {
  readonly #seen = new Map<string, Target>();
  readonly #durable = new Map<string, Target>();
  #pending: NameChange[] = [];
  #order = 0;

  get order(): number {
    return this.#order;
  }

  file(path: string): MemoryInode | undefined {
    return this.#seen.get(path);
  }

  has(path: string): boolean {
    return path === '' || this.#seen.has(path);
  }

  isDirectory(path: string): boolean {
    return path === '' || (this.#seen.has(path) && this.#seen.get(path) === undefined);
  }

  files(): MemoryInode[] {
    return [...this.#seen.values()].filter((target) => target !== undefined);
  }

  /** Names in a directory, sorted. */
  list(directory: string): string[] {
    const names = [...this.#seen.keys()].filter((path) => directoryOf(path) === directory);
    return names.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort();
  }

  create(path: string, target: Target): void {
    this.#change({ directory: directoryOf(path), from: undefined, to: path, target });
  }

  rename(from: string, to: string): void {
    this.#change({ directory: directoryOf(to), from, to, target: this.#seen.get(from) });
  }

  unlink(path: string): void {
    const target = this.#seen.get(path);
    this.#change({ directory: directoryOf(path), from: path, to: undefined, target });
  }

  #change(change: Omit<NameChange, 'order'>): void {
    this.#order += 1;
    const ordered = { order: this.#order, ...change };
    apply(this.#seen, ordered);
    this.#pending.push(ordered);
  }

  /** Makes the changes of one directory durable that were pending at `order`. */
  sync(directory: string, order: number): void {
    const rest: NameChange[] = [];
    for (const change of this.#pending) {
      if (change.directory === directory && change.order <= order) apply(this.#durable, change);
      else rest.push(change);
    }
    this.#pending = rest;
  }

  crash(random: Random): void {
    for (const change of this.#pending) {
      if (random.u32() % 2 === 0) apply(this.#durable, change);
    }
    this.#pending = [];
    this.#seen.clear();
    for (const path of [...this.#durable.keys()].sort()) {
      const parent = directoryOf(path);
      if (parent === '' || this.#seen.has(parent)) this.#seen.set(path, this.#durable.get(path));
      else this.#durable.delete(path);
    }
  }
}

function apply(names: Map<string, Target>, change: NameChange): void {
  const { from, to, target } = change;
  // A name that meanwhile means another file is not this change's business.
  if (from !== undefined && names.has(from) && names.get(from) === target) names.delete(from);
  if (to !== undefined) names.set(to, target);
}
