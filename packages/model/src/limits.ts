/** Bounds that every member shares. What an operator may change is a cluster option instead. */
export const LIMITS = {
  /** Largest command by door, checked before the log (design §12). */
  commandBytesMaxEtcd: 1.5 * 1024 * 1024,
  commandBytesMaxZooKeeper: 1024 * 1024,
  commandBytesMaxRedis: 4 * 1024 * 1024,
  /** One connection stops being read beyond either (design §13). */
  connectionRequestsInFlightMax: 1000,
  connectionBytesInFlightMax: 1024 * 1024,
  connectionBytesUnsentMax: 1024 * 1024,
  /** A subscriber that falls this far behind is closed. */
  subscriberBytesUnsentMax: 8 * 1024 * 1024,
  /** Commands of one member that wait for the log; beyond, the door answers OVERLOADED. */
  memberCommandsPendingMax: 200_000,
  memberBytesPendingMax: 64 * 1024 * 1024,
  /** One entry: a turn that gathers more makes several. */
  entryBytesMax: 4 * 1024 * 1024,
  entryCommandsMax: 10_000,
  /** Apply yields between transactions after this long. */
  applySliceMs: 5,
} as const;
