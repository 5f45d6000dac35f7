import { ProcedureFamily } from '@lockstep/model';
import type { EtcdErrorName } from '../errors.ts';

/** Numbers of the etcd procedures; never reused. */
export const ProcedureId = {
  Put: ProcedureFamily.Etcd + 1,
  DeleteRange: ProcedureFamily.Etcd + 2,
  Txn: ProcedureFamily.Etcd + 3,
  Compact: ProcedureFamily.Etcd + 4,
  LeaseGrant: ProcedureFamily.Etcd + 5,
  LeaseRevoke: ProcedureFamily.Etcd + 6,
} as const;

/** A request the state refused; nothing was written. */
export interface Failure {
  readonly kind: 'failure';
  readonly error: EtcdErrorName;
}

export function failure(error: EtcdErrorName): Failure {
  return { kind: 'failure', error };
}
