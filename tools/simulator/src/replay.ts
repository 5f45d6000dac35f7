import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Fault } from './faults/fault.ts';
import type { RunOptions, RunResult } from './run.ts';
import type { Settings } from './settings.ts';

const FORMAT = 1;

/** One run as a file: everything the seed drew is spelled out, so that it may be edited. */
export interface Replay {
  readonly format: typeof FORMAT;
  /** What it once showed, for people. */
  readonly note: string;
  readonly seed: number;
  readonly settings: Settings;
  readonly faults: readonly Fault[];
}

export function replayOf(result: RunResult, note: string): Replay {
  const { seed, settings, faults } = result;
  return { format: FORMAT, note, seed, settings, faults };
}

/** Options of `runSeed` that repeat it. */
export function optionsOf({ seed, settings, faults }: Replay): RunOptions {
  return { seed, settings, faults };
}

export function readReplay(path: string): Replay {
  const replay = JSON.parse(readFileSync(path, 'utf8')) as Replay;
  if (replay.format !== FORMAT) throw new Error(`${path}: format ${replay.format} is unknown`);
  return replay;
}

export function writeReplay(path: string, replay: Replay): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(replay, undefined, 1)}\n`);
}
