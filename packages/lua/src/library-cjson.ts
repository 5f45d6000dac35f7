import { argumentError, checkInteger, checkString } from './arguments.ts';
import { decodeJson } from './cjson-decode.ts';
import { cjsonNull, encodeJson } from './cjson-encode.ts';
import { type CjsonSettings, cjsonSettings } from './cjson-settings.ts';
import { makeLibrary } from './library.ts';
import type { LuaState } from './state.ts';
import type { LuaTable } from './table.ts';
import type { LuaValue, NativeBody } from './value.ts';

function checkSingle(args: readonly LuaValue[], state: LuaState): void {
  if (args.length !== 1) throw argumentError(state, 1, 'expected 1 argument');
}

function checkRange(
  state: LuaState,
  args: readonly LuaValue[],
  n: number,
  min: number,
  max: number,
): number {
  const value = checkInteger(state, args, n);
  if (value < min || value > max) {
    throw argumentError(state, n, `expected integer between ${min} and ${max}`);
  }
  return value;
}

const INTEGER_MAX = 0x7fff_ffff;

/** A function that reads and, with an argument, changes one numeric setting. */
function setting(name: 'encodeDepthMax' | 'decodeDepthMax' | 'precision', max: number): NativeBody {
  return (args, state) => {
    const settings = cjsonSettings(state);
    if (args[0] !== undefined) settings[name] = checkRange(state, args, 1, 1, max);
    return [settings[name]];
  };
}

function checkSwitch(state: LuaState, value: LuaValue, names: readonly string[]): LuaValue {
  if (typeof value === 'boolean') return value;
  if (value === 'on') return true;
  if (value === 'off') return false;
  if (typeof value === 'string' && names.includes(value)) return value;
  throw argumentError(state, 1, `invalid option '${typeof value === 'string' ? value : '?'}'`);
}

function sparseArray(args: LuaValue[], state: LuaState): LuaValue[] {
  const settings = cjsonSettings(state);
  if (args[0] !== undefined) {
    settings.sparseConvert = checkSwitch(state, args[0], []) === true;
  }
  if (args[1] !== undefined) settings.sparseRatio = checkRange(state, args, 2, 0, INTEGER_MAX);
  if (args[2] !== undefined) settings.sparseSafe = checkRange(state, args, 3, 0, INTEGER_MAX);
  return [settings.sparseConvert, settings.sparseRatio, settings.sparseSafe];
}

/** The cjson library as Redis ships it (lua-cjson 2.1). */
export function makeCjsonLibrary(): LuaTable {
  return makeLibrary(
    {
      encode: (args, state) => {
        checkSingle(args, state);
        return [encodeJson(state, args[0])];
      },
      decode: (args, state) => {
        checkSingle(args, state);
        return [decodeJson(state, checkString(state, args, 1))];
      },
      encode_sparse_array: sparseArray,
      encode_max_depth: setting('encodeDepthMax', INTEGER_MAX),
      decode_max_depth: setting('decodeDepthMax', INTEGER_MAX),
      encode_number_precision: setting('precision', 14),
      // The buffer is kept or not, nobody can tell; the answer is what C answers by default.
      encode_keep_buffer: (args, state) => [
        args[0] === undefined ? true : checkSwitch(state, args[0], []),
      ],
      encode_invalid_numbers: (args, state) => {
        const settings = cjsonSettings(state);
        if (args[0] !== undefined) {
          const value = checkSwitch(state, args[0], ['null']);
          settings.encodeInvalid = value as CjsonSettings['encodeInvalid'];
        }
        return [settings.encodeInvalid];
      },
      decode_invalid_numbers: (args, state) => {
        const settings = cjsonSettings(state);
        if (args[0] !== undefined) {
          settings.decodeInvalid = checkSwitch(state, args[0], []) === true;
        }
        return [settings.decodeInvalid];
      },
    },
    { null: cjsonNull, _NAME: 'cjson', _VERSION: '2.1.0' },
  );
}
