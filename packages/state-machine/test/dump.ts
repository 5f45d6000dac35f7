import { LeaseKind } from '@lockstep/model';
import type { StateReader } from '../src/index.ts';
import type { Driver } from './driver.ts';
import { PLAIN, SPACES, STORE } from './toy.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e'];

/** All that a procedure can see, for comparing machines. */
export function dump(driver: Driver): unknown {
  const { machine } = driver;
  return {
    hash: machine.stateHash(),
    index: machine.appliedIndex,
    revision: machine.revision,
    liveBytes: machine.liveBytes,
    nextDeadline: machine.nextDeadline,
    spaces: Object.values(SPACES).map((space) => ({
      size: machine.size(space),
      last: machine.lastRevision(space, LeaseKind.ZooKeeper),
      records: KEYS.map((key) => machine.get(space, key)),
      queues: KEYS.map((key) => machine.waiters(space, key).map(waiterFields)),
      notes: KEYS.map((key) => machine.lockNote(PLAIN, key)),
    })),
    leases: Object.values(LeaseKind).flatMap((kind) =>
      machine.leases(kind).map((lease) => ({
        fields: [lease.handle, lease.id, lease.ttlMs, lease.deadline, lease.epoch, lease.origin],
        keys: machine.leaseKeys(lease.handle).map(({ keyspace, key }) => [keyspace.id, key]),
      })),
    ),
    fences: KEYS.map((resource) => machine.fence(resource)),
    members: machine.members(),
    removed: machine.removedMembers(),
    sequences: [1, 2, 3].map((member) => machine.lastSequence(member, 1)),
    history: history(machine),
  };
}

function waiterFields(waiter: ReturnType<StateReader['waiters']>[number]): unknown {
  const { id, kind, keys, origin, incarnation, request, deadline, since } = waiter;
  return { id, kind, keys, origin, incarnation, request, deadline, since };
}

function history(machine: StateReader): unknown {
  const compacted = machine.compactedRevision(STORE);
  const changes: string[] = [];
  machine.changesBetween(STORE, compacted, machine.revision, ({ key, revision, sub, live }) => {
    const before = machine.versionBefore(STORE, key, revision);
    changes.push(`${revision}.${sub} ${key} ${live} after ${before?.revision}.${before?.sub}`);
    return true;
  });
  return { compacted, changes };
}
