import { argumentError, checkInteger, checkString, optionalInteger } from './arguments.ts';
import { MessagePackReader } from './cmsgpack-decode.ts';
import { encodeMessagePack } from './cmsgpack-encode.ts';
import { makeLibrary } from './library.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import type { LuaValue } from './value.ts';

const RESULTS_MAX = 8000;

/** Unpacks `limit` values, the next offset first; limit 0 at offset 0 means all, and no offset. */
function unpackFrom(
  state: LuaState,
  args: readonly LuaValue[],
  limit: number,
  offset: number,
): LuaValue[] {
  const bytes = checkString(state, args, 1);
  if (offset < 0 || limit < 0) {
    throw state.error(
      `Invalid request to unpack with offset of ${offset} and limit of ${bytes.length}.`,
    );
  }
  if (offset > bytes.length) {
    throw state.error(`Start offset ${offset} greater than input length ${bytes.length}.`);
  }
  const reader = new MessagePackReader(state, bytes, offset);
  const values: LuaValue[] = [];
  const count = limit === 0 ? Infinity : limit;
  while (reader.at < bytes.length && values.length < count) {
    if (values.length >= RESULTS_MAX) throw state.error('too many results to unpack');
    values.push(reader.read());
  }
  if (limit > 0 || offset > 0) values.unshift(reader.at >= bytes.length ? -1 : reader.at);
  return values;
}

/** The cmsgpack library as Redis ships it (lua-cmsgpack 0.4.0). */
export function makeCmsgpackLibrary(): LuaTable {
  return makeLibrary(
    {
      pack: (args, state) => {
        if (args.length === 0) throw argumentError(state, 0, 'MessagePack pack needs input.');
        let bytes = '';
        for (const value of args) bytes += encodeMessagePack(state, value, 0);
        state.allocate(bytes.length);
        return [bytes];
      },
      unpack: (args, state) => unpackFrom(state, args, 0, 0),
      unpack_one: (args, state) => unpackFrom(state, args, 1, optionalInteger(state, args, 2, 0)),
      unpack_limit: (args, state) =>
        unpackFrom(state, args, checkInteger(state, args, 2), optionalInteger(state, args, 3, 0)),
    },
    {
      _NAME: 'cmsgpack',
      _VERSION: 'lua-cmsgpack 0.4.0',
      _COPYRIGHT: 'Copyright (C) 2012, Salvatore Sanfilippo',
      _DESCRIPTION: 'MessagePack C implementation for Lua',
    },
  );
}
