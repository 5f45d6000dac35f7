import type { Clock, Done, FileError, Index, Scheduler, Term } from '@lockstep/model';
import { invariant, mark } from '@lockstep/model';
import type { AppendTask, Configuration, Entry, HardState } from '@lockstep/raft';
import type { LogIdentity, LogStore, LogStoreHandlers } from '../contract.ts';
import { type LogBase, type LogChange, mergeTasks } from '../log-change.ts';
import type { Anchor } from './anchor.ts';
import { AppendQueue, needsSync, type WaitingTask } from './append-queue.ts';
import type { ChangePlace, LogView } from './log-view.ts';
import { OldEntries } from './old-entries.ts';
import type { LogRecord } from './record-format.ts';
import { recordBytesMax } from './record-format.ts';
import type { SegmentFiles } from './segment-files.ts';
import type { ChainEnd, Damage } from './segment-header.ts';
import { HEADER_BYTES, segmentName } from './segment-header.ts';
import { SegmentScrubber } from './segment-scrubber.ts';
import { type SegmentWriter, segmentBytesFor } from './segment-writer.ts';
import { SpareSegment } from './spare-segment.ts';
import { ViewedLog } from './viewed-log.ts';

export interface WalSettings {
  readonly scheduler: Scheduler;
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly firstSegmentBytes: number;
  readonly segmentBytes: number;
  readonly groupBytesMax: number;
  readonly anchorIntervalMs: number;
  readonly spaceRetryMs: number;
}

export interface WalStart {
  readonly identity: LogIdentity;
  readonly files: SegmentFiles;
  readonly view: LogView;
  readonly writer: SegmentWriter;
  readonly nextSequence: number;
  readonly segments: readonly { readonly segment: number; readonly endOffset: number }[];
  readonly damage: Damage | undefined;
  /** Set when damage was found now: nothing may be written before a segment behind it. */
  readonly restartBehind: { readonly end: ChainEnd; readonly segment: number } | undefined;
  readonly openAnchor: (
    failed: (error: FileError) => void,
    done: (error: FileError | undefined, anchor: Anchor) => void,
  ) => void;
}

/** The write-ahead log at run time. See README for the files, `recovery.ts` for the way back. */
export class Wal extends ViewedLog implements LogStore {
  readonly #settings: WalSettings;
  readonly #handlers: LogStoreHandlers;
  readonly #identity: LogIdentity;
  readonly #files: SegmentFiles;
  readonly #writer: SegmentWriter;
  readonly #spare: SpareSegment;
  readonly #old: OldEntries;
  readonly #scrubber: SegmentScrubber;
  readonly #openAnchor: WalStart['openAnchor'];
  /** Live segments, oldest first, with the offset behind their last record. */
  readonly #segments: { segment: number; endOffset: number }[];
  #anchor: Anchor | undefined;
  #anchoredMs = Number.NEGATIVE_INFINITY;
  #restartBehind: WalStart['restartBehind'];
  #damage: Damage | undefined;
  #isRepaired = false;
  readonly #queue = new AppendQueue();
  #nextSequence: number;
  #isBusy = false;
  #isRemoving = false;
  #isSpareDue = false;
  #isScrubbing = false;
  #heldHardState: HardState | undefined;
  #baseToWrite: LogBase | undefined;
  #durableBase: LogBase;
  #latched: FileError | undefined;
  #closing: Done | undefined;
  #finished = false;

