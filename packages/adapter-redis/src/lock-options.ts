import type { ByteString } from '@lockstep/model';
import { CommandError, invalidExpire, SYNTAX_ERROR } from './errors.ts';
import { clampInteger, requireInteger } from './integer.ts';

/** LOCK ACQUIRE key owner … as parsed. */
export interface AcquireOptions {
  /** 0: no expiry, the session alone ends it. */
  readonly ttlMs: number;
  /** Undefined: do not wait; 0: wait for ever. */
  readonly blockMs: number | undefined;
  readonly queueMax: number;
  readonly meta: ByteString;
  readonly session: boolean;
  readonly reentrant: boolean;
  readonly unfair: boolean;
  readonly withInfo: boolean;
}

const ACQUIRE = 'lock|acquire';
/** Half of the safe range leaves room for the cluster time it is added to. */
const TIME_MS_MAX = Number.MAX_SAFE_INTEGER / 2;

interface Parsed {
  ttlMs?: number;
  blockMs?: number;
  queueMax?: number;
  meta?: ByteString;
}

/** Throws `syntax error`, `not an integer` or `invalid expire time`. */
export function parseAcquire(argv: readonly ByteString[]): AcquireOptions {
  const parsed: Parsed = {};
  const words = new Set<string>();
  for (let i = 4; i < argv.length; i++) {
    const word = argv[i]!.toUpperCase();
    if (word === 'SHARED') throw new CommandError('ERR SHARED locks are not supported yet');
    if (isBareWord(word)) words.add(word);
    else parseValue(parsed, word, argv[++i]);
  }
  const session = words.has('SESSION');
  // A lock without any end would outlive its holder for good.
  if (parsed.ttlMs === undefined && !session) throw new CommandError(SYNTAX_ERROR);
  return {
    ttlMs: parsed.ttlMs ?? 0,
    blockMs: parsed.blockMs,
    queueMax: parsed.queueMax ?? Number.POSITIVE_INFINITY,
    meta: parsed.meta ?? '',
    session,
    reentrant: words.has('REENTRANT'),
    unfair: words.has('UNFAIR'),
    withInfo: words.has('WITHINFO'),
  };
}

function isBareWord(word: string): boolean {
  return word === 'SESSION' || word === 'REENTRANT' || word === 'UNFAIR' || word === 'WITHINFO';
}

function parseValue(parsed: Parsed, word: string, value: ByteString | undefined): void {
  if (value === undefined) throw new CommandError(SYNTAX_ERROR);
  switch (word) {
    case 'PX':
    case 'EX':
      if (parsed.ttlMs !== undefined) throw new CommandError(SYNTAX_ERROR);
      parsed.ttlMs = parseTtl(word, value, ACQUIRE);
      return;
    case 'BLOCK':
      parsed.blockMs = parseBlock(value);
      return;
    case 'MAXQUEUE':
      parsed.queueMax = parseQueueMax(value);
      return;
    case 'META':
      parsed.meta = value;
      return;
    default:
      throw new CommandError(SYNTAX_ERROR);
  }
}

/** A positive time in milliseconds; `name` goes into the error. */
export function parseTtl(unit: 'PX' | 'EX', text: ByteString, name: ByteString): number {
  const ms = clampInteger(requireInteger(text)) * (unit === 'EX' ? 1000 : 1);
  if (ms <= 0 || ms > TIME_MS_MAX) throw new CommandError(invalidExpire(name));
  return ms;
}

function parseBlock(text: ByteString): number {
  const ms = clampInteger(requireInteger(text));
  if (ms < 0) throw new CommandError('ERR timeout is negative');
  if (ms > TIME_MS_MAX) throw new CommandError('ERR timeout is out of range');
  return ms;
}

function parseQueueMax(text: ByteString): number {
  const count = clampInteger(requireInteger(text));
  if (count < 0) throw new CommandError('ERR value is out of range, must be positive');
  return count;
}
