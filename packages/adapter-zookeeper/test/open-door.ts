import { createLocalReplica, LocalImage, type LocalReplica } from '@lockstep/replica';
import { createStateMachine } from '@lockstep/state-machine';
import {
  startZookeeperDoor,
  type ZooKeeperDoor,
  type ZooKeeperDoorOptions,
  zookeeperExtension,
} from '../src/index.ts';
import { BOOTSTRAP } from './door-world.ts';
import { hello } from './hello.ts';
import { nodeClock, nodeRandom, nodeScheduler } from './node-ports.ts';

export interface OpenDoor {
  readonly address: string;
  readonly replica: LocalReplica;
  close(): Promise<void>;
}

/** A door on a real socket over a local replica with the real clock. */
export function openDoor(options: Partial<ZooKeeperDoorOptions> = {}): Promise<OpenDoor> {
  const image = new LocalImage();
  const extensions = [zookeeperExtension];
  const stateMachine = createStateMachine({ extensions, image, bootstrap: BOOTSTRAP });
  const replica = createLocalReplica({
    stateMachine,
    clock: nodeClock,
    scheduler: nodeScheduler,
    image,
    hello: hello(),
  });
  const given = { replica, clock: nodeClock, random: nodeRandom, address: '127.0.0.1:0' };
  return new Promise((resolve, reject) => {
    startZookeeperDoor({ ...given, ...options }, (error, door) => {
      if (error !== undefined || door === undefined) reject(error);
      else resolve({ address: door.address, replica, close: () => closeDoor(door, replica) });
    });
  });
}

function closeDoor(door: ZooKeeperDoor, replica: LocalReplica): Promise<void> {
  return new Promise((resolve) => {
    door.close(() => {
      replica.close();
      resolve();
    });
  });
}
