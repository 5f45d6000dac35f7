import type { FileError, Index } from '@lockstep/model';
import type { AppendTask, Configuration, Entry, HardState } from '@lockstep/raft';
import type { LogIdentity, LogState, LogStore, LogStoreHandlers, OpenLog } from './contract.ts';

/** The part of a test framework that the suites use; vitest's fits. */
export interface TestFramework {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
  expect(actual: unknown): {
    toBe(expected: unknown): void;
    toEqual(expected: unknown): void;
    toBeGreaterThan(expected: number): void;
  };
}

/** One log whose contents survive `open` after `open`. */
export interface LogFixture {
  readonly open: OpenLog;
  /** Lets everything that waits happen, for stores on virtual time. */
  drive(): void;
  /** Removes what the fixture made. */
  dispose(): Promise<void>;
}

export const TEST_IDENTITY: LogIdentity = { cluster: '00000000000000ab', member: 1 };
export const TEST_CONFIGURATION: Configuration = {
  voters: [1, 2, 3],
  votersOutgoing: [],
  learners: [4],
  learnersNext: [],
  autoLeave: false,
};

/** Entries first … last of one term, whose data tell index and term; `bytes` pads them. */
export function testEntries(first: Index, last: Index, term: number, bytes = 0): Entry[] {
  const entries: Entry[] = [];
  for (let index = first; index <= last; index++) {
    const text = `entry ${index} of term ${term}`;
    const data = new Uint8Array(Math.max(bytes, text.length));
    data.set(new TextEncoder().encode(text));
    entries.push({ index, term, type: 0, data });
  }
  return entries;
}

/** An open log with what it reported. */
export class LogDriver {
  readonly fixture: LogFixture;
  readonly acknowledged: number[] = [];
  readonly failures: FileError[] = [];
  availableCount = 0;
  log: LogStore = undefined as never;
  state: LogState = undefined as never;
  #sequence = 0;

  constructor(fixture: LogFixture) {
    this.fixture = fixture;
  }

  async open(): Promise<this> {
    const handlers: LogStoreHandlers = {
      failed: (error) => this.failures.push(error),
      available: () => {
        this.availableCount += 1;
      },
      space: () => {},
    };
    const opened = new Promise<void>((resolve, reject) => {
      this.fixture.open(TEST_IDENTITY, TEST_CONFIGURATION, handlers, (error, log, state) => {
        this.log = log;
        this.state = state;
        if (error === undefined) resolve();
        else reject(new Error(`${error.code}: ${error.message}`));
      });
    });
    this.fixture.drive();
    await opened;
    return this;
  }

  /** Queues a task without waiting; resolves when it is acknowledged. */
  queue(part: Partial<AppendTask>): Promise<void> {
    this.#sequence += 1;
    const task: AppendTask = {
      sequence: this.#sequence,
      entries: [],
      hardState: undefined,
      snapshot: undefined,
      mustSync: true,
      after: [],
      ...part,
    };
    return new Promise((resolve) => {
      this.log.append(task, (sequence) => {
        this.acknowledged.push(sequence);
        resolve();
      });
    });
  }

  async append(entries: readonly Entry[], hardState?: HardState): Promise<void> {
    const done = this.queue({ entries, hardState });
    this.fixture.drive();
    await done;
  }

  async close(): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.log.close((error) => {
        if (error === undefined) resolve();
        else reject(new Error(`${error.code}: ${error.message}`));
      });
    });
    this.fixture.drive();
    await done;
  }

  /** Reads lo ≤ index ≤ last in pages, as the driver of raft does. */
  async read(lo: Index, last: Index, bytesMax = 1 << 20): Promise<string[]> {
    const texts: string[] = [];
    for (let next = lo; next <= last; ) {
      const before = this.availableCount;
      const page = this.log.entries(next, last + 1, bytesMax);
      if (page === 'compacted') return [...texts, 'compacted'];
      if (page === 'pending') {
        await this.#waitAvailable(before);
        continue;
      }
      for (const entry of page) {
        texts.push(`${entry.index}:${entry.term}:${textOf(entry)}`);
      }
      next += page.length;
    }
    return texts;
  }

  async #waitAvailable(before: number): Promise<void> {
    this.fixture.drive();
    while (this.availableCount === before && this.failures.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.failures.length > 0) throw new Error(this.failures[0]!.message);
  }

  /** Everything that a restart must keep. */
  async contents(): Promise<unknown> {
    const { log } = this;
    const first = log.firstIndex();
    const last = log.lastIndex();
    const { hardState } = log.initialState();
    return {
      hardState,
      first,
      last,
      baseTerm: log.term(first - 1),
      entries: await this.read(first, last),
    };
  }
}

function textOf(entry: Entry): string {
  const text = new TextDecoder().decode(entry.data);
  return text.replaceAll('\0', '');
}

/** What `read` returns for entries of one term. */
export function expectedTexts(first: Index, last: Index, term: number): string[] {
  return testEntries(first, last, term).map((entry) => `${entry.index}:${term}:${textOf(entry)}`);
}

/** Runs `body` on a fresh log and cleans up. */
export async function withLog(
  make: () => Promise<LogFixture>,
  body: (driver: LogDriver, reopen: () => Promise<LogDriver>) => Promise<void>,
): Promise<void> {
  const fixture = await make();
  let current = await new LogDriver(fixture).open();
  const reopen = async (): Promise<LogDriver> => {
    await current.close();
    current = await new LogDriver(fixture).open();
    return current;
  };
  try {
    await body(current, reopen);
    await current.close();
  } finally {
    await fixture.dispose();
  }
}
