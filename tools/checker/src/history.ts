import type { Operation, OperationName } from './operation.ts';

export const HISTORY_VERSION = 1;

/** First line of a history. */
export interface HistoryHeader {
  readonly history: 'lockstep';
  readonly version: number;
  /** What made it, for people. */
  readonly source: string;
  readonly seed?: string;
}

const NAMES: Readonly<Record<OperationName, true>> = {
  read: true,
  write: true,
  cas: true,
  delete: true,
  add: true,
  acquire: true,
  extend: true,
  release: true,
  guarded: true,
  grant: true,
  renew: true,
  revoke: true,
  gone: true,
  watch: true,
  event: true,
  progress: true,
};
const DOORS = new Set(['etcd', 'zookeeper', 'redis']);
const OUTCOMES = new Set(['ok', 'fail', 'unknown']);

/** A history that cannot be judged; the message says in which line and why. */
export class HistoryFormatError extends Error {
  override name = 'HistoryFormatError';
}

/** First line of a file of operations. */
export function encodeHeader(source: string, seed?: string): string {
  const header: HistoryHeader = {
    history: 'lockstep',
    version: HISTORY_VERSION,
    source,
    ...(seed !== undefined && { seed }),
  };
  return `${JSON.stringify(header)}\n`;
}

/** One operation, one line of JSON. */
export function encodeOperation(operation: Operation): string {
  return `${JSON.stringify(operation)}\n`;
}

/**
 * Twin of the two above. Throws HistoryFormatError at the first line that is none. A last line
 * without its end is the end of a history whose writer was killed, and is left out.
 */
export class HistoryReader {
  readonly operations: Operation[] = [];
  header: HistoryHeader | undefined;
  #line = 0;
  #rest = '';

  /** Takes the next piece of a file. */
  push(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    this.#line++;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw this.#wrong('is not JSON');
    }
    if (typeof value !== 'object' || value === null) throw this.#wrong('is no object');
    if (this.#line === 1) this.#begin(value as Partial<HistoryHeader>);
    else this.operations.push(this.#operation(value as Partial<Operation>));
  }

  #begin(header: Partial<HistoryHeader>): void {
    if (header.history !== 'lockstep') throw this.#wrong('is no header of a Lockstep history');
    if (header.version !== HISTORY_VERSION) {
      throw this.#wrong(`has version ${header.version}; this checker reads ${HISTORY_VERSION}`);
    }
    this.header = header as HistoryHeader;
  }

  #operation(operation: Partial<Operation>): Operation {
    const { op, client, door, key, outcome } = operation;
    if (op === undefined || !Object.hasOwn(NAMES, op)) throw this.#wrong(`has no operation ${op}`);
    if (typeof client !== 'string' || typeof key !== 'string') {
      throw this.#wrong('lacks client or key');
    }
    if (door === undefined || !DOORS.has(door)) throw this.#wrong(`has no door ${door}`);
    if (outcome === undefined || !OUTCOMES.has(outcome)) {
      throw this.#wrong(`has no outcome ${outcome}`);
    }
    if (!Number.isFinite(operation.call) || !Number.isFinite(operation.return)) {
      throw this.#wrong('lacks call or return');
    }
    return operation as Operation;
  }

  #wrong(why: string): HistoryFormatError {
    return new HistoryFormatError(`line ${this.#line} ${why}`);
  }
}
