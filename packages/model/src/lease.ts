/**
 * A lease as the log and the records name it: a small integer from a replicated counter, given at
 * grant and never reused. Protocol ids (bigint) are looked up once, at the door. 0 means none.
 */
export type LeaseHandle = number;
export const NO_LEASE: LeaseHandle = 0;

/** Each door sees only its kind: the table's keys are (kind, id). */
export const LeaseKind = {
  /** A member's incarnation (design §4). */
  Member: 1,
  /** An etcd lease. */
  Etcd: 2,
  /** A ZooKeeper session. */
  ZooKeeper: 3,
  /** A Redis connection that holds SESSION locks. */
  RedisConnection: 4,
} as const;
export type LeaseKind = (typeof LeaseKind)[keyof typeof LeaseKind];
