import type { ByteString, ClusterTimeMs } from '@lockstep/model';
import type { Execution } from './command.ts';
import { CommandError, invalidExpire } from './errors.ts';
import { type Integer, requireInteger } from './integer.ts';
import type { RedisRecord } from './keyspaces.ts';
import type { AbsoluteExpiry } from './value.ts';

export type ExpiryUnit = 'EX' | 'PX' | 'EXAT' | 'PXAT';

/** When a record ends. `past`: not after the present, so that it ends at once. */
export interface Expiry {
  readonly deadline: ClusterTimeMs;
  readonly absolute?: AbsoluteExpiry;
  readonly past: boolean;
}

export function isExpiryUnit(word: string): word is ExpiryUnit {
  return word === 'EX' || word === 'PX' || word === 'EXAT' || word === 'PXAT';
}

/** For SET and its kind, where zero and negative times are errors. Throws with `name` in it. */
export function positiveExpiry(
  execution: Execution,
  unit: ExpiryUnit,
  text: ByteString,
  name: ByteString,
): Expiry {
  const amount = requireInteger(text);
  if (amount <= 0) throw new CommandError(invalidExpire(name));
  return expiryAt(execution, unit, amount, name);
}

/** For EXPIRE and its kind: any integer. Throws `invalid expire time` when it overflows. */
export function anyExpiry(
  execution: Execution,
  unit: ExpiryUnit,
  text: ByteString,
  name: ByteString,
): Expiry {
  return expiryAt(execution, unit, requireInteger(text), name);
}

function expiryAt(
  execution: Execution,
  unit: ExpiryUnit,
  amount: Integer,
  name: ByteString,
): Expiry {
  const { time, wall } = execution;
  const scale = unit === 'EX' || unit === 'EXAT' ? 1000 : 1;
  const amountMs = Number(amount) * scale;
  const isAbsolute = unit === 'EXAT' || unit === 'PXAT';
  // Design §6: an absolute time is turned into cluster time by the entry's own pair of stamps.
  const deadline = isAbsolute ? time + (amountMs - wall) : time + amountMs;
  if (!Number.isSafeInteger(amountMs) || !Number.isSafeInteger(deadline)) {
    throw new CommandError(invalidExpire(name));
  }
  const past = deadline <= time;
  return isAbsolute
    ? { deadline, absolute: { wallMs: amountMs, deadline }, past }
    : { deadline, past };
}

/** Milliseconds left: −1 without deadline. Late is allowed, so a due record shows 0. */
export function millisecondsLeft(execution: Execution, record: RedisRecord): number {
  if (record.deadline === 0) return -1;
  return Math.max(0, record.deadline - execution.time);
}

/** The wall time at which it ends: as asked for, else the present one plus what is left. */
export function absoluteExpiryMs(execution: Execution, record: RedisRecord): number {
  if (record.deadline === 0) return -1;
  const { absolute } = record.value;
  if (absolute !== undefined && absolute.deadline === record.deadline) return absolute.wallMs;
  return execution.wall + (record.deadline - execution.time);
}
