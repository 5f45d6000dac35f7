/**
 * Error codes of reply headers (ZooKeeper's KeeperException.Code). Only codes that every client
 * since 3.4 knows are sent: a Java client fails hard on one it has never heard of.
 */
export const ErrorCode = {
  Ok: 0,
  /** Entries of a failed multi behind the one that failed. */
  RuntimeInconsistency: -2,
  Marshalling: -5,
  Unimplemented: -6,
  BadArguments: -8,
  ApiError: -100,
  NoNode: -101,
  NoAuth: -102,
  BadVersion: -103,
  NoChildrenForEphemerals: -108,
  NodeExists: -110,
  NotEmpty: -111,
  SessionExpired: -112,
  InvalidAcl: -114,
  AuthFailed: -115,
  NoWatcher: -121,
  ReconfigDisabled: -123,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];
