import { createLocalReplica, LocalImage, type LocalReplica } from '@lockstep/replica';
import {
  type Bootstrap,
  createStateMachine,
  encodeHello,
  encodeRaiseFeatureLevel,
  FEATURE_LEVEL,
  type StateMachine,
} from '@lockstep/state-machine';
import {
  type RedisDoor,
  type RedisDoorOptions,
  redisExtension,
  startRedisDoor,
} from '../src/index.ts';
import { ManualClock, nodeRandom, nodeScheduler } from './node-ports.ts';

export const BOOTSTRAP: Bootstrap = {
  clusterId: 1n,
  members: [{ id: 1, name: 'n1', etcdId: 1n, peerAddress: '127.0.0.1:2380' }],
  options: {},
  // The local replica has no leader that would renew its member's lease.
  electionTimeoutMs: 1_000_000_000,
};

export interface OpenDoor {
  readonly port: number;
  readonly replica: LocalReplica;
  readonly clock: ManualClock;
  readonly image: LocalImage;
  close(): Promise<void>;
}

/** A door on a real socket over a local replica; its clock moves when the test says so. */
export function openDoor(
  options: Partial<RedisDoorOptions> = {},
  loaded?: StateMachine,
): Promise<OpenDoor> {
  const image = new LocalImage();
  const clock = new ManualClock();
  const extensions = [redisExtension];
  const stateMachine = loaded ?? createStateMachine({ extensions, image, bootstrap: BOOTSTRAP });
  const incarnation = loaded === undefined ? 1 : 2;
  const hello = encodeHello({
    member: 1,
    incarnation,
    name: 'n1',
    version: '0.1.0',
    featureLevel: FEATURE_LEVEL,
    dataDirectory: 'test',
    addresses: {},
  });
  const ports = { clock, scheduler: nodeScheduler };
  const replica = createLocalReplica({ stateMachine, image, hello, incarnation, ...ports });
  replica.submit(encodeRaiseFeatureLevel(FEATURE_LEVEL));
  replica.step();
  const given = { replica, clock, random: nodeRandom, address: '127.0.0.1:0' };
  return new Promise((resolve, reject) => {
    startRedisDoor({ ...given, ...options }, (error, door) => {
      if (error !== undefined || door === undefined) {
        reject(error);
        return;
      }
      const port = Number(door.address.slice(door.address.lastIndexOf(':') + 1));
      resolve({ port, replica, clock, image, close: () => closeDoor(door, replica) });
    });
  });
}

function closeDoor(door: RedisDoor, replica: LocalReplica): Promise<void> {
  return new Promise((resolve) => {
    door.close(() => {
      replica.close();
      resolve();
    });
  });
}
