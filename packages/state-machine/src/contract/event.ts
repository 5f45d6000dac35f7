import type {
  ByteString,
  ClusterTimeMs,
  MemberId,
  Revision,
  Sequence,
  WallTimeMs,
} from '@lockstep/model';
import type { Lease, Waiter } from './coordination.ts';
import type { AnyKeyspace, LiveRecord } from './record.ts';

/** A change of a door's keyspace, in order. */
export interface ChangeEvent {
  readonly kind: 'change';
  readonly keyspace: AnyKeyspace;
  readonly key: ByteString;
  readonly revision: Revision;
  /** Position among the changes of its revision: 0, 1, 2 … */
  readonly sub: number;
  /** Undefined when deleted. */
  readonly record: LiveRecord | undefined;
  readonly previous: LiveRecord | undefined;
}

/** Emptied as a whole (FLUSHDB); no single change events are given. */
export interface ClearEvent {
  readonly kind: 'clear';
  readonly keyspace: AnyKeyspace;
  readonly revision: Revision;
}

/** A lease or session is no more; its keys' changes came before, in the same transaction. */
export interface LeaseEndedEvent {
  readonly kind: 'lease-ended';
  readonly lease: Lease;
  readonly cause: 'expired' | 'revoked';
}

/** What a procedure or hook says to its own door on every member (publish, notification, watch). */
export interface DoorEvent {
  readonly kind: 'door';
  readonly door: string;
  readonly payload: unknown;
}

/** A queued waiter got what it waited for, or its time ran out. Only its origin replies. */
export interface WaiterEvent {
  readonly kind: 'waiter';
  readonly waiter: Waiter;
  readonly outcome: 'served' | 'timed-out' | 'cancelled';
  /** Result of `serve`; undefined unless served. */
  readonly result: unknown;
}

export type StateEvent = ChangeEvent | ClearEvent | LeaseEndedEvent | DoorEvent | WaiterEvent;

/** One transaction as event subscribers see it, before its command's call-back. */
export interface AppliedTransaction {
  /** Last revision taken by it; 0 when it took none. */
  readonly revision: Revision;
  readonly time: ClusterTimeMs;
  readonly wall: WallTimeMs;
  /** The command's origin and number; origin 0 for expiry and the leader's own commands. */
  readonly origin: MemberId;
  readonly sequence: Sequence;
  readonly events: readonly StateEvent[];
}
