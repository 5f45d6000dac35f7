import type {
  ByteString,
  ClusterTimeMs,
  Incarnation,
  LeaseHandle,
  LeaseKind,
  MemberId,
  Sequence,
  Token,
  WallTimeMs,
} from '@lockstep/model';
import type { AnyKeyspace } from './record.ts';
import type { Transaction } from './writing.ts';

export interface Lease {
  readonly handle: LeaseHandle;
  readonly kind: LeaseKind;
  /** The protocol's id: etcd int64, ZooKeeper session id; unique within its kind. */
  readonly id: bigint;
  readonly ttlMs: number;
  readonly deadline: ClusterTimeMs;
  /** Counts attachments (ZooKeeper); a command with another epoch is void. */
  readonly epoch: number;
  /** Door's own bytes (password); the machine never looks inside. */
  readonly payload: Uint8Array;
  /** Records hanging on it. */
  readonly keyCount: number;
  /** Member and incarnation that opened or last attached it. A RedisConnection lease ends with
   * that incarnation. */
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
}

/** Somebody queued for keys: LOCK ACQUIRE … BLOCK, BLPOP (design §9). Replicated, FIFO per key. */
export interface Waiter {
  /** Replicated counter: queue order. */
  readonly id: number;
  /** Names the `WaiterKind` that serves it. */
  readonly kind: string;
  readonly keyspace: AnyKeyspace;
  readonly keys: readonly ByteString[];
  readonly origin: MemberId;
  readonly incarnation: Incarnation;
  /** Sequence of the command that queued it; how its origin finds the client. */
  readonly request: Sequence;
  /** Cluster time; 0 waits for ever. */
  readonly deadline: ClusterTimeMs;
  /** Queued at (cluster time), for LOCK QUEUE. */
  readonly since: ClusterTimeMs;
  readonly args: Uint8Array;
}

export interface WaiterKind {
  readonly name: string;
  /**
   * True when one waiter that stays queued means that no later one of this kind on the same key
   * can be served (locks): the queue is then not asked further. Default false: all are asked.
   */
  readonly strict?: boolean;
  /**
   * Called at the end of a transaction that changed one of its keys, oldest waiter first. Serves
   * it (writes through `tx`) and returns a result, or returns undefined and it stays queued, or
   * returns `WAITER_CANCELLED` and it leaves the queue with outcome `cancelled`.
   */
  serve(tx: Transaction, waiter: Waiter): unknown;
}

/** Returned by `WaiterKind.serve` for a waiter that can never be served any more. */
export const WAITER_CANCELLED: unique symbol = Symbol('waiter cancelled');

/**
 * What is known of a lock beside its record: kept by the lock table under the record's key and
 * token, gone when the record is deleted or gets another token.
 */
export interface LockNote {
  readonly token: Token;
  /** When the present owner got the lock: cluster time and wall stamp. */
  readonly acquiredAt: ClusterTimeMs;
  readonly acquiredWall: WallTimeMs;
  /** Member through which it was taken. */
  readonly origin: MemberId;
  /** Re-entrant acquisitions not yet released; 1 for a plain lock. */
  readonly holds: number;
  /** Owner's own bytes (META of LOCK ACQUIRE). */
  readonly meta: Uint8Array;
}

/** One row of `lockstep locks` (design §9): a view for people, sorted by name. */
export interface LockRow {
  readonly door: 'etcd' | 'zookeeper' | 'redis';
  readonly name: string;
  readonly holder: string;
  readonly token: Token;
  /** Milliseconds of lease or TTL left; undefined when it has none. */
  readonly leaseMsLeft: number | undefined;
  readonly waiters: number;
}
