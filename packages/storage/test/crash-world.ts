import type { FileError, Index, Term } from '@lockstep/model';
import type { AppendTask, Entry, HardState } from '@lockstep/raft';
import type { LogIdentity, LogState, LogStore, OpenLog } from '../src/contract.ts';
import { TEST_CONFIGURATION, TEST_IDENTITY, testEntries } from '../src/log-driver.ts';
import type { MemoryDisk } from '../src/memory-file-system.ts';
import { openWal, type WalOptions } from '../src/wal/open-wal.ts';
import type { Turns } from './turns.ts';
import { memoryWorld } from './virtual-fixtures.ts';

/** What the log must hold after a prefix of the tasks. */
export interface ModelState {
  readonly entries: ReadonlyMap<Index, string>;
  readonly base: Index;
  readonly last: Index;
  readonly term: Term;
  readonly vote: number;
}

const EMPTY: ModelState = { entries: new Map(), base: 0, last: 0, term: 0, vote: 0 };

function fingerprint(entry: Entry): string {
  return `${entry.term}:${Buffer.from(entry.data).toString('latin1')}`;
}

function after(state: ModelState, task: AppendTask): ModelState {
  let { base, last } = state;
  const entries = new Map(state.entries);
  if (task.snapshot !== undefined) {
    entries.clear();
    base = task.snapshot.index;
    last = base;
  }
  const first = task.entries[0]?.index;
  if (first !== undefined) {
    for (let index = first; index <= last; index++) entries.delete(index);
    for (const entry of task.entries) entries.set(entry.index, fingerprint(entry));
    last = first + task.entries.length - 1;
  }
  const { term, vote } = task.hardState ?? state;
  return { entries, base, last, term, vote };
}

/** A log on a memory disk, the model beside it, and the crash in between. */
export class CrashWorld {
  readonly turns: Turns;
  readonly disk: MemoryDisk;
  readonly options: Partial<WalOptions>;
  log: LogStore | undefined;
  acknowledged = 0;
  failure: FileError | undefined;
  readonly spaceReports: boolean[] = [];
  readonly states: ModelState[] = [EMPTY];
  readonly basesAsked: Index[] = [0];
  #sequence = 0;
  /** Tasks given to logs of earlier process lives. */
  #before = 0;

  constructor(seed: number, options: Partial<WalOptions>) {
    const { turns, disk } = memoryWorld(seed);
    this.turns = turns;
    this.disk = disk;
    this.options = options;
  }

  /** Begins to open; the state comes when the disk has done its part. */
  open(): { state: LogState | undefined; error: FileError | undefined } {
    const result: { state: LogState | undefined; error: FileError | undefined } = {
      state: undefined,
      error: undefined,
    };
    this.log = undefined;
    this.openAs(TEST_IDENTITY, (error, log, state) => {
      result.error = error;
      result.state = state;
      if (error === undefined) this.log = log;
    });
    return result;
  }

  openAs(identity: LogIdentity, done: Parameters<OpenLog>[3]): void {
    const wal = openWal(this.disk.mount(), {
      scheduler: this.turns,
      clock: this.turns,
      ...this.options,
    });
    const handlers = {
      failed: (error: FileError) => {
        this.failure = error;
      },
      available: () => {},
      space: (outOfSpace: boolean) => void this.spaceReports.push(outOfSpace),
    };
    wal(identity, TEST_CONFIGURATION, handlers, done);
  }

  append(part: Partial<AppendTask>): void {
    if (this.log === undefined) return;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const task: AppendTask = {
      sequence,
      entries: [],
      hardState: undefined,
      snapshot: undefined,
      mustSync: true,
      after: [],
      ...part,
    };
    this.states.push(after(this.states.at(-1)!, task));
    this.log.append(task, () => {
      this.acknowledged = sequence - this.#before;
    });
  }

  compact(index: Index): void {
    const term = this.log?.term(index);
    if (term === undefined) return;
    this.basesAsked.push(index);
    this.log!.compact(index, term, TEST_CONFIGURATION);
  }

  /** Power loss or process death; everything under way is forgotten. */
  crash(kind: 'power' | 'process'): void {
    this.turns.clear();
    this.disk.before = undefined;
    if (kind === 'power') this.disk.crash();
    else this.disk.kill();
  }

  /** The states that a recovery may find: the acknowledged one or a later one. */
  allowed(): ModelState[] {
    return this.states.slice(this.acknowledged);
  }

  /** `undefined` when the recovered log is in an allowed state; a text says why it is in none. */
  judge(state: LogState): string | undefined {
    const found = this.#match(state);
    return typeof found === 'string' ? found : undefined;
  }

