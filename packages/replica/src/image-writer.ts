import {
  BinaryReader,
  BinaryWriter,
  type ByteString,
  type Clock,
  type FileError,
  fromByteString,
  type ImageChange,
  type ImageStore,
  type Index,
  invariant,
  mark,
  type Term,
  type Timer,
  UnknownFormatError,
} from '@lockstep/model';
import type { Configuration } from '@lockstep/raft';
import type { ImageSink } from '@lockstep/state-machine';
import { readConfiguration, writeConfiguration } from './configuration-format.ts';

/** Where the image stands; in every batch, so that state and position move together (D-8). */
export interface ImagePosition {
  readonly index: Index;
  readonly term: Term;
  readonly configuration: Configuration;
}

/**
 * Key of the replica's own row: one zero byte, shorter than any key of the state machine (whose
 * keys begin with a 16-bit table number), so that it also comes first.
 */
export const POSITION_KEY: Uint8Array = Uint8Array.of(0);
const POSITION_FORMAT = 1;

export function encodePosition({ index, term, configuration }: ImagePosition): Uint8Array {
  const writer = new BinaryWriter();
  writer.u8(POSITION_FORMAT).varint(index).varint(term);
  writeConfiguration(writer, configuration);
  return writer.take();
}

/** Throws BinaryFormatError when malformed. */
export function decodePosition(bytes: Uint8Array): ImagePosition {
  const reader = new BinaryReader(bytes);
  const format = reader.u8();
  if (format !== POSITION_FORMAT) {
    throw new UnknownFormatError(`image position format ${format} is unknown`);
  }
  const [index, term] = [reader.varint(), reader.varint()];
  return { index, term, configuration: readConfiguration(reader) };
}

type Changes = Map<ByteString, Uint8Array | undefined>;

export interface ImageWriterOptions {
  readonly clock: Clock;
  readonly flushMs: number;
  readonly flushBytes: number;
  readonly syncMs: number;
  readonly syncBytes: number;
  /** A batch ended: there is room again, and perhaps a durable position. */
  written(durable: ImagePosition | undefined): void;
  failed(error: FileError): void;
}

/**
 * Writes the state image behind apply (design §11): changes are coalesced per key and written as
 * one batch every 100 ms or 4 MiB, cut only at the end of an entry. Every few seconds a batch is
 * synced; then log entries up to its position may go.
 */
export class ImageWriter implements ImageSink {
  readonly #options: ImageWriterOptions;
  #store: ImageStore;
  #gathered: Changes = new Map();
  #gatheredBytes = 0;
  #writing: Changes = new Map();
  #writingBytes = 0;
  #busy = false;
  #midEntry = false;
  #position: ImagePosition | undefined;
  #positionWritten: ImagePosition | undefined;
  #syncDueMs: number;
  #bytesUnsynced = 0;
  #timer: Timer | undefined;
  #idle: (() => void) | undefined;
  #syncWanted = false;
  #closed = false;
  #retired: ((store: ImageStore) => void) | undefined;

  constructor(store: ImageStore, options: ImageWriterOptions) {
    this.#store = store;
    this.#options = options;
    this.#syncDueMs = options.clock.monotonicMs() + options.syncMs;
  }

  get store(): ImageStore {
    return this.#store;
  }

  /** Bytes that the image does not hold yet. */
  get backlogBytes(): number {
    return this.#gatheredBytes + this.#writingBytes;
  }

  set(key: ByteString, value: Uint8Array | undefined): void {
    this.#gathered.set(key, value);
    this.#gatheredBytes += key.length + (value?.length ?? 0) + 64;
  }

