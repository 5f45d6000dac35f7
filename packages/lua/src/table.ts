import type { LuaValue } from './value.ts';

class HashEntry {
  readonly key: LuaValue;
  value: LuaValue;
  next: HashEntry | null = null;

  constructor(key: LuaValue, value: LuaValue) {
    this.key = key;
    this.value = value;
  }
}

// Below this many dead entries a sweep costs more than the space is worth.
const DEAD_ENTRIES_MIN = 16;

/**
 * A Lua table: an array part for 1..n and a hash part in insertion order, so that traversal
 * depends on the script's own operations only. Accessors are raw; metamethods, the readonly
 * check and NaN keys are the business of `operations.ts`.
 */
export class LuaTable {
  /** Element i+1 at index i; may hold nils. */
  array: LuaValue[] = [];
  metatable: LuaTable | null = null;
  /** Scripts may not modify it; the host still can. */
  readonly = false;
  /** Empty slots that the last `next` passed over; its caller charges them. */
  skipped = 0;
  private hash: Map<LuaValue, HashEntry> | null = null;
  private first: HashEntry | null = null;
  private last: HashEntry | null = null;
  private dead = 0;

  /** A table whose array part is `values`; it takes over the array. */
  static fromArray(values: LuaValue[]): LuaTable {
    const table = new LuaTable();
    table.array = values;
    return table;
  }

  /** A table with the given string keys, in the object's own order. */
  static fromObject(fields: Readonly<Record<string, LuaValue>>): LuaTable {
    const table = new LuaTable();
    for (const [key, value] of Object.entries(fields)) table.set(key, value);
    return table;
  }

  get(key: LuaValue): LuaValue {
    return typeof key === 'number' ? this.getNumber(key) : this.hash?.get(key)?.value;
  }

  getString(key: string): LuaValue {
    return this.hash === null ? undefined : this.hash.get(key)?.value;
  }

  getNumber(key: number): LuaValue {
    const array = this.array;
    if (key > 0 && key <= array.length && Number.isInteger(key)) return array[key - 1];
    return this.hash === null ? undefined : this.hash.get(key)?.value;
  }

  /** Stores raw; returns true when the table grew by a slot. The key is neither nil nor NaN. */
  set(key: LuaValue, value: LuaValue): boolean {
    if (typeof key === 'number') {
      const array = this.array;
      if (key > 0 && key <= array.length && Number.isInteger(key)) {
        array[key - 1] = value;
        return false;
      }
      if (key === array.length + 1 && value !== undefined) return this.append(value);
    }
    return this.setHash(key === 0 ? 0 : key, value);
  }

  /** A border: n with t[n] not nil and t[n+1] nil, found as Lua does by halving the array part. */
  length(): number {
    const array = this.array;
    let high = array.length;
    if (high === 0 || array[high - 1] !== undefined) return high;
    let low = 0;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (array[middle - 1] === undefined) high = middle;
      else low = middle;
    }
    return low;
  }

  /**
   * The entry after `key` in traversal order (nil starts): `[key, value]`, `null` at the end,
   * `undefined` when `key` is not in the table.
   */
  next(key: LuaValue): [LuaValue, LuaValue] | null | undefined {
    const array = this.array;
    this.skipped = 0;
    let entry: HashEntry | null;
    if (key === undefined || this.isArrayKey(key)) {
      for (let i = key === undefined ? 0 : (key as number); i < array.length; i++) {
        if (array[i] !== undefined) return [i + 1, array[i]];
        this.skipped++;
      }
      entry = this.first;
    } else {
      const current = this.hash?.get(key);
      if (current === undefined) return undefined;
      entry = current.next;
    }
    while (entry !== null && entry.value === undefined) {
      entry = entry.next;
      this.skipped++;
    }
    return entry === null ? null : [entry.key, entry.value];
  }

  /** How many entries a traversal may have to look at. */
  get slotCount(): number {
    return this.array.length + (this.hash?.size ?? 0);
  }

  private isArrayKey(key: LuaValue): boolean {
    return typeof key === 'number' && key > 0 && key <= this.array.length && Number.isInteger(key);
  }

  private append(value: LuaValue): boolean {
    const array = this.array;
    array.push(value);
    const hash = this.hash;
    if (hash === null) return true;
    // Entry 'length' itself may sit dead in the hash; its successors may be alive there.
    const old = hash.get(array.length);
    if (old !== undefined && old.value !== undefined) this.kill(old);
    this.absorb();
    return true;
  }

  /** Moves the hash entries that continue the array part into it, so that length sees them. */
  absorb(): void {
    for (;;) {
      const entry = this.hash?.get(this.array.length + 1);
      if (entry === undefined || entry.value === undefined) return;
      this.array.push(entry.value);
      this.kill(entry);
    }
  }

  private kill(entry: HashEntry): void {
    entry.value = undefined;
    this.dead++;
  }

  private setHash(key: LuaValue, value: LuaValue): boolean {
    let hash = this.hash;
    const entry = hash?.get(key);
    if (entry !== undefined) {
      if (value === undefined) {
        if (entry.value !== undefined) this.kill(entry);
      } else {
        if (entry.value === undefined) this.dead--;
        entry.value = value;
      }
      return false;
    }
    if (value === undefined) return false;
    if (hash === null) {
      hash = new Map();
      this.hash = hash;
    } else if (this.dead > DEAD_ENTRIES_MIN && this.dead > hash.size >> 1) this.sweep();
    const added = new HashEntry(key, value);
    if (this.last === null) this.first = added;
    else this.last.next = added;
    this.last = added;
    hash.set(key, added);
    return true;
  }

  // Only a new key may trigger it: assigning nil while traversing must keep the links.
  private sweep(): void {
    let entry = this.first;
    this.first = null;
    this.last = null;
    this.dead = 0;
    while (entry !== null) {
      const next: HashEntry | null = entry.next;
      if (entry.value === undefined) this.hash?.delete(entry.key);
      else {
        if (this.last === null) this.first = entry;
        else (this.last as HashEntry).next = entry;
        this.last = entry;
      }
      entry.next = null;
      entry = next;
    }
  }
}
