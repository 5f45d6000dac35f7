import type { ByteString, Token } from '@lockstep/model';
import type { Transaction } from '@lockstep/state-machine';
import { CommandError, NOT_AN_INTEGER } from './errors.ts';
import { parseInteger } from './integer.ts';

/** A fencing token as an argument; throws `not an integer`. */
export function parseToken(text: ByteString): Token {
  const token = parseInteger(text);
  if (typeof token !== 'number' || token < 0) throw new CommandError(NOT_AN_INTEGER);
  return token;
}

/** Fence resource of a key (SET … IFTOKEN); GUARD HIGH names its resources itself. */
export function keyFence(db: number, key: ByteString): ByteString {
  return `redis/${db}/${key}`;
}

/**
 * High-water rule (design §9): refuses a token below the highest seen for the resource, accepts
 * an equal one, remembers a higher one. Throws FENCED.
 */
export function admitToken(
  tx: Transaction,
  resource: ByteString,
  shown: ByteString,
  token: Token,
): void {
  const highest = tx.fence(resource);
  if (token < highest) {
    throw new CommandError(`FENCED Stale token ${token} for '${shown}', highest is ${highest}`);
  }
  if (token > highest) tx.raiseFence(resource, token);
}

/** GUARD HIGH, unlike GUARD, remembers the token it is shown. */
export function raisesFence(argv: readonly ByteString[]): boolean {
  return argv[1]?.toUpperCase() === 'HIGH';
}
