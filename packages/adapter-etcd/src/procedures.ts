import type { AnyProcedure, Extension } from '@lockstep/state-machine';
import { ETCD } from './keyspace.ts';
import { autoCompactionRevisions } from './options.ts';
import { compactProcedure } from './procedures/compact.ts';
import { deleteRangeProcedure } from './procedures/delete-range.ts';
import { leaseGrantProcedure, leaseRevokeProcedure } from './procedures/lease.ts';
import { putProcedure } from './procedures/put.ts';
import { txnProcedure } from './procedures/txn.ts';

/** Every replicated step of the etcd door. */
export const etcdProcedures: readonly AnyProcedure[] = [
  putProcedure,
  deleteRangeProcedure,
  txnProcedure,
  compactProcedure,
  leaseGrantProcedure,
  leaseRevokeProcedure,
];

/** What the etcd door contributes to the state machine. */
export const etcdExtension: Extension = {
  name: 'etcd',
  keyspaces: [ETCD],
  procedures: etcdProcedures,
  options: [autoCompactionRevisions],
};