  /** What a batch not yet written says of a key; null when none mentions it. */
  unflushed(key: ByteString): Uint8Array | undefined | null {
    if (this.#gathered.has(key)) return this.#gathered.get(key);
    if (this.#writing.has(key)) return this.#writing.get(key);
    return null;
  }

  entryBegun(): void {
    this.#midEntry = true;
  }

  /** The entry is applied: everything set so far may be cut here. */
  entryDone(position: ImagePosition): void {
    this.#midEntry = false;
    this.#position = position;
    if (this.#gatheredBytes >= this.#options.flushBytes) this.#flush();
    else this.#arm();
  }

  /** Where the image on disk stands; undefined before the first batch. */
  get positionWritten(): ImagePosition | undefined {
    return this.#positionWritten;
  }

  /** The store was filled by others (loaded, or a snapshot) and stands at `position`. */
  restart(position: ImagePosition): void {
    this.#position = position;
    this.#positionWritten = position;
  }

  /**
   * Another image took over: nothing more is written; the store is given up when it is idle. Who
   * waits for a drain goes on as well: what it wanted on disk is in the other image.
   */
  retire(done: (store: ImageStore) => void): void {
    const idle = this.#idle;
    this.#idle = undefined;
    this.close();
    const retired = (store: ImageStore) => {
      done(store);
      idle?.();
    };
    if (this.#busy) this.#retired = retired;
    else retired(this.#store);
  }

  /** Writes and syncs everything, then calls back; for snapshots and the orderly stop. */
  drain(done: () => void): void {
    invariant(this.#idle === undefined, 'the image writer drains once at a time');
    this.#idle = done;
    this.#syncWanted = true;
    this.#flush();
  }

  /** Nothing more is written. Whoever waits for a drain goes on without it: the member stops. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle === undefined) return;
    mark('stopped while the image was drained');
    idle();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#busy || this.#closed) return;
    this.#timer = this.#options.clock.setTimer(this.#options.flushMs, () => {
      this.#timer = undefined;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#busy || this.#closed) return;
    if (this.#midEntry) {
      this.#arm();
      return;
    }
    const { clock, syncBytes } = this.#options;
    const position = this.#position;
    const changed = this.#gathered.size > 0 || position !== this.#positionWritten;
    const due = clock.monotonicMs() >= this.#syncDueMs || this.#bytesUnsynced >= syncBytes;
    const sync = this.#syncWanted || (due && (changed || this.#bytesUnsynced > 0));
    if (position === undefined || !(changed || sync)) {
      this.#finish();
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#gathered;
    this.#writingBytes = this.#gatheredBytes;
    this.#gathered = new Map();
    this.#gatheredBytes = 0;
    this.#busy = true;
    this.#syncWanted = false;
    this.#store.write(batchOf(this.#writing, position), sync, (error) => {
      this.#written(error, position, sync);
    });
  }

  #written(error: FileError | undefined, position: ImagePosition, synced: boolean): void {
    if (this.#closed) {
      this.#retired?.(this.#store);
      return;
    }
    if (error !== undefined) {
      this.#options.failed(error);
      return;
    }
    this.#busy = false;
    this.#bytesUnsynced = synced ? 0 : this.#bytesUnsynced + this.#writingBytes + 1;
    if (synced) this.#syncDueMs = this.#options.clock.monotonicMs() + this.#options.syncMs;
    this.#writing = new Map();
    this.#writingBytes = 0;
    this.#positionWritten = position;
    this.#options.written(synced ? position : undefined);
    if (this.#idle !== undefined || this.#gatheredBytes >= this.#options.flushBytes) this.#flush();
    else if (this.#gathered.size > 0 || this.#bytesUnsynced > 0) this.#arm();
  }

  #finish(): void {
    const idle = this.#idle;
    if (this.#bytesUnsynced > 0 && idle === undefined) this.#arm();
    this.#idle = undefined;
    idle?.();
  }
}

function batchOf(changes: Changes, position: ImagePosition): ImageChange[] {
  const batch: ImageChange[] = [{ key: POSITION_KEY, value: encodePosition(position) }];
  for (const [key, value] of changes) batch.push({ key: fromByteString(key), value });
  return batch;
}
