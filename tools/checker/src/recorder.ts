import { closeSync, openSync, writeSync } from 'node:fs';
import { encodeHeader, encodeOperation } from './history.ts';
import type { Operation } from './operation.ts';

/** Written in pieces of about this size, so that recording costs the load little. */
const CHUNK_BYTES = 1 << 16;

/** Monotonic time in ns, one clock for all processes of a machine (CLOCK_MONOTONIC). */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}

/** Appends operations to a history file as load generators finish them. */
export class Recorder {
  readonly path: string;
  readonly #file: number;
  #chunk: string[] = [];
  #size = 0;
  count = 0;

  constructor(path: string, source: string, seed?: string) {
    this.path = path;
    this.#file = openSync(path, 'w');
    this.#put(encodeHeader(source, seed));
  }

  record(operation: Operation): void {
    this.count++;
    this.#put(encodeOperation(operation));
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }

  flush(): void {
    if (this.#size === 0) return;
    writeSync(this.#file, this.#chunk.join(''));
    this.#chunk = [];
    this.#size = 0;
  }

  #put(line: string): void {
    this.#chunk.push(line);
    this.#size += line.length;
    if (this.#size >= CHUNK_BYTES) this.flush();
  }
}
