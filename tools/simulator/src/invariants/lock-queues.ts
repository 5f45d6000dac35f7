import { redisKeyspaces } from '@lockstep/adapter-redis';
import { toByteString } from '@lockstep/model';
import type { StateMachine } from '@lockstep/state-machine';
import type { World } from '../world.ts';
import { LOCK_PREFIX } from './tokens.ts';

/** As many locks as the workloads use. */
const NAMES = [0, 1, 2].map((at) => toByteString(Buffer.from(`${LOCK_PREFIX}${at}`)));

/**
 * LockNotIdle: whatever frees a lock hands it to the head of its queue in the same transaction, so
 * that behind no entry a lock is free while somebody waits for it (design §9).
 */
export function checkLockQueues(world: World, who: string, machine: StateMachine): void {
  const keyspace = redisKeyspaces[0]!;
  for (const name of NAMES) {
    const waiting = machine.waiterCount(keyspace, name);
    if (waiting === 0 || machine.get(keyspace, name) !== undefined) continue;
    const what = `${name} is free at index ${machine.appliedIndex}`;
    world.fail('LockNotIdle', `${who}: ${what}, ${waiting} wait for it`);
  }
}
