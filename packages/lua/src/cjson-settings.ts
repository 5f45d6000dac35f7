import type { LuaState } from './state.ts';

/** The settings of cjson that a script may change, for the rest of its run only. */
export interface CjsonSettings {
  sparseConvert: boolean;
  sparseRatio: number;
  sparseSafe: number;
  encodeDepthMax: number;
  decodeDepthMax: number;
  precision: number;
  /** Whether encode takes NaN and infinity; `null` writes them as null. */
  encodeInvalid: boolean | 'null';
  decodeInvalid: boolean;
}

const DEFAULTS: CjsonSettings = {
  sparseConvert: false,
  sparseRatio: 2,
  sparseSafe: 10,
  encodeDepthMax: 1000,
  decodeDepthMax: 1000,
  precision: 14,
  encodeInvalid: false,
  decodeInvalid: true,
};

/** This run's settings. In C they outlive the script, which no replicated script may rely on. */
export function cjsonSettings(state: LuaState): CjsonSettings {
  let settings = state.libraryData.get('cjson') as CjsonSettings | undefined;
  if (settings === undefined) {
    settings = { ...DEFAULTS };
    state.libraryData.set('cjson', settings);
  }
  return settings;
}
