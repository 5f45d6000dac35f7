export { zookeeperExtension } from './extension.ts';
export { startZookeeperDoor, type ZooKeeperDoor } from './listener.ts';
export { listZookeeperLocks } from './locks.ts';
export type { ZooKeeperDoorOptions } from './settings.ts';
