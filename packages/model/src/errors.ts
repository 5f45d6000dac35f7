/**
 * The one error table. Adapters map codes to their protocol's errors; people read `message` (the
 * cause, `{}` filled in) and `hint` (the next step). `outcome` tells a client what it may assume.
 */
export const ERRORS = {
  NO_LEADER: {
    outcome: 'failed',
    message: 'no leader is known; a majority of members may be unreachable',
    hint: 'check `lockstep status` on each member and that peers can reach each other',
  },
  UNKNOWN_OUTCOME: {
    outcome: 'unknown',
    message: 'the answer did not come in time; the command may or may not have been applied',
    hint: 'read the state back before retrying anything that must not happen twice',
  },
  OVERLOADED: {
    outcome: 'failed',
    message: 'too many requests are waiting: {}',
    hint: 'retry with back-off',
  },
  NOT_READY: {
    outcome: 'failed',
    message: 'the member is starting and has not caught up yet',
    hint: 'retry, or use another member',
  },
  STOPPING: {
    outcome: 'failed',
    message: 'the member is stopping',
    hint: 'reconnect to another member',
  },
  COMMAND_TOO_LARGE: {
    outcome: 'failed',
    message: 'command of {} bytes exceeds the limit of {} bytes',
    hint: 'send less in one request, or raise the limit for the whole cluster',
  },
  SESSION_EXPIRED: {
    outcome: 'failed',
    message: 'the session has expired or never existed',
    hint: 'open a new session',
  },
  SESSION_MOVED: {
    outcome: 'failed',
    message: 'the session is attached to another connection',
    hint: 'use the newest connection',
  },
  NO_SPACE: {
    outcome: 'failed',
    message: 'the quota of {} bytes is used up',
    hint: 'delete keys or compact; deletes are always accepted',
  },
  BUDGET_EXCEEDED: {
    outcome: 'failed',
    message: 'the transaction exceeds its budget of {} steps',
    hint: 'split it into smaller transactions',
  },
  FENCED: {
    outcome: 'failed',
    message: "stale token {} for '{}', current is {}",
    hint: 'the lock moved on; stop writing and take it again',
  },
  COMPACTED: {
    outcome: 'failed',
    message: 'revision {} has been compacted; the oldest kept is {}',
    hint: 'read the present state and watch from there',
  },
  FUTURE_REVISION: {
    outcome: 'failed',
    message: 'revision {} is in the future; the current one is {}',
    hint: 'do not ask beyond the revision of a header',
  },
  FEATURE_LEVEL: {
    outcome: 'failed',
    message: 'this needs feature level {}, the cluster is at {}',
    hint: 'upgrade every member; the level follows by itself (`lockstep status` shows it)',
  },
  NOT_ON_RECORD: {
    outcome: 'failed',
    message: 'member {} is not among the members of its own state',
    hint: 'it was removed from the cluster before: recover another member',
  },
  INVALID_OPTION: {
    outcome: 'failed',
    message: '{}: {} is not accepted; {}',
    hint: 'see `lockstep serve --help`',
  },
  ADDRESS_IN_USE: {
    outcome: 'failed',
    message: '{} is in use',
    hint: 'stop the other process or choose another address with {}',
  },
  LOG_DAMAGED: {
    outcome: 'failed',
    message: 'the log is damaged: {} at offset {}: {}',
    hint: 'remove the member and add it again with an empty data directory, or restore a backup',
  },
  LOG_LOST: {
    outcome: 'failed',
    message: 'entries {} to {} of the log are lost: {} is damaged at offset {} ({}); {}',
    hint: 'restore the data directory of one of these members from a backup and start it again',
  },
  DATA_DIRECTORY_UNUSABLE: {
    outcome: 'failed',
    message: 'data directory {} cannot be used: {}',
    hint: 'make it a directory that this user may write to, or choose another with --data-dir',
  },
  DATA_DIRECTORY_MISMATCH: {
    outcome: 'failed',
    message: 'data directory {} belongs to {}, not to {}',
    hint: 'use the right one; if this is it, give --initial-cluster as at first, or leave it out',
  },
  MEMBER_REMOVED: {
    outcome: 'failed',
    message: 'this member was removed from the cluster; its data directory is of no further use',
    hint: 'to take it in again: `lockstep member add`, and start it with an empty data directory',
  },
  MEMBER_HAS_OTHER_DIRECTORY: {
    outcome: 'failed',
    message: 'this member has run with another data directory; its votes would count twice',
    hint: 'if that is lost: `lockstep member remove`, `lockstep member add` and what it prints',
  },
  CLUSTER_EXISTS: {
    outcome: 'failed',
    message: '{} belongs to cluster {} already, not to a new one',
    hint: '`lockstep member add` lets a member in; start it with --initial-cluster-state existing',
  },
  NOT_ADDED: {
    outcome: 'failed',
    message: 'the cluster at {} has no member with the peer address {}',
    hint: 'add it first: lockstep member add {} --peer {}',
  },
  NO_PEER_ANSWERS: {
    outcome: 'failed',
    message: 'none of {} answers, so there is no cluster to join',
    hint: 'check --initial-cluster: it names the peer listeners of the members that run',
  },
  SOFTWARE_TOO_OLD: {
    outcome: 'failed',
    message: 'this software does not support the feature level of the cluster',
    hint: 'upgrade it',
  },
} as const satisfies Record<string, ErrorRow>;

interface ErrorRow {
  /** `failed`: it certainly did not happen. `unknown`: it may have. */
  readonly outcome: 'failed' | 'unknown';
  readonly message: string;
  readonly hint: string;
}

export type ErrorCode = keyof typeof ERRORS;

/** An operating error from the table. Match on `code`, never on the message. */
export class LockstepError extends Error {
  override name = 'LockstepError';
  readonly code: ErrorCode;
  /** The next step, filled in with the details that follow those of the message. */
  readonly hint: string;

  constructor(code: ErrorCode, ...details: readonly (string | number)[]) {
    let next = 0;
    const fill = (text: string): string =>
      text.replaceAll('{}', () => String(details[next++] ?? '?'));
    const { message, hint } = ERRORS[code];
    super(fill(message));
    this.code = code;
    this.hint = fill(hint);
  }

  get outcome(): 'failed' | 'unknown' {
    return ERRORS[this.code].outcome;
  }
}
