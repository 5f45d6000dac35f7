import type {
  Done,
  FileError,
  ImageChange,
  ImageStore,
  Index,
  Scheduler,
  Term,
} from '@lockstep/model';
import { BinaryWriter, InvariantError, invariant } from '@lockstep/model';
import type { AppendTask, Configuration, HardState } from '@lockstep/raft';
import type { LogIdentity, LogStore, LogStoreHandlers, OpenLog } from './contract.ts';
import { LEVEL_LOG_SEGMENT, type LevelChunk, recoverLevelLog } from './level-log-recovery.ts';
import { mergeTasks } from './log-change.ts';
import { AppendQueue, needsSync, type WaitingTask } from './wal/append-queue.ts';
import type { LogView } from './wal/log-view.ts';
import { type LogRecord, RecordEncoder } from './wal/record-format.ts';
import { type Damage, encodeHeader } from './wal/segment-header.ts';
import { ViewedLog } from './wal/viewed-log.ts';

const GROUP_BYTES_MAX = 4 * 1024 * 1024;

/** Key of the checkpoint: hard state, base and chain value before the oldest chunk. */
export const CHECKPOINT_KEY = Uint8Array.of(1);

/** Key of a chunk: one group commit. */
export function chunkKey(sequence: number): Uint8Array {
  return new BinaryWriter(9).u8(2).u64be(sequence).take();
}

/**
 * LogStore on the ImageStore port: one key per group commit, the value being the record of the
 * write-ahead log with its checksum chain. The differential partner of that log, and a fallback.
 * It keeps the whole log behind the compacted part in memory, so it never answers `pending`.
 * Closing the log closes the store.
 */
export function openLevelLog(
  store: ImageStore,
  options: { readonly scheduler: Scheduler; readonly name?: string },
): OpenLog {
  return (identity, bootstrap, handlers, done) => {
    const name = options.name ?? 'log';
    recoverLevelLog({ store, name, identity, bootstrap }, (error, recovered) => {
      if (error !== undefined) {
        done(error, undefined as never, undefined as never);
        return;
      }
      const { view, damage, isTruncated, chunks, nextSequence, crc, deadKeys } = recovered;
      const start = { view, damage, chunks, nextSequence, crc, deadKeys, isTruncated };
      const log = new LevelLog(store, options.scheduler, identity, handlers, start);
      done(undefined, log, {
        hardState: view.hardState,
        snapshotIndex: view.base.index,
        snapshotTerm: view.base.term,
        configuration: view.base.configuration,
        firstIndex: view.firstIndex,
        lastIndex: view.lastIndex,
        health: damage === undefined ? 'clean' : 'damaged',
        ...(damage === undefined ? {} : { damage }),
      });
    });
  };
}

interface LevelLogStart {
  readonly view: LogView;
  readonly damage: Damage | undefined;
  /** A part of the chain was cut off now; its keys go with the first write. */
  readonly isTruncated: boolean;
  readonly deadKeys: readonly Uint8Array[];
  readonly chunks: readonly LevelChunk[];
  readonly nextSequence: number;
  readonly crc: number;
}

class LevelLog extends ViewedLog implements LogStore {
  readonly #store: ImageStore;
  readonly #scheduler: Scheduler;
  readonly #identity: LogIdentity;
  readonly #handlers: LogStoreHandlers;
  readonly #queue = new AppendQueue();
  readonly #encoder = new RecordEncoder();
  /** Chunks with live entries, oldest first. */
  #chunks: LevelChunk[];
  #deadKeys: readonly Uint8Array[];
  #needsCheckpoint: boolean;
  #nextSequence: number;
  #crc: number;
  #damage: Damage | undefined;
  #isRepaired = false;
  #isBusy = false;
  #heldHardState: HardState | undefined;
  #latched: FileError | undefined;
  #closing: Done | undefined;
  #isClosed = false;

  constructor(
    store: ImageStore,
    scheduler: Scheduler,
    identity: LogIdentity,
    handlers: LogStoreHandlers,
    start: LevelLogStart,
  ) {
    super(start.view);
    this.#store = store;
    this.#scheduler = scheduler;
    this.#identity = identity;
    this.#handlers = handlers;
    this.#chunks = [...start.chunks];
    this.#deadKeys = start.deadKeys;
    this.#needsCheckpoint = start.isTruncated || start.nextSequence === 1;
    this.#nextSequence = start.nextSequence;
    this.#crc = start.crc;
    this.#damage = start.damage;
  }