  /** Goes on from what was recovered: the model becomes that state. */
  adopt(state: LogState): void {
    const found = this.#match(state);
    if (typeof found === 'string') throw new Error(found);
    const base = state.snapshotIndex;
    const { term, vote } = state.hardState;
    this.states.splice(0, this.states.length, { ...found, base, term, vote });
    this.basesAsked.splice(0, this.basesAsked.length, base);
    this.acknowledged = 0;
    this.#before = this.#sequence;
  }

  get model(): ModelState {
    return this.states.at(-1)!;
  }

  #match(state: LogState): ModelState | string {
    const log = this.log!;
    const reasons: string[] = [];
    for (const model of this.allowed()) {
      const reason = this.#differs(model, state, log);
      if (reason === undefined) return model;
      reasons.push(reason);
    }
    return reasons.join('; ');
  }

  #differs(model: ModelState, state: LogState, log: LogStore): string | undefined {
    const { hardState, snapshotIndex, lastIndex, firstIndex } = state;
    if (lastIndex !== model.last) return `last ${lastIndex}, not ${model.last}`;
    if (hardState.term !== model.term || hardState.vote !== model.vote) {
      return `hard state ${hardState.term}/${hardState.vote}, not ${model.term}/${model.vote}`;
    }
    if (hardState.commit > lastIndex) return `commit ${hardState.commit} beyond ${lastIndex}`;
    if (snapshotIndex !== model.base && !this.basesAsked.includes(snapshotIndex)) {
      return `base ${snapshotIndex} was never asked for`;
    }
    if (snapshotIndex < model.base) return `base ${snapshotIndex} below ${model.base}`;
    for (let index = firstIndex; index <= lastIndex; index++) {
      const page = this.#entry(log, index);
      if (page !== model.entries.get(index)) {
        return `entry ${index} is ${page.slice(0, 30)}, not ${model.entries.get(index)?.slice(0, 30)}`;
      }
    }
    return undefined;
  }

  #entry(log: LogStore, index: Index): string {
    for (let tries = 0; tries < 3; tries++) {
      const page = log.entries(index, index + 1, 0);
      if (page !== 'pending' && page !== 'compacted') return fingerprint(page[0]!);
      this.turns.drain();
    }
    return 'unreadable';
  }
}

/** Small segments: header and one block. */
export const TINY: Partial<WalOptions> = {
  segmentBytes: 8192,
  firstSegmentBytes: 6144,
  cacheBytesMax: 2000,
  groupBytesMax: 3000,
  anchorIntervalMs: 0,
};

const hard = (term: Term, vote: number, commit: Index): HardState => ({ term, vote, commit });

/** Every kind of work the log does, with overlap; a step drains as many turns as it says. */
export function script(world: CrashWorld): { turns: number; run: () => void }[] {
  const snapshot = { index: 60, term: 4, configuration: TEST_CONFIGURATION };
  return [
    {
      turns: 1,
      run: () => world.append({ entries: testEntries(1, 4, 1), hardState: hard(1, 1, 0) }),
    },
    { turns: 2, run: () => world.append({ entries: testEntries(5, 9, 1, 300) }) },
    { turns: 0, run: () => world.append({ hardState: hard(1, 1, 4), mustSync: false }) },
    {
      turns: 3,
      run: () => world.append({ entries: testEntries(7, 8, 2), hardState: hard(2, 3, 4) }),
    },
    { turns: 0, run: () => world.append({ hardState: hard(3, 0, 4) }) },
    { turns: 9, run: () => world.append({ entries: testEntries(9, 14, 3, 200) }) },
    { turns: 1, run: () => world.compact(5) },
    { turns: 0, run: () => world.append({ entries: testEntries(15, 16, 3, 1500) }) },
    { turns: 30, run: () => world.append({ entries: testEntries(17, 20, 3, 700) }) },
    { turns: 2, run: () => world.append({ entries: testEntries(18, 22, 4, 600) }) },
    { turns: 60, run: () => world.append({ entries: testEntries(23, 23, 4, 9000) }) },
    { turns: 2, run: () => world.compact(17) },
    {
      turns: 4,
      run: () => world.append({ entries: testEntries(24, 26, 4), hardState: hard(4, 2, 20) }),
    },
    { turns: 20, run: () => world.compact(23) },
    { turns: 1, run: () => world.append({ snapshot, hardState: hard(5, 0, 60) }) },
    { turns: 40, run: () => world.append({ entries: testEntries(61, 63, 5, 1000) }) },
    { turns: 5, run: () => world.append({ entries: testEntries(62, 64, 6, 1000) }) },
    { turns: 2, run: () => world.compact(61) },
    { turns: 1000, run: () => world.append({ entries: testEntries(65, 66, 6) }) },
  ];
}
