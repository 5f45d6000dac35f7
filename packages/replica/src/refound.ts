import {
  decodeEntry,
  EntryKind,
  type FileError,
  type ImageDirectory,
  type ImageStore,
  type Index,
  LockstepError,
  type LogEntry,
  type MemberId,
  type Revision,
  type Term,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type {
  ApplySink,
  CommandOutcome,
  ImageSink,
  MemberRecord,
  StateMachine,
} from '@lockstep/state-machine';
import type { LogState, LogStore, OpenLog } from '@lockstep/storage';
import { loadImage } from './image-load.ts';
import { type ImagePosition, ImageWriter, type ImageWriterOptions } from './image-writer.ts';

export interface RefoundOptions {
  readonly member: MemberId;
  /** Cluster ids as 16 hex digits. */
  readonly formerCluster: string;
  readonly cluster: string;
  /** The former log is read, the other one made: it must not exist yet. */
  readonly openFormerLog: OpenLog;
  readonly openLog: OpenLog;
  readonly images: ImageDirectory;
  /** Undefined: the member never wrote one, and its log holds everything. */
  readonly formerImage: string | undefined;
  /** What is left of an earlier attempt under this name is removed. */
  readonly image: string;
  readonly createStateMachine: (image: ImageSink) => StateMachine;
  /** Configuration of a log that holds none. */
  readonly bootstrap: Configuration;
  /** Encoded command that makes the state that of the new cluster. */
  readonly command: Uint8Array;
  readonly clock: ImageWriterOptions['clock'];
}

export interface Refounded {
  /** Last entry of the former log, whether or not it was committed. */
  readonly lastIndex: Index;
  readonly term: Term;
  readonly revisionBefore: Revision;
  readonly revision: Revision;
  /** As on record before. */
  readonly members: readonly MemberRecord[];
}

/** Applied beyond this without writing, the image writer is waited for. */
const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;

/**
 * Makes image and log of a new cluster of one member out of those of a stopped member, beside them:
 * nothing of the former ones changes. Every entry of the log counts, also those that were not known
 * to be committed, since each of them may have been acknowledged. Rejects with the device's error,
 * LOG_DAMAGED, or what makes the image unusable.
 */
export async function refound(options: RefoundOptions): Promise<Refounded> {
  const { member, formerCluster, bootstrap, openFormerLog } = options;
  const [former, state] = await open(openFormerLog, { cluster: formerCluster, member }, bootstrap);
  try {
    if (state.health === 'damaged') {
      const { file = '?', offset = 0, reason = '?' } = state.damage ?? {};
      throw new LockstepError('LOG_DAMAGED', file, offset, reason);
    }
    return await new Refounding(options, former, state).run();
  } finally {
    await settled((done) => former.log.close(done));
  }
}

/** A log, and a call-back for when entries asked for have come. */
interface OpenedLog {
  readonly log: LogStore;
  available: () => void;
}

class Refounding {
  readonly #options: RefoundOptions;
  readonly #former: OpenedLog;
  readonly #state: LogState;
  readonly #configuration: Configuration;
  #outcome: CommandOutcome | undefined;

  constructor(options: RefoundOptions, former: OpenedLog, state: LogState) {
    this.#options = options;
    this.#former = former;
    this.#state = state;
    const nobody = { votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    this.#configuration = { voters: [options.member], ...nobody };
  }

  async run(): Promise<Refounded> {
    const { images, image, createStateMachine, clock } = this.#options;
    await settled((done) => images.remove(image, () => done(undefined)));
    const store = await result<ImageStore>((done) => images.open(image, true, done));
    let broken: FileError | undefined;
    const writer = new ImageWriter(store, {
      clock,
      ...{ flushMs: 100, flushBytes: 4 * PAGE_BYTES },
      ...{ syncMs: 0, syncBytes: 0 },
      written: () => {},
      failed: (error) => {
        broken = error;
      },
    });
    const machine = createStateMachine(writer);
    const position = await this.#copyImage(store, machine, writer);
    await this.#replay(machine, writer, position);
    const [members, revisionBefore] = [machine.members(), machine.revision];
    const lastIndex = machine.appliedIndex;
    const lastTerm = this.#former.log.term(lastIndex) ?? position?.term ?? 0;
    const term = Math.max(this.#state.hardState.term, lastTerm) + 1;
    this.#found(machine, writer, term);
    await settled((done) => writer.drain(() => done(broken)));
    writer.close();
    await settled((done) => store.close(done));
    await this.#beginLog(lastIndex + 1, term);
    return { lastIndex, term, revisionBefore, revision: machine.revision, members };
  }

  async #copyImage(
    store: ImageStore,
    machine: StateMachine,
    writer: ImageWriter,
  ): Promise<ImagePosition | undefined> {
    const { images, formerImage } = this.#options;
    if (formerImage === undefined) return undefined;
    const former = await result<ImageStore>((done) => images.open(formerImage, false, done));
    const snapshot = former.snapshot();
    for (;;) {
      const records = await result<readonly { key: Uint8Array; value: Uint8Array }[]>((done) =>
        snapshot.next(PAGE_BYTES, done),
      );
      if (records.length === 0) break;
      // Synced each: a sync covers what was written since the store last changed its own log.
      await settled((done) => store.write([...records], true, done));
    }
    snapshot.close();
    await settled((done) => former.close(done));
    const outcome = await new Promise<Parameters<Parameters<typeof loadImage>[2]>[0]>((resolve) =>
      loadImage(store, machine, resolve),
    );
    if (outcome.kind === 'empty') return undefined;
    if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    if (outcome.kind === 'damaged') {
      throw new Error(`image ${formerImage} is damaged: ${outcome.reason}`);
    }
    writer.restart(outcome.position);
    return outcome.position;
  }

  async #replay(
    machine: StateMachine,
    writer: ImageWriter,
    position: ImagePosition | undefined,
  ): Promise<void> {
    const { firstIndex, lastIndex } = this.#state;
    const from = machine.appliedIndex + 1;
    if (from <= lastIndex && from < firstIndex) {
      throw new Error(`the image is at ${from - 1}, the log begins at ${firstIndex}`);
    }
    const { configuration } = position ?? this.#state;
    for (let next = from; next <= lastIndex; ) {
      const entries = this.#former.log.entries(next, lastIndex + 1, PAGE_BYTES);
      if (entries === 'compacted') throw new Error(`entry ${next} is not in the log`);
      if (entries === 'pending') {
        await new Promise<void>((resolve) => {
          this.#former.available = resolve;
        });
        continue;
      }
      for (const { index, term, data } of entries) {
        this.#apply(machine, writer, index, term, decodeEntry(data));
        writer.entryDone({ index, term, configuration });
      }
      next += entries.length;
      if (writer.backlogBytes > BACKLOG_BYTES_MAX) {
        await settled((done) => writer.drain(() => done(undefined)));
      }
    }
  }

  #found(machine: StateMachine, writer: ImageWriter, term: Term): void {
    const { member, command } = this.#options;
    const index = machine.appliedIndex + 1;
    const entry: LogEntry = {
      kind: EntryKind.Commands,
      time: machine.time,
      wall: machine.wall,
      renewals: [],
      runs: [{ origin: member, incarnation: 0, first: 0, commands: [command] }],
    };
    this.#apply(machine, writer, index, term, entry);
    writer.entryDone({ index, term, configuration: this.#configuration });
    if (this.#outcome?.kind === 'done' && this.#outcome.result !== 0) return;
    throw new LockstepError('NOT_ON_RECORD', member);
  }

  #apply(
    machine: StateMachine,
    writer: ImageWriter,
    index: Index,
    term: Term,
    entry: LogEntry,
  ): void {
    const sink: ApplySink = {
      wanted: () => false,
      transaction: () => {},
      result: (_member, _incarnation, _sequence, outcome) => {
        this.#outcome = outcome;
      },
      renewed: () => {},
    };
    writer.entryBegun();
    machine.begin(index, term, entry, sink);
    while (machine.next());
  }

  /** The image stands at `index`; the log begins behind it. */
  async #beginLog(index: Index, term: Term): Promise<void> {
    const { openLog, cluster, member } = this.#options;
    const configuration = this.#configuration;
    const [{ log }] = await open(openLog, { cluster, member }, configuration);
    const hardState = { term, vote: 0, commit: index };
    const snapshot = { index, term, configuration };
    const task = { sequence: 1, entries: [], hardState, snapshot, mustSync: true, after: [] };
    await new Promise<void>((resolve) => log.append(task, () => resolve()));
    await settled((done) => log.close(done));
  }
}

function open(
  openLog: OpenLog,
  identity: Parameters<OpenLog>[0],
  bootstrap: Configuration,
): Promise<[OpenedLog, LogState]> {
  return new Promise((resolve, reject) => {
    const opened = { log: undefined as never as LogStore, available: () => {} };
    const handlers = {
      failed: (error: FileError) => reject(errorOf(error)),
      available: () => opened.available(),
      space: () => {},
    };
    openLog(identity, bootstrap, handlers, (error, log, state) => {
      opened.log = log;
      if (error === undefined) resolve([opened, state]);
      else reject(errorOf(error));
    });
  });
}

const errorOf = ({ code, message }: FileError): Error => new Error(`${code}: ${message}`);

function settled(run: (done: (error: FileError | undefined) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    run((error) => (error === undefined ? resolve() : reject(errorOf(error))));
  });
}

function result<T>(
  run: (done: (error: FileError | undefined, value: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    run((error, value) => (error === undefined ? resolve(value) : reject(errorOf(error))));
  });
}