  append(task: AppendTask, done: (sequence: number) => void): void {
    invariant(this.#closing === undefined, `append of task ${task.sequence} to a closed log`);
    this.#queue.push({ task, done });
    this.#pump();
  }

  compact(index: Index, term: Term, configuration: Configuration): void {
    if (index <= this.view.base.index) return;
    const { lastIndex } = this.view;
    invariant(index <= lastIndex, `compact to ${index} beyond the durable end ${lastIndex}`);
    invariant(this.view.term(index) === term, `compact to ${index}: its term is not ${term}`);
    this.view.compact({ index, term, configuration });
    this.#needsCheckpoint = true;
    this.#pump();
  }

  repaired(): void {
    if (this.#damage === undefined) return;
    this.#damage = undefined;
    this.#isRepaired = true;
    this.#pump();
  }

  #pump(): void {
    if (this.#isBusy || this.#latched !== undefined) return;
    const group = this.#queue.takeGroup(GROUP_BYTES_MAX);
    const needsWrite =
      group.some(({ task }) => needsSync(task)) ||
      this.#needsCheckpoint ||
      this.#isRepaired ||
      (this.#closing !== undefined && this.#heldHardState !== undefined);
    if (needsWrite) {
      this.#write(group);
      return;
    }
    for (const { task } of group) this.#heldHardState = task.hardState ?? this.#heldHardState;
    if (group.length > 0) this.#scheduler.post(() => this.#acknowledge(group));
    this.#settle();
  }

  #write(group: readonly WaitingTask[]): void {
    this.#isBusy = true;
    const change = mergeTasks(group.map(({ task }) => task));
    const record: LogRecord = {
      sequence: this.#nextSequence,
      syncedSequence: this.#nextSequence - 1,
      hardState: change.hardState ?? this.#heldHardState,
      snapshot: change.snapshot,
      base: undefined,
      isRepaired: this.#isRepaired,
      entries: change.entries,
    };
    this.#heldHardState = undefined;
    this.#isRepaired = false;
    const place = { segment: LEVEL_LOG_SEGMENT, offset: 0, previousCrc: this.#crc };
    const encoded = this.#encoder.encode(record, place);
    const changes: ImageChange[] = this.#deadKeys.map((key) => ({ key, value: undefined }));
    this.#deadKeys = [];
    if (this.#needsCheckpoint) changes.push(...this.#checkpoint());
    changes.push({ key: chunkKey(record.sequence), value: encoded.bytes });
    const chunk: LevelChunk = {
      sequence: record.sequence,
      last: record.entries.at(-1)?.index ?? 0,
      previousCrc: this.#crc,
      bytes: encoded.bytes.length,
    };
    this.#store.write(changes, true, (error) => {
      if (error !== undefined) this.#fail(error);
      else this.#wrote(record, chunk, encoded.crc, group);
    });
  }

  /** The state before the oldest chunk that is kept; older chunks go in the same batch. */
  #checkpoint(): ImageChange[] {
    this.#needsCheckpoint = false;
    const { base, hardState } = this.view;
    const live = this.#chunks.findIndex(({ last }) => last > base.index);
    const kept = live < 0 ? [] : this.#chunks.slice(live);
    const dead = this.#chunks.slice(0, this.#chunks.length - kept.length);
    this.#chunks = kept;
    const header = encodeHeader({
      identity: this.#identity,
      segment: LEVEL_LOG_SEGMENT,
      sizeBytes: 0,
      previous: { segment: 0, offset: 0, crc: kept[0]?.previousCrc ?? this.#crc },
      firstSequence: kept[0]?.sequence ?? this.#nextSequence,
      firstIndexExpected: base.index + 1,
      hardState,
      base,
      damage: this.#damage,
    });
    return [
      ...dead.map(({ sequence }) => ({ key: chunkKey(sequence), value: undefined })),
      { key: CHECKPOINT_KEY, value: header.bytes },
    ];
  }

  #wrote(record: LogRecord, chunk: LevelChunk, crc: number, group: readonly WaitingTask[]): void {
    this.#nextSequence += 1;
    this.#crc = crc;
    if (record.snapshot !== undefined) {
      // Nothing before the snapshot is live, whatever its indexes.
      this.#chunks = this.#chunks.map((older) => ({ ...older, last: 0 }));
      this.#needsCheckpoint = true;
    }
    this.#chunks.push(chunk);
    this.view.apply(record, { segment: 0, offset: 0, length: 0, previousCrc: 0 });
    this.#isBusy = false;
    this.#pump();
    this.#acknowledge(group);
    this.#settle();
  }

  #acknowledge(group: readonly WaitingTask[]): void {
    if (this.#latched !== undefined) return;
    for (const { task, done } of group) done(task.sequence);
  }

  #fail(error: FileError): void {
    if (this.#latched !== undefined) return;
    this.#latched = error;
    this.#handlers.failed(error);
    this.#settle();
  }

  /** The cache holds the whole log. */
  protected stored(lo: Index): never {
    throw new InvariantError(`entry ${lo} is not in memory`);
  }

  /** There are no files of its own to read again. */
  scrub(_bytes: number, done: (bytesRead: number) => void): void {
    done(0);
  }

  get sizeBytes(): number {
    let sum = 0;
    for (const { bytes } of this.#chunks) sum += bytes;
    return sum;
  }

  get outOfSpace(): boolean {
    return false;
  }

  close(done: Done): void {
    invariant(this.#closing === undefined, 'the log is closed twice');
    this.#closing = done;
    this.#pump();
    this.#settle();
  }

  #settle(): void {
    const done = this.#closing;
    if (done === undefined || this.#isClosed) return;
    if (this.#isBusy && this.#latched === undefined) return;
    const isIdle = this.#queue.length === 0 && this.#heldHardState === undefined;
    if (this.#latched === undefined && (!isIdle || this.#needsCheckpoint)) return;
    this.#isClosed = true;
    if (this.#latched !== undefined) done(this.#latched);
    else this.#store.close(done);
  }
}
