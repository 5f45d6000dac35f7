import type { LockstepError } from '@lockstep/model';

/** gRPC status numbers that etcd uses. */
export const StatusCode = {
  Cancelled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;
export type StatusCode = (typeof StatusCode)[keyof typeof StatusCode];

interface EtcdErrorRow {
  readonly code: StatusCode;
  /** Clients compare this text byte for byte. */
  readonly message: string;
}

const { Unknown, InvalidArgument, NotFound, FailedPrecondition, OutOfRange, Unavailable } =
  StatusCode;

/** Every error the etcd door answers: code and exact text of the etcd v3 API. */
export const ETCD_ERRORS = {
  KEY_NOT_PROVIDED: { code: InvalidArgument, message: 'etcdserver: key is not provided' },
  KEY_NOT_FOUND: { code: InvalidArgument, message: 'etcdserver: key not found' },
  VALUE_PROVIDED: { code: InvalidArgument, message: 'etcdserver: value is provided' },
  LEASE_PROVIDED: { code: InvalidArgument, message: 'etcdserver: lease is provided' },
  TOO_MANY_OPERATIONS: {
    code: InvalidArgument,
    message: 'etcdserver: too many operations in txn request',
  },
  DUPLICATE_KEY: {
    code: InvalidArgument,
    message: 'etcdserver: duplicate key given in txn request',
  },
  INVALID_CLIENT_API_VERSION: {
    code: InvalidArgument,
    message: 'etcdserver: invalid client api version',
  },
  INVALID_SORT_OPTION: { code: InvalidArgument, message: 'etcdserver: invalid sort option' },
  REQUEST_TOO_LARGE: { code: InvalidArgument, message: 'etcdserver: request is too large' },
  INVALID_DOWNGRADE_VERSION: {
    code: InvalidArgument,
    message: 'etcdserver: invalid downgrade target version',
  },
  LEASE_NOT_FOUND: { code: NotFound, message: 'etcdserver: requested lease not found' },
  MEMBER_NOT_FOUND: { code: NotFound, message: 'etcdserver: member not found' },
  BAD_MEMBER_URLS: {
    code: InvalidArgument,
    message: 'etcdserver: given member URLs are invalid',
  },
  MEMBER_EXISTS: { code: FailedPrecondition, message: 'etcdserver: member ID already exist' },
  PEER_URL_EXISTS: { code: FailedPrecondition, message: 'etcdserver: Peer URLs already exists' },
  MEMBER_NOT_LEARNER: {
    code: FailedPrecondition,
    message: 'etcdserver: can only promote a learner member',
  },
  LEARNER_NOT_READY: {
    code: FailedPrecondition,
    message: 'etcdserver: can only promote a learner member which is in sync with leader',
  },
  TOO_MANY_LEARNERS: {
    code: FailedPrecondition,
    message: 'etcdserver: too many learner members in cluster',
  },
  NOT_ENOUGH_STARTED: {
    code: Unknown,
    message: 'etcdserver: re-configuration failed due to not enough started members',
  },
  UNHEALTHY: { code: Unavailable, message: 'etcdserver: unhealthy cluster' },
  NO_SPACE: {
    code: StatusCode.ResourceExhausted,
    message: 'etcdserver: mvcc: database space exceeded',
  },
  LEASE_EXISTS: { code: FailedPrecondition, message: 'etcdserver: lease already exists' },
  AUTH_NOT_ENABLED: {
    code: FailedPrecondition,
    message: 'etcdserver: authentication is not enabled',
  },
  NOT_LEADER: { code: FailedPrecondition, message: 'etcdserver: not leader' },
  BAD_LEADER_TRANSFEREE: {
    code: FailedPrecondition,
    message: 'etcdserver: bad leader transferee',
  },
  NOT_SUPPORTED_FOR_LEARNER: {
    code: FailedPrecondition,
    message: 'etcdserver: rpc not supported for learner',
  },
  COMPACTED: {
    code: OutOfRange,
    message: 'etcdserver: mvcc: required revision has been compacted',
  },
  FUTURE_REVISION: {
    code: OutOfRange,
    message: 'etcdserver: mvcc: required revision is a future revision',
  },
  LEASE_TTL_TOO_LARGE: { code: OutOfRange, message: 'etcdserver: too large lease TTL' },
  NO_LEADER: { code: Unavailable, message: 'etcdserver: no leader' },
  LEADER_CHANGED: { code: Unavailable, message: 'etcdserver: leader changed' },
  SERVER_STOPPED: { code: Unavailable, message: 'etcdserver: server stopped' },
  TIMED_OUT: { code: Unavailable, message: 'etcdserver: request timed out' },
  TOO_MANY_REQUESTS: { code: Unknown, message: 'etcdserver: too many requests' },
  TRANSFER_TIMED_OUT: {
    code: Unknown,
    message: 'etcdserver: request timed out, leader transfer took too long',
  },
  SESSION_EXPIRED: { code: Unknown, message: 'mutex: session is expired' },
  ELECTION_NO_LEADER: { code: Unknown, message: 'election: no leader' },
  ELECTION_NOT_LEADER: { code: Unknown, message: 'election: not leader' },
  LEADER_FIELD_MISSING: { code: Unknown, message: '"leader" field must be provided' },
  UNKNOWN_SERVICE: { code: NotFound, message: 'unknown service' },
} as const satisfies Record<string, EtcdErrorRow>;

export type EtcdErrorName = keyof typeof ETCD_ERRORS;

/** Reasons of a refused or ended watch that are no RPC error. */
export const WATCH_REASONS = {
  duplicateId: 'mvcc: duplicate watch ID provided on the WatchStream',
  emptyRange: 'mvcc: watcher range is empty',
} as const;

/**
 * What a failed command, barrier or renewal means to an etcd client. A write of unknown outcome
 * must carry one of the time-out texts; a read caught by an election says so, and Go clients then
 * retry it silently.
 */
export function etcdErrorOf(error: LockstepError): EtcdErrorName {
  switch (error.code) {
    case 'UNKNOWN_OUTCOME':
      return 'TIMED_OUT';
    case 'STOPPING':
      return 'SERVER_STOPPED';
    case 'OVERLOADED':
      return 'TOO_MANY_REQUESTS';
    case 'COMMAND_TOO_LARGE':
      return 'REQUEST_TOO_LARGE';
    case 'NO_SPACE':
      return 'NO_SPACE';
    case 'BUDGET_EXCEEDED':
      return 'TOO_MANY_OPERATIONS';
    case 'COMPACTED':
      return 'COMPACTED';
    case 'FUTURE_REVISION':
      return 'FUTURE_REVISION';
    default:
      return error.outcome === 'unknown' ? 'TIMED_OUT' : 'NO_LEADER';
  }
}
