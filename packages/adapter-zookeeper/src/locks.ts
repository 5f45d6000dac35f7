import { type ByteString, LeaseKind } from '@lockstep/model';
import type { Lease, LockRow, StateView } from '@lockstep/state-machine';
import { baseName, parentPath } from './paths.ts';
import { findNode, pathOfNodeKey } from './tree.ts';

interface Contender {
  readonly path: ByteString;
  readonly sequence: number;
  readonly lease: Lease;
}

/** A sequence number at the end of a name. A dash before it belongs to the client's prefix: after
 * two thousand million nodes below one parent numbers turn negative and this view is wrong. */
const SEQUENCE = /\d{10}$/;

/**
 * Locks that client-side recipes hold (design §9): the ephemeral sequential children of one parent
 * are its contenders, the lowest number holds, and its creation revision is the fencing token.
 * Sorted by name.
 */
export function listZookeeperLocks(state: StateView): LockRow[] {
  const contenders = new Map<ByteString, Contender[]>();
  for (const lease of state.leases(LeaseKind.ZooKeeper)) {
    for (const { key } of state.leaseKeys(lease.handle)) {
      const path = pathOfNodeKey(key);
      const digits = path === undefined ? null : SEQUENCE.exec(baseName(path));
      if (path === undefined || digits === null) continue;
      const parent = parentPath(path);
      const list = contenders.get(parent) ?? [];
      list.push({ path, sequence: Number(digits[0]), lease });
      contenders.set(parent, list);
    }
  }
  const names = [...contenders.keys()].sort();
  return names.map((name) => rowOf(state, name, contenders.get(name) ?? []));
}

function rowOf(state: StateView, name: ByteString, contenders: readonly Contender[]): LockRow {
  const holder = contenders.reduce((a, b) => (b.sequence < a.sequence ? b : a));
  return {
    door: 'zookeeper',
    name,
    holder: `0x${holder.lease.id.toString(16)} ${baseName(holder.path)}`,
    token: findNode(state, holder.path)?.czxid ?? 0,
    leaseMsLeft: Math.max(0, holder.lease.deadline - state.time),
    waiters: contenders.length - 1,
  };
}
