export { encodeIdentities, OPEN_ACL } from './acl.ts';
export { zookeeperExtension } from './extension.ts';
export { type DoorCounts, startZookeeperDoor, type ZooKeeperDoor } from './listener.ts';
export { listZookeeperLocks } from './locks.ts';
export type { OperationResult, TreeOperation } from './operations.ts';
export { changeCommand, multiCommand } from './procedures/changes.ts';
export {
  attachSessionCommand,
  closeSessionCommand,
  openSessionCommand,
  type SessionResult,
} from './procedures/sessions.ts';
export type { ZooKeeperDoorOptions } from './settings.ts';
export { NodeMode } from './tree.ts';
