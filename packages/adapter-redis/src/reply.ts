import type { ByteString } from '@lockstep/model';

/**
 * A reply before it becomes bytes, the same for plain commands, MULTI and scripts. The common
 * kinds are bare values: number or bigint is an integer, string a bulk, null the null bulk, an
 * array an array. Whoever writes it picks RESP2 or RESP3.
 */
export type Reply =
  | number
  | bigint
  | ByteString
  | null
  | readonly Reply[]
  | StatusReply
  | ErrorReply
  | NullArrayReply
  | MapReply
  | SetReply
  | DoubleReply
  | BooleanReply
  | BigNumberReply
  | VerbatimReply
  | PushReply
  | ManyReplies
  | QueuedReply;

export interface StatusReply {
  readonly kind: 'status';
  readonly text: ByteString;
}

/** `text` begins with the code: `ERR syntax error`. */
export interface ErrorReply {
  readonly kind: 'error';
  readonly text: ByteString;
}

/** `*-1` in RESP2: EXEC after a failed WATCH, a blocking pop that timed out. */
export interface NullArrayReply {
  readonly kind: 'null-array';
}

/** Keys and values alternate; an array of them in RESP2. */
export interface MapReply {
  readonly kind: 'map';
  readonly items: readonly Reply[];
}

export interface SetReply {
  readonly kind: 'set';
  readonly items: readonly Reply[];
}

export interface DoubleReply {
  readonly kind: 'double';
  readonly value: number;
}

export interface BooleanReply {
  readonly kind: 'boolean';
  readonly value: boolean;
}

export interface BigNumberReply {
  readonly kind: 'big-number';
  readonly text: ByteString;
}

/** `format` has three letters (`txt`); RESP2 clients get a bulk. */
export interface VerbatimReply {
  readonly kind: 'verbatim';
  readonly format: ByteString;
  readonly text: ByteString;
}

/** Out of band in RESP3, an array in RESP2. */
export interface PushReply {
  readonly kind: 'push';
  readonly items: readonly Reply[];
}

/** Several replies to one command, one after another (SUBSCRIBE a b c); none at all when empty. */
export interface ManyReplies {
  readonly kind: 'many';
  readonly items: readonly Reply[];
}

/** Never written: the command queued this waiter, and a WaiterEvent brings its reply. */
export interface QueuedReply {
  readonly kind: 'queued';
  readonly waiter: number;
}

export const OK: StatusReply = { kind: 'status', text: 'OK' };
export const QUEUED: StatusReply = { kind: 'status', text: 'QUEUED' };
export const PONG: StatusReply = { kind: 'status', text: 'PONG' };
export const NULL_ARRAY: NullArrayReply = { kind: 'null-array' };
export const NO_REPLY: ManyReplies = { kind: 'many', items: [] };

export function status(text: ByteString): StatusReply {
  return { kind: 'status', text };
}

export function error(text: ByteString): ErrorReply {
  return { kind: 'error', text };
}

export function isError(reply: Reply): reply is ErrorReply {
  return typeof reply === 'object' && reply !== null && 'kind' in reply && reply.kind === 'error';
}

export function isQueued(reply: Reply): reply is QueuedReply {
  return typeof reply === 'object' && reply !== null && 'kind' in reply && reply.kind === 'queued';
}
