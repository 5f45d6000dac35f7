export { DEFAULT_SETTINGS, type DoorPorts, type EtcdDoorSettings } from './door.ts';
export type { MetricsSource } from './http.ts';
export { ETCD, type EtcdRecord, type EtcdValue, valueBytes, valueLeaseId } from './keyspace.ts';
export { type EtcdDoorHandle, type EtcdDoorOptions, startEtcdDoor } from './listener.ts';
export { listEtcdLocks } from './locks.ts';
export { etcdExtension } from './procedures.ts';
