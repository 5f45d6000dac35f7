export { encodeIdentities, OPEN_ACL } from './acl.ts';
export { Door as ZooKeeperDoorCore } from './door.ts';
export { ErrorCode } from './errors.ts';
export { DOOR as ZOOKEEPER_DOOR, type DoorPayload } from './events.ts';
export { zookeeperExtension } from './extension.ts';
export { FrameAssembler } from './frame-assembler.ts';
export { FrameWriter, JuteReader } from './jute.ts';
export { type DoorCounts, startZookeeperDoor, type ZooKeeperDoor } from './listener.ts';
export { listZookeeperLocks } from './locks.ts';
export { AddWatchMode, EventType, OpCode, Xid } from './opcodes.ts';
export type { OperationResult, TreeOperation } from './operations.ts';
export { changeCommand, multiCommand } from './procedures/changes.ts';
export {
  attachSessionCommand,
  closeSessionCommand,
  openSessionCommand,
  type SessionResult,
} from './procedures/sessions.ts';
export { resolveSettings, type ZooKeeperDoorOptions } from './settings.ts';
export { NodeMode, type TreeValue, ZOOKEEPER_KEYSPACE } from './tree.ts';
