import type { Clock, Scheduler } from '@lockstep/model';
import { createLocalReplica, LocalImage, type LocalReplica } from '@lockstep/replica';
import { createStateMachine } from '@lockstep/state-machine';
import { type Admin, Metrics, startAdmin } from '../src/index.ts';

const clock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
const scheduler: Scheduler = { post: (callback) => void setImmediate(callback) };
const random = { u32: () => 7, fill: (bytes: Uint8Array) => void bytes.fill(7) };

export interface OpenAdmin {
  readonly replica: LocalReplica;
  readonly admin: Admin;
  close(): Promise<void>;
}

/** The admin listener on a real socket over a local replica of one member, n1. */
export async function openAdmin(): Promise<OpenAdmin> {
  const image = new LocalImage();
  const members = [{ id: 1, name: 'n1', etcdId: 1n, peerAddress: '127.0.0.1:2380' }];
  const bootstrap = { clusterId: 1n, members, options: {} };
  const stateMachine = createStateMachine({ extensions: [], image, bootstrap });
  const replica = createLocalReplica({ stateMachine, image, clock, scheduler });
  const where = { version: '0', host: '127.0.0.1', port: 0, ports: { clock, random } };
  const options = { ...where, replica, metrics: new Metrics(replica), locks: () => [] };
  const admin = await new Promise<Admin>((resolve, reject) =>
    startAdmin(options, (error, opened) =>
      opened === undefined ? reject(error) : resolve(opened),
    ),
  );
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => admin.close(resolve));
    replica.close();
  };
  return { replica, admin, close };
}
