/**
 * The contract between the state machine and whoever contributes to it (design §2, §5–§9).
 * The state machine knows no protocol: a door contributes an `Extension` of keyspaces, procedures
 * and hooks, and reads through `StateView`.
 */
export * from './contract/coordination.ts';
export * from './contract/driving.ts';
export * from './contract/event.ts';
export * from './contract/extension.ts';
export * from './contract/reading.ts';
export * from './contract/record.ts';
export * from './contract/writing.ts';
