import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';

/** A string of bytes: each char code is one byte, 0–255. Lua strings are always of this form. */
export type ByteString = string;

/** Any value a script can hold; `undefined` is Lua's nil. */
export type LuaValue =
  | undefined
  | boolean
  | number
  | ByteString
  | LuaTable
  | LuaFunction
  | LuaThread
  | LuaUserdata;

/** Something callable. `args` is handed over to the callee; the result may be shared: copy it. */
export abstract class LuaFunction {
  abstract call(args: LuaValue[], state: LuaState): LuaValue[];
}

/** What a library or host function is: plain values in, plain values out, errors thrown. */
export type NativeBody = (args: LuaValue[], state: LuaState) => LuaValue[];

/** A function written in TypeScript. It keeps no state of its own, so runs may share it. */
export class NativeFunction extends LuaFunction {
  readonly name: string;
  readonly body: NativeBody;

  constructor(name: string, body: NativeBody) {
    super();
    this.name = name;
    this.body = body;
  }

  override call(args: LuaValue[], state: LuaState): LuaValue[] {
    state.charge(4);
    return this.body(args, state);
  }
}

/** A coroutine, seen as a value; `coroutine.ts` has the only subclass. */
export abstract class LuaThread {
  abstract readonly status: 'suspended' | 'running' | 'normal' | 'dead';
}

/** An opaque host value, for instance `cjson.null`. `text` is what tostring answers. */
export class LuaUserdata {
  readonly text: ByteString;

  constructor(text: ByteString) {
    this.text = text;
  }
}

/** Lua's name for the type of a value, as `type()` and error messages show it. */
export function typeName(value: LuaValue): string {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
    case 'number':
    case 'string':
      return typeof value;
    default:
      if (value instanceof LuaFunction) return 'function';
      if (value instanceof LuaThread) return 'thread';
      if (value instanceof LuaUserdata) return 'userdata';
      return 'table';
  }
}
