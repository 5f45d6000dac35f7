/** A broken invariant: a programmer error or corrupt state. The member stops and reports it. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/**
 * Asserts what must be true on a correct member. Stays on in production: a member that finds
 * itself wrong stops and says why, so put the numbers that matter into the message.
 * The message may be a function, so that a hot path builds no string.
 */
export function invariant(condition: unknown, message: string | (() => string)): asserts condition {
  if (condition) return;
  throw new InvariantError(typeof message === 'string' ? message : message());
}
