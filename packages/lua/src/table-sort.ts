import { isLess, isTruthy } from './operations.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import type { LuaFunction, LuaValue } from './value.ts';

/**
 * Sorts t[1..n] in place: quicksort with the median of three, partitioning as C Lua does, so
 * that elements the order calls equal end up where scripts are used to find them.
 */
export function sortTable(state: LuaState, table: LuaTable, order: LuaFunction | null): void {
  new Sorter(state, table, order).sort(1, table.length());
}

class Sorter {
  private readonly state: LuaState;
  private readonly table: LuaTable;
  private readonly order: LuaFunction | null;

  constructor(state: LuaState, table: LuaTable, order: LuaFunction | null) {
    this.state = state;
    this.table = table;
    this.order = order;
  }

  sort(first: number, last: number): void {
    let low = first;
    let high = last;
    while (low < high) {
      if (this.isBefore(this.get(high), this.get(low))) this.swap(low, high);
      if (high - low === 1) return;
      const middle = Math.floor((low + high) / 2);
      if (this.isBefore(this.get(middle), this.get(low))) this.swap(middle, low);
      else if (this.isBefore(this.get(high), this.get(middle))) this.swap(middle, high);
      if (high - low === 2) return;
      const pivotAt = this.partition(low, high, middle);
      // The smaller part recurses, the larger loops: depth stays logarithmic.
      if (pivotAt - low < high - pivotAt) {
        this.sort(low, pivotAt - 1);
        low = pivotAt + 1;
      } else {
        this.sort(pivotAt + 1, high);
        high = pivotAt - 1;
      }
    }
  }

  private partition(low: number, high: number, middle: number): number {
    const pivot = this.get(middle);
    this.swap(middle, high - 1);
    let i = low;
    let j = high - 1;
    for (;;) {
      while (this.isBefore(this.get(++i), pivot)) if (i > high) throw this.invalidOrder();
      while (this.isBefore(pivot, this.get(--j))) if (j < low) throw this.invalidOrder();
      if (j < i) break;
      this.swap(i, j);
    }
    this.swap(high - 1, i);
    return i;
  }

  private get(at: number): LuaValue {
    return this.table.getNumber(at);
  }

  private swap(a: number, b: number): void {
    const value = this.table.getNumber(a);
    this.table.set(a, this.table.getNumber(b));
    this.table.set(b, value);
  }

  private isBefore(a: LuaValue, b: LuaValue): boolean {
    this.state.charge(4);
    if (this.order === null) return isLess(this.state, a, b);
    return isTruthy(this.state.callMeta(this.order, [a, b])[0]);
  }

  private invalidOrder(): Error {
    return this.state.error('invalid order function for sorting', 2);
  }
}
