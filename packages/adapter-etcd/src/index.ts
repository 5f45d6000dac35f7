export { refusal } from './admission.ts';
export { AutoCompaction, type AutoCompactionOptions } from './auto-compaction.ts';
export {
  DEFAULT_SETTINGS,
  Door as EtcdDoorCore,
  type DoorPorts,
  type EtcdDoorSettings,
} from './door.ts';
export type { MetricsSource } from './http.ts';
export { ETCD, type EtcdRecord, type EtcdValue, valueBytes, valueLeaseId } from './keyspace.ts';
export { LeaderMonitor } from './leader-monitor.ts';
export { type EtcdDoorHandle, type EtcdDoorOptions, startEtcdDoor } from './listener.ts';
export { listEtcdLocks } from './locks.ts';
export { writeDelete, writePut, writeTxn } from './operation.ts';
export { autoCompactionRevisions } from './options.ts';
export { writeCompact } from './procedures/compact.ts';
export { writeLeaseGrant, writeLeaseRevoke } from './procedures/lease.ts';
export { ProcedureId } from './procedures/outcome.ts';
export { etcdExtension } from './procedures.ts';
export * as etcdApi from './services/api.ts';
export { type Route, routes } from './services/routes.ts';
export { encodeMessage, type Rpc } from './services/rpc.ts';
export type { RpcError, StreamCall } from './session.ts';
export { WatchHub } from './watch/hub.ts';
