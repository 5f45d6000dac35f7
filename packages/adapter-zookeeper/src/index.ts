export { zookeeperExtension } from './extension.ts';
export { type DoorCounts, startZookeeperDoor, type ZooKeeperDoor } from './listener.ts';
export { listZookeeperLocks } from './locks.ts';
export type { ZooKeeperDoorOptions } from './settings.ts';
