export type { Defects } from './defects.ts';
export { FAULT_KINDS, type Fault, type FaultKind } from './faults/fault.ts';
export { type RunOptions, type RunResult, runSeed } from './run.ts';
export type { Settings } from './settings.ts';
export type { Violation } from './world.ts';
