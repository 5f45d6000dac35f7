import { LeaseKind, type RenewalGroup } from '@lockstep/model';
import type { ApplySink } from '../contract.ts';
import type { Store } from '../store.ts';
import { ELECTION_TIMEOUT_OPTION } from '../system/option-table.ts';
import type { LeaseRow } from './lease-table.ts';

/** Keep-alives in an entry's head: deadline = now + ttl for what is alive at this place in the
 * log, before anything expires. */
export function renewGroups(store: Store, groups: readonly RenewalGroup[], sink: ApplySink): void {
  for (const group of groups) {
    const alive: boolean[] = [];
    for (const handle of group.leases) {
      const lease = store.leases.get(handle);
      alive.push(lease !== undefined);
      if (lease !== undefined && lease.ttlMs !== 0) {
        moveDeadline(store, lease, store.meta.time + lease.ttlMs);
      }
    }
    sink.renewed(group, alive);
  }
}

/**
 * After an election without orderly transfer clients need time to find the new leader: etcd
 * leases and ZooKeeper sessions are lifted to min(ttl, 2 × election timeout). Redis deadlines are
 * absolute and member leases have their own margin, so neither moves (design §6).
 */
export function liftAfterElection(store: Store): void {
  const option = store.options.get(ELECTION_TIMEOUT_OPTION.name)?.value;
  const grace = 2 * Number(option ?? ELECTION_TIMEOUT_OPTION.default);
  for (const kind of [LeaseKind.Etcd, LeaseKind.ZooKeeper]) {
    for (const lease of store.leases.each(kind)) {
      const lifted = store.meta.time + Math.min(lease.ttlMs, grace);
      if (lease.deadline !== 0 && lease.deadline < lifted) moveDeadline(store, lease, lifted);
    }
  }
}

function moveDeadline(store: Store, lease: LeaseRow, deadline: number): void {
  store.setLeaseDeadline(lease, deadline);
  store.image.flush(lease.deadlineRow);
}
