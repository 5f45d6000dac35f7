/** Which front door an operation came in by. Each door has a keyspace of its own. */
export type Door = 'etcd' | 'zookeeper' | 'redis';

/**
 * `ok`: answered, took effect. `fail`: refused for certain, no effect. `unknown`: the answer never
 * came; it may have taken effect at any time after `call`, or not at all.
 */
export type Outcome = 'ok' | 'fail' | 'unknown';

/** What a key holds; null when it is absent. Written values are unique, save those of counters. */
export type Value = string | number | null;

interface Base {
  /** Who asked; one thing at a time. */
  readonly client: string;
  readonly door: Door;
  /** Key, lock, lease or stream, within its door. */
  readonly key: string;
  /** When the request was handed to the socket, in ns of a monotonic clock. */
  readonly call: number;
  /** When the answer was read, or given up. */
  readonly return: number;
  readonly outcome: Outcome;
  /**
   * The witness. Of what changed something: the revision it was given. Of a read: the revision of
   * the state that was read, where the door tells it (etcd's header, ZooKeeper's reply zxid).
   */
  readonly revision?: number;
}

/** A read. `mod` is the revision of the write that the read found. */
export interface Read extends Base {
  readonly op: 'read';
  readonly result?: Value;
  readonly mod?: number;
  /** Not linearizable and not meant to be: ZooKeeper's local reads, etcd's serializable ones. */
  readonly weak?: boolean;
}

export interface Write extends Base {
  readonly op: 'write';
  readonly value: Value;
  /** The key goes away with this lease. */
  readonly lease?: string;
}

/** Writes `value` if the key holds `expected`, last written at `expectedMod`. */
export interface CompareAndSet extends Base {
  readonly op: 'cas';
  readonly expected: Value;
  readonly expectedMod?: number;
  readonly value: Value;
  /** True when it wrote. */
  readonly result?: boolean;
  /** What was there instead, where the door tells it. */
  readonly actual?: Value;
  readonly mod?: number;
}

/** Takes a key away; result is whether there was one. */
export interface Delete extends Base {
  readonly op: 'delete';
  readonly result?: boolean;
}

/** Adds a number to a counter; result is the sum. An absent counter is 0. */
export interface Add extends Base {
  readonly op: 'add';
  readonly value: number;
  readonly result?: number;
}

/** Takes a lock, each time for a new owner. Result is the token, null when it was held. */
export interface Acquire extends Base {
  readonly op: 'acquire';
  readonly owner: string;
  /** The lease that holds it; alone, or with a time of its own. */
  readonly lease?: string;
  readonly ttlMs?: number;
  /** The token is from when it began to wait, not from when it was granted: ZooKeeper's recipe. */
  readonly queued?: boolean;
  readonly result?: number | null;
}

/** Sets the remaining time of a lock again; result is whether it was still held. */
export interface Extend extends Base {
  readonly op: 'extend';
  readonly token: number;
  readonly ttlMs: number;
  readonly result?: boolean;
}

export interface Release extends Base {
  readonly op: 'release';
  readonly token: number;
  readonly result?: boolean;
}

/** A write to a resource under a lock's token; result is whether the token was accepted. */
export interface GuardedWrite extends Base {
  readonly op: 'guarded';
  readonly lock: string;
  readonly token: number;
  readonly value: Value;
  /** `held`: the lock is now held under exactly this token. `mark`: no higher token was seen. */
  readonly guard: 'held' | 'mark';
  readonly result?: boolean;
}

/** A lease or session begins, or is renewed. Result false: there is no such lease (any more). */
export interface Renew extends Base {
  readonly op: 'grant' | 'renew';
  readonly ttlMs: number;
  readonly result?: boolean;
}

/** A lease is given back; what hangs on it goes at once. */
export interface Revoke extends Base {
  readonly op: 'revoke';
}

/** Somebody saw that a lease has ended: its key was gone, or a renewal was refused. */
export interface Gone extends Base {
  readonly op: 'gone';
}

/** A stream of events of all keys that begin with `prefix` is open from revision `from` on. */
export interface Watch extends Base {
  readonly op: 'watch';
  readonly prefix: string;
  readonly from: number;
}

/**
 * One event of the stream `key`; `value` null is a deletion. Left out where events tell only that
 * something changed.
 */
export interface WatchEvent extends Base {
  readonly op: 'event';
  readonly subject: string;
  readonly value?: Value;
  readonly revision: number;
}

/** The stream was told, or can know, that it has been given everything up to `revision`. */
export interface WatchProgress extends Base {
  readonly op: 'progress';
  readonly revision: number;
}

export type Operation =
  | Read
  | Write
  | CompareAndSet
  | Delete
  | Add
  | Acquire
  | Extend
  | Release
  | GuardedWrite
  | Renew
  | Revoke
  | Gone
  | Watch
  | WatchEvent
  | WatchProgress;

export type OperationName = Operation['op'];

/** The register or counter that an operation is about. */
export const objectOf = (operation: Operation): string => `${operation.door} ${operation.key}`;
