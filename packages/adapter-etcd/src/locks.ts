import { type ByteString, LeaseKind } from '@lockstep/model';
import type { Lease, LockRow, StateView } from '@lockstep/state-machine';
import { ETCD, type EtcdRecord } from './keyspace.ts';

/** A lease id as the Go recipes write it into keys: hex, no padding, negative ids with a sign. */
export function leaseHex(id: bigint): string {
  return id.toString(16);
}

interface Contender {
  readonly key: ByteString;
  readonly record: EtcdRecord;
  readonly lease: Lease;
}

/**
 * The locks and elections held through the etcd door: keys that end in their own lease id in hex
 * under a common prefix (the recipe of `etcdctl lock`, the Go concurrency package and the lock
 * service). The oldest create revision holds; the others of the prefix wait. Sorted by name.
 */
export function listEtcdLocks(state: StateView): LockRow[] {
  const queues = new Map<ByteString, Contender[]>();
  for (const lease of state.leases(LeaseKind.Etcd)) {
    const ending = `/${leaseHex(lease.id)}`;
    for (const { keyspace, key } of state.leaseKeys(lease.handle)) {
      const record = keyspace === ETCD ? state.get(ETCD, key) : undefined;
      if (record === undefined || !key.endsWith(ending)) continue;
      const prefix = key.slice(0, key.length - ending.length);
      const queue = queues.get(prefix);
      if (queue === undefined) queues.set(prefix, [{ key, record, lease }]);
      else queue.push({ key, record, lease });
    }
  }
  const names = [...queues.keys()].sort();
  return names.map((name) => lockRow(state, name, queues.get(name)!));
}

function lockRow(state: StateView, name: ByteString, queue: readonly Contender[]): LockRow {
  const holder = queue.reduce((oldest, other) =>
    other.record.createRevision < oldest.record.createRevision ? other : oldest,
  );
  return {
    door: 'etcd',
    name,
    holder: leaseHex(holder.lease.id),
    token: holder.record.token,
    leaseMsLeft: Math.max(0, holder.lease.deadline - state.time),
    waiters: queue.length - 1,
  };
}
