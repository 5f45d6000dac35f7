export { type ChangeKind, kindOfChange } from './configuration-change.ts';
export * from './contract.ts';
export { MemoryLog } from './memory-log.ts';
export { createRaft } from './raft.ts';
