import { LuaTable } from './table.ts';
import { type LuaValue, type NativeBody, NativeFunction } from './value.ts';

/** The functions of a library by name. */
export type LibraryFunctions = Readonly<Record<string, NativeBody>>;

/** A fresh table of native functions and constants, in the order given. */
export function makeLibrary(
  functions: LibraryFunctions,
  constants: Readonly<Record<string, LuaValue>> = {},
): LuaTable {
  const table = new LuaTable();
  for (const [name, body] of Object.entries(functions)) {
    table.set(name, new NativeFunction(name, body));
  }
  for (const [name, value] of Object.entries(constants)) table.set(name, value);
  return table;
}

/** Marks a table and every table reachable through its fields as readonly. */
export function protect(table: LuaTable): void {
  if (table.readonly) return;
  table.readonly = true;
  if (table.metatable !== null) protect(table.metatable);
  for (let entry = table.next(undefined); entry; entry = table.next(entry[0])) {
    if (entry[1] instanceof LuaTable) protect(entry[1]);
  }
}
