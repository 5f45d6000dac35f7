import type { FileError, ImageStore, Index } from '@lockstep/model';
import { BinaryReader, copyBytes, LockstepError } from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { LogIdentity } from './contract.ts';
import { EMPTY_HARD_STATE } from './memory-log-store.ts';
import type { LogView } from './wal/log-view.ts';
import { decodeRecord, isIntact, peekChain, peekLength } from './wal/record-format.ts';
import { Replay } from './wal/replay.ts';
import { type Damage, decodeHeader, type SegmentHeader } from './wal/segment-header.ts';

/** Stands for the segment number in the checksums of chunks. */
export const LEVEL_LOG_SEGMENT = 1;
const PAGE_BYTES = 1024 * 1024;

export interface LevelChunk {
  readonly sequence: number;
  /** Last index it brought, 0 when it has no entries. */
  readonly last: Index;
  readonly previousCrc: number;
  readonly bytes: number;
}

export interface LevelLogRecovered {
  readonly view: LogView;
  readonly damage: Damage | undefined;
  readonly isTruncated: boolean;
  readonly deadKeys: readonly Uint8Array[];
  readonly chunks: readonly LevelChunk[];
  readonly nextSequence: number;
  readonly crc: number;
}

export interface LevelLogInput {
  readonly store: ImageStore;
  readonly name: string;
  readonly identity: LogIdentity;
  readonly bootstrap: Configuration;
}

type RecoveryDone = (error: FileError | undefined, recovered: LevelLogRecovered) => void;

/** Reads checkpoint and chunks in key order; LevelDB may have lost any of them (reference §6.2). */
export function recoverLevelLog(input: LevelLogInput, done: RecoveryDone): void {
  new LevelLogRecovery(input, done).start();
}

class LevelLogRecovery {
  readonly #input: LevelLogInput;
  readonly #done: RecoveryDone;
  readonly #snapshot: ReturnType<ImageStore['snapshot']>;
  #replay: Replay;
  #damage: Damage | undefined;
  #deadKeys: Uint8Array[] = [];
  #chunks: LevelChunk[] = [];
  #nextSequence = 1;
  #crc = 0;
  #hasCheckpoint = false;

  constructor(input: LevelLogInput, done: RecoveryDone) {
    this.#input = input;
    this.#done = done;
    this.#snapshot = input.store.snapshot();
    const { identity, bootstrap } = input;
    this.#replay = new Replay(emptyHeader(identity, bootstrap), Number.POSITIVE_INFINITY);
  }

  start(): void {
    this.#snapshot.next(PAGE_BYTES, (error, records) => {
      if (error !== undefined) {
        this.#fail(error);
        return;
      }
      for (const { key, value } of records) {
        if (key[0] !== 1) this.#takeChunk(key, value);
        else if (!this.#takeCheckpoint(value)) return;
      }
      if (records.length > 0) this.start();
      else this.#finish();
    });
  }

  #fail(error: FileError): void {
    this.#snapshot.close();
    this.#done(error, undefined as never);
  }

  #takeCheckpoint(value: Uint8Array): boolean {
    const decoded = decodeHeader(value);
    if (typeof decoded === 'string') {
      this.#damage = { file: this.#input.name, offset: 0, reason: decoded };
      return true;
    }
    const { header } = decoded;
    const { cluster, member } = header.identity;
    const { identity, name } = this.#input;
    if (cluster !== identity.cluster || member !== identity.member) {
      const owner = `member ${member} of cluster ${cluster}`;
      const wanted = `member ${identity.member} of cluster ${identity.cluster}`;
      const { code, message } = new LockstepError('DATA_DIRECTORY_MISMATCH', name, owner, wanted);
      this.#fail({ code, message });
      return false;
    }
    this.#hasCheckpoint = true;
    this.#replay = new Replay(header, Number.POSITIVE_INFINITY);
    this.#nextSequence = header.firstSequence;
    this.#crc = header.previous.crc;
    return true;
  }

  #takeChunk(key: Uint8Array, value: Uint8Array): void {
    const sequence = new BinaryReader(key, 1).u64be();
    this.#damage ??= this.#judge(sequence, value);
    if (this.#damage !== undefined) {
      this.#deadKeys.push(key);
      return;
    }
    const { crc, previousCrc } = peekChain(value);
    const bytes = value.length;
    const record = decodeRecord(copyBytes(value), 0);
    const { index } = this.#replay.view.base;
    // A chunk that is compacted in part still brings all its entries.
    const isOld = record.snapshot === undefined && (record.entries[0]?.index ?? index + 1) <= index;
    const entries = isOld ? record.entries.filter((entry) => entry.index > index) : record.entries;
    const position = { segment: 0, offset: 0, length: bytes, previousCrc };
    this.#replay.accept({ ...record, entries }, position);
    this.#chunks.push({ sequence, last: record.entries.at(-1)?.index ?? 0, previousCrc, bytes });
    this.#nextSequence = sequence + 1;
    this.#crc = crc;
  }

  #judge(sequence: number, value: Uint8Array): Damage | undefined {
    const problem = (reason: string): Damage => ({
      file: this.#input.name,
      offset: sequence,
      reason,
    });
    if (!this.#hasCheckpoint) return problem('checkpoint is missing');
    if (sequence !== this.#nextSequence) return problem(`chunk ${this.#nextSequence} is missing`);
    if (peekLength(value, 0) !== value.length || !isIntact(value, LEVEL_LOG_SEGMENT)) {
      return problem('chunk fails its checksum');
    }
    if (peekChain(value).previousCrc !== this.#crc) return problem('chunk breaks the chain');
    return undefined;
  }

  #finish(): void {
    this.#snapshot.close();
    const { view } = this.#replay;
    const commit = Math.min(view.hardState.commit, view.lastIndex);
    view.hardState = { ...view.hardState, commit };
    this.#done(undefined, {
      view,
      damage: this.#damage ?? this.#replay.damage,
      isTruncated: this.#damage !== undefined,
      deadKeys: this.#deadKeys,
      chunks: this.#chunks,
      nextSequence: this.#nextSequence,
      crc: this.#crc,
    });
  }
}

function emptyHeader(identity: LogIdentity, bootstrap: Configuration): SegmentHeader {
  return {
    identity,
    segment: LEVEL_LOG_SEGMENT,
    sizeBytes: 0,
    previous: { segment: 0, offset: 0, crc: 0 },
    firstSequence: 1,
    firstIndexExpected: 1,
    hardState: EMPTY_HARD_STATE,
    base: { index: 0, term: 0, configuration: bootstrap },
    damage: undefined,
  };
}
