import type { ByteString } from '@lockstep/model';
import type { ClientIdentity } from './command.ts';
import { CommandError, invalidExpire, SYNTAX_ERROR } from './errors.ts';
import { clampInteger, requireInteger } from './integer.ts';
import type { LockRequest } from './lock-request.ts';

/** LOCK ACQUIRE key owner … as parsed. */
export interface AcquireOptions {
  readonly request: LockRequest;
  /** Undefined: do not wait; 0: wait for ever. */
  readonly blockMs: number | undefined;
  readonly queueMax: number | undefined;
}

const ACQUIRE = 'lock|acquire';

/** Throws `syntax error`, `not an integer` or `invalid expire time`. */
export function parseAcquire(
  argv: readonly ByteString[],
  client: ClientIdentity | undefined,
): AcquireOptions {
  let ttlMs: number | undefined;
  let blockMs: number | undefined;
  let queueMax: number | undefined;
  let meta = '';
  const words = { session: false, reentrant: false, withInfo: false };
  for (let i = 4; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    if (word === 'SESSION') words.session = true;
    else if (word === 'REENTRANT') words.reentrant = true;
    else if (word === 'WITHINFO') words.withInfo = true;
    else if (word === 'SHARED') throw new CommandError('ERR SHARED locks are not supported yet');
    else if (word === 'UNFAIR') continue;
    else {
      const value = argv[++i];
      if (value === undefined) throw new CommandError(SYNTAX_ERROR);
      if (word === 'PX' || word === 'EX') ttlMs = parseTtl(word, value, ACQUIRE);
      else if (word === 'BLOCK') blockMs = parseBlock(value);
      else if (word === 'MAXQUEUE') queueMax = parseQueueMax(value);
      else if (word === 'META') meta = value;
      else throw new CommandError(SYNTAX_ERROR);
    }
  }
  // A lock without any end would outlive its holder for good.
  if (ttlMs === undefined && !words.session) throw new CommandError(SYNTAX_ERROR);
  const request = { owner: argv[3]!, ttlMs: ttlMs ?? 0, meta, client, ...words };
  return { request, blockMs, queueMax };
}

/** A positive time in milliseconds; `name` goes into the error. */
export function parseTtl(unit: 'PX' | 'EX', text: ByteString, name: ByteString): number {
  const ms = clampInteger(requireInteger(text)) * (unit === 'EX' ? 1000 : 1);
  // Half of the safe range leaves room for the cluster time it is added to.
  if (ms <= 0 || ms > Number.MAX_SAFE_INTEGER / 2) throw new CommandError(invalidExpire(name));
  return ms;
}

function parseBlock(text: ByteString): number {
  const ms = clampInteger(requireInteger(text));
  if (ms < 0) throw new CommandError('ERR timeout is negative');
  if (ms > Number.MAX_SAFE_INTEGER / 2) throw new CommandError('ERR timeout is out of range');
  return ms;
}

function parseQueueMax(text: ByteString): number {
  const count = clampInteger(requireInteger(text));
  if (count < 0) throw new CommandError('ERR value is out of range, must be positive');
  return count;
}
