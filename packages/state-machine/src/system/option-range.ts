import type { ClusterOption } from '../contract.ts';
import type { OptionValue } from './option-table.ts';

/** True when the option may be set to that value: its type, and the range it declares. */
export function acceptsOption(option: ClusterOption, value: OptionValue): boolean {
  if (typeof value !== typeof option.default) return false;
  if (typeof value === 'number') {
    const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = option;
    return Number.isSafeInteger(value) && value >= min && value <= max;
  }
  if (typeof value === 'boolean') return true;
  const { alphabet, choices } = option;
  if (alphabet !== undefined && [...value].some((letter) => !alphabet.includes(letter))) {
    return false;
  }
  return choices === undefined || choices.includes(value);
}

/** The accepted range in words: `accepts 100 to 60000`. */
export function acceptedValues(option: ClusterOption): string {
  const { min, max, choices, alphabet } = option;
  if (typeof option.default === 'boolean') return 'accepts true or false';
  if (choices !== undefined) return `accepts ${choices.join(' or ')}`;
  if (alphabet !== undefined) return `accepts text made of ${alphabet}`;
  if (typeof option.default === 'string') return 'accepts any text';
  if (min !== undefined && max !== undefined) return `accepts ${min} to ${max}`;
  return 'accepts whole numbers';
}