  constructor(settings: WalSettings, handlers: LogStoreHandlers, start: WalStart) {
    super(start.view);
    this.#settings = settings;
    this.#handlers = handlers;
    this.#identity = start.identity;
    this.#files = start.files;
    this.#writer = start.writer;
    this.#nextSequence = start.nextSequence;
    this.#segments = start.segments.map((segment) => ({ ...segment }));
    this.#damage = start.damage;
    this.#restartBehind = start.restartBehind;
    this.#openAnchor = start.openAnchor;
    this.#durableBase = start.view.base;
    const failed = (error: FileError): void => this.#fail(error);
    this.#spare = new SpareSegment(start.files, {
      firstBytes: 4 * settings.firstSegmentBytes,
      sizeBytesMax: settings.segmentBytes,
      clock: settings.clock,
      retryMs: settings.spaceRetryMs,
      failed,
      space: (outOfSpace) => {
        if (this.#latched === undefined) handlers.space(outOfSpace);
      },
    });
    const { fileSystem, directory } = start.files;
    const available = (): void => {
      if (this.#latched === undefined && this.#closing === undefined) handlers.available();
      this.#settle();
    };
    this.#scrubber = new SegmentScrubber({
      files: start.files,
      sealed: () => this.#segments.filter(({ segment }) => segment < this.#writer.end.segment),
      damaged: ({ segment, ...damage }) => {
        const last = this.view.records.lastUpTo(segment);
        if (this.#closing === undefined) handlers.damaged?.({ ...damage, last });
      },
    });
    this.#old = new OldEntries(fileSystem, directory, start.view, available, failed);
  }

  /** Opens the anchor and begins the spare; nothing is written while damage is undecided. */
  start(done: Done): void {
    if (this.#restartBehind !== undefined) {
      done(undefined);
      return;
    }
    this.#makeAnchor((error) => {
      if (error === undefined) this.#spare.prepare();
      done(error);
    });
  }

  #makeAnchor(done: Done): void {
    const failed = (error: FileError): void => this.#fail(error);
    this.#openAnchor(failed, (error, anchor) => {
      if (error === undefined) this.#anchor = anchor;
      done(error);
    });
  }

  // ---- writing ------------------------------------------------------------------------------

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
    this.#baseToWrite = { index, term, configuration };
    this.view.compact(this.#baseToWrite);
    this.#pump();
  }

  repaired(): void {
    if (this.#damage === undefined) return;
    this.#isRepaired = true;
    // Behind damage found now, the mark goes with the entries that repair it, or not at all.
    if (this.#restartBehind === undefined) this.#pump();
  }

  /** Starts the next record, if none is in flight and something waits that needs one. */
  #pump(): void {
    if (this.#isBusy || this.#latched !== undefined) return;
    const group = this.#queue.takeGroup(this.#settings.groupBytesMax);
    const needsRecord =
      group.some(({ task }) => needsSync(task)) ||
      this.#baseToWrite !== undefined ||
      this.#isRepaired ||
      (this.#closing !== undefined && this.#heldHardState !== undefined);
    if (needsRecord) {
      this.#writeGroup(group);
      return;
    }
    // Only commit hints: nothing depends on them, they go with the next record.
    for (const { task } of group) this.#heldHardState = task.hardState ?? this.#heldHardState;
    if (group.length > 0) this.#settings.scheduler.post(() => this.#acknowledge(group));
    this.#settle();
  }

  #writeGroup(group: readonly WaitingTask[]): void {
    this.#isBusy = true;
    const change = mergeTasks(group.map(({ task }) => task));
    const base = this.#baseToWrite;
    const record: LogRecord = {
      sequence: this.#nextSequence,
      syncedSequence: this.#nextSequence - 1,
      // In every record: whatever is lost before it, this much is known of votes given.
      hardState: change.hardState ?? this.#heldHardState ?? this.view.hardState,
      snapshot: change.snapshot,
      base,
      isRepaired: this.#isRepaired,
      entries: change.entries,
    };
    this.#heldHardState = undefined;
    this.#baseToWrite = undefined;
    this.#isRepaired = false;
    this.#place(record, () => {
      this.#writer.commit((error, place) => {
        if (error !== undefined) return this.#fail(error);
        if (this.#latched === undefined) this.#wrote(record, place, group);
      });
    });
  }

  /** Makes room: the record goes whole into one segment. */
  #place(record: LogRecord, ready: () => void): void {
    if (this.#restartBehind !== undefined) {
      this.#restart(record, ready);
      return;
    }
    const bytes = this.#writer.prepare(record);
    if (bytes === 0) {
      ready();
      return;
    }
    this.#beginSegment(record, bytes, ready);
  }

  /** The first write after damage: a new segment behind the good part, which stays as it is. */
  #restart(record: LogRecord, ready: () => void): void {
    this.#makeAnchor((error) => {
      if (error !== undefined) return this.#fail(error);
      this.#beginSegment(record, recordBytesMax(record), ready);
    });
  }

  #beginSegment(record: LogRecord, recordBytes: number, ready: () => void): void {
    const behind = this.#restartBehind;
    const previous = behind?.end ?? this.#writer.end;
    const segment = behind?.segment ?? previous.segment + 1;
    this.#spare.take(segmentBytesFor(recordBytes), (spare) => {
      const header = {
        identity: this.#identity,
        segment,
        sizeBytes: spare.sizeBytes,
        previous,
        firstSequence: this.#nextSequence,
        firstIndexExpected: this.view.lastIndex + 1,
        hardState: this.view.hardState,
        base: this.#durableBase,
        damage: this.#damage,
      };
      const begun = (error: FileError | undefined): void => {
        if (error !== undefined) this.#fail(error);
        if (this.#latched !== undefined) return;
        this.#segments.push({ segment, endOffset: HEADER_BYTES });
        this.#anchoredMs = Number.NEGATIVE_INFINITY;
        this.#restartBehind = undefined;
        // Its file is called a spare until its first record is durable: no other one before.
        this.#isSpareDue = behind !== undefined;
        if (!this.#isSpareDue) this.#spare.prepare();
        const rest = this.#writer.prepare(record);
        invariant(rest === 0, `record of ${rest} bytes does not fit its own segment`);
        ready();
      };
      if (behind === undefined) this.#writer.begin(spare, header, begun);
      else {
        mark('log restarts behind a snapshot');
        this.#writer.beginUnnamed(spare, header, begun);
      }
    });
  }

  #wrote(record: LogRecord, place: ChangePlace, group: readonly WaitingTask[]): void {
    this.#nextSequence = record.sequence + 1;
    this.#segments.at(-1)!.endOffset = place.offset + place.length;
    const change: LogChange = record;
    this.view.apply(change, place);
    if (record.base !== undefined) this.#durableBase = record.base;
    if (record.snapshot !== undefined) {
      this.#durableBase = this.view.base;
      // A compaction asked for while this record was written is behind the snapshot.
      this.#baseToWrite = undefined;
    }
    if (record.isRepaired) this.#damage = undefined;
    if (this.#isSpareDue) this.#spare.prepare();
    this.#isSpareDue = false;
    if (record.base !== undefined || record.snapshot !== undefined) this.#removeSegments();
    this.#writeAnchor(record.sequence);
    this.#isBusy = false;
    // What waited meanwhile goes to the disk before its answers are worked on.
    this.#pump();
    this.#acknowledge(group);
    this.#settle();
  }

  #acknowledge(group: readonly WaitingTask[]): void {
    if (this.#latched !== undefined) return;
    for (const { task, done } of group) done(task.sequence);
  }

  #writeAnchor(sequence: number): void {
    const now = this.#settings.clock.monotonicMs();
    if (now - this.#anchoredMs < this.#settings.anchorIntervalMs) return;
    if (this.#anchor === undefined || this.#anchor.isWriting) return;
    this.#anchoredMs = now;
    const { segment } = this.#writer.end;
    const { lastIndex, lastTerm } = this.view;
    this.#anchor.write({ segment, sequence, lastIndex, lastTerm });
  }

  /** Deletes segments without live entries, once the record that makes them dead is durable. */
  #removeSegments(): void {
    // The view is compacted as soon as it is asked for, the record of it comes later.
    if (this.#isRemoving || this.#durableBase.index !== this.view.base.index) return;
    const current = this.#writer.end.segment;
    const keep = Math.min(this.view.records.firstSegment ?? current, current);
    const dead = this.#segments.filter(({ segment }) => segment < keep);
    if (dead.length === 0) return;
    this.#isRemoving = true;
    const names = dead.map(({ segment }) => segmentName(segment));
    this.#files.remove(names, (error) => {
      this.#isRemoving = false;
      if (error !== undefined) return this.#fail(error);
      this.#segments.splice(0, dead.length);
      if (this.#closing === undefined) this.#removeSegments();
      this.#settle();
    });
  }

  #fail(error: FileError): void {
    if (this.#latched !== undefined) return;
    mark('log failed');
    this.#latched = error;
    this.#handlers.failed(error);
    this.#settle();
  }

  // ---- reading ------------------------------------------------------------------------------

  protected stored(lo: Index, hi: Index, bytesMax: number): readonly Entry[] | 'pending' {
    return this.#old.page(lo, hi, bytesMax) ?? 'pending';
  }

  scrub(bytes: number, done: (bytesRead: number) => void): void {
    if (this.#latched !== undefined || this.#closing !== undefined) done(0);
    else {
      this.#isScrubbing = true;
      this.#scrubber.step(bytes, (read) => {
        this.#isScrubbing = false;
        done(read);
        this.#settle();
      });
    }
  }

  get sizeBytes(): number {
    let sum = 0;
    for (const { endOffset } of this.#segments) sum += endOffset;
    return sum;
  }

  get outOfSpace(): boolean {
    return this.#spare.outOfSpace;
  }

  // ---- closing ------------------------------------------------------------------------------

  close(done: Done): void {
    invariant(this.#closing === undefined, 'the log is closed twice');
    this.#closing = done;
    this.#pump();
    this.#settle();
  }

  /** Finishes a close once nothing is under way. */
  #settle(): void {
    const done = this.#closing;
    if (done === undefined || this.#finished) return;
    if (this.#latched !== undefined) {
      this.#finished = true;
      done(this.#latched);
      return;
    }
    const isIdle = !this.#isBusy && this.#queue.length === 0 && !this.#isRemoving;
    if (!isIdle || this.#isScrubbing || this.#old.isReading || this.#heldHardState !== undefined)
      return;
    this.#finished = true;
    this.#spare.close(() => {
      const closeWriter = (error: FileError | undefined): void => {
        if (error !== undefined) done(error);
        else this.#writer.close(done);
      };
      if (this.#anchor === undefined) closeWriter(undefined);
      else this.#anchor.close(closeWriter);
    });
  }
}
