/** Request types on the wire (ZooDefs.OpCode). */
export const OpCode = {
  Create: 1,
  Delete: 2,
  Exists: 3,
  GetData: 4,
  SetData: 5,
  GetAcl: 6,
  SetAcl: 7,
  GetChildren: 8,
  Sync: 9,
  Ping: 11,
  GetChildren2: 12,
  Check: 13,
  Multi: 14,
  Create2: 15,
  Reconfig: 16,
  CheckWatches: 17,
  RemoveWatches: 18,
  CreateContainer: 19,
  CreateTtl: 21,
  MultiRead: 22,
  Auth: 100,
  SetWatches: 101,
  Sasl: 102,
  GetEphemerals: 103,
  GetAllChildrenNumber: 104,
  SetWatches2: 105,
  AddWatch: 106,
  WhoAmI: 107,
  CloseSession: -11,
  Error: -1,
} as const;
export type OpCode = (typeof OpCode)[keyof typeof OpCode];

/** Transaction ids of frames that are not ordinary requests. */
export const Xid = { Notification: -1, Ping: -2, Auth: -4, SetWatches: -8 } as const;

/** Watch event types that a server sends. */
export const EventType = {
  Created: 1,
  Deleted: 2,
  DataChanged: 3,
  ChildrenChanged: 4,
} as const;
export type EventType = (typeof EventType)[keyof typeof EventType];

/** KeeperState of every event a server sends: SyncConnected. */
export const STATE_CONNECTED = 3;

/** Kinds named by checkWatches and removeWatches. */
export const WatcherType = {
  Children: 1,
  Data: 2,
  Any: 3,
  Persistent: 4,
  PersistentRecursive: 5,
} as const;
export type WatcherType = (typeof WatcherType)[keyof typeof WatcherType];

/** Modes of addWatch. */
export const AddWatchMode = { Persistent: 0, PersistentRecursive: 1 } as const;

/** Permission bits of an ACL entry. */
export const Permission = { Read: 1, Write: 2, Create: 4, Delete: 8, Admin: 16, All: 31 } as const;
export type Permission = (typeof Permission)[keyof typeof Permission];
