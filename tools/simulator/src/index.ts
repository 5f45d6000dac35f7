export type { Defects } from './defects.ts';
export { FAULT_KINDS, type Fault, type FaultKind } from './faults/fault.ts';
export { optionsOf, type Replay, readReplay, replayOf } from './replay.ts';
export { type RunOptions, type RunResult, runSeed } from './run.ts';
export type { Settings } from './settings.ts';
export { type ShrinkOptions, shrink } from './shrink.ts';
export type { Violation } from './world.ts';
