import {
  BinaryFormatError,
  type FileError,
  type ImageChange,
  type ImageStore,
  type MemberId,
  mark,
} from '@lockstep/model';
import type { SnapshotMeta } from '@lockstep/raft';
import type { SnapshotChunk, SnapshotEnd, SnapshotMessage } from '@lockstep/transport';
import { checksum, decodeChunk } from './snapshot-chunk.ts';

export interface SnapshotReceiverOptions {
  readonly from: MemberId;
  readonly stream: number;
  readonly meta: SnapshotMeta;
  readonly chunksInFlight: number;
  /** Without progress for so long the stream is given up: its sender may be gone silently. */
  readonly timeoutMs: number;
  nowMs(): number;
  reply(message: SnapshotMessage): void;
  /** All records are in the store and synced: verify and install. */
  complete(store: ImageStore): void;
  failed(reason: string, store: ImageStore | undefined): void;
}

/** Writes one stream of image records into a new image, chunk by chunk, checking each. */
export class SnapshotReceiver {
  readonly #options: SnapshotReceiverOptions;
  #store: ImageStore | undefined;
  #chunks: SnapshotChunk[] = [];
  #end: SnapshotEnd | undefined;
  #received = 0;
  #written = 0;
  #crc = 0;
  #busy = false;
  #over = false;
  #progressMs: number;

  constructor(options: SnapshotReceiverOptions) {
    this.#options = options;
    this.#progressMs = options.nowMs();
  }

  get from(): MemberId {
    return this.#options.from;
  }

  get stream(): number {
    return this.#options.stream;
  }

  get meta(): SnapshotMeta {
    return this.#options.meta;
  }

  /** The new image is open. */
  opened(store: ImageStore): void {
    this.#store = store;
    if (this.#over) this.#options.failed('given up', store);
    else this.#next();
  }

  chunk(chunk: SnapshotChunk): void {
    if (this.#over) return;
    const { chunksInFlight, stream } = this.#options;
    if (chunk.number <= this.#written) {
      // Sent again because the acknowledgement was lost.
      this.#options.reply({ kind: 'snapshot-ack', stream, number: this.#written });
      return;
    }
    if (this.#chunks.length > chunksInFlight) {
      this.fail(`chunk ${chunk.number} came, ${this.#chunks.length} wait already`);
      return;
    }
    // One before it was lost, or is damaged; what is not acknowledged comes again.
    if (chunk.number !== this.#received + 1) return;
    if (checksum(chunk.bytes) !== chunk.crc) {
      mark('snapshot chunk is damaged');
      return;
    }
    this.#received = chunk.number;
    this.#progressMs = this.#options.nowMs();
    this.#crc = checksum(chunk.bytes, this.#crc);
    this.#chunks.push(chunk);
    this.#next();
  }

  tick(nowMs: number): void {
    if (nowMs - this.#progressMs <= this.#options.timeoutMs || this.#busy) return;
    mark('snapshot stream went silent');
    this.fail('no progress');
  }

  end(message: SnapshotEnd): void {
    if (this.#over) return;
    if (message.chunks > this.#received) return;
    if (message.chunks !== this.#received || message.crc !== this.#crc) {
      this.fail(`stream of ${message.chunks} chunks is not the one that came`);
      return;
    }
    this.#end = message;
    this.#next();
  }

  fail(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    // An image still being opened or written is handed over when that has ended.
    if (this.#store !== undefined && !this.#busy) this.#options.failed(reason, this.#store);
    else if (this.#store === undefined) this.#options.failed(reason, undefined);
  }

  #next(): void {
    const store = this.#store;
    if (store === undefined || this.#busy || this.#over) return;
    const chunk = this.#chunks.shift();
    if (chunk === undefined) {
      if (this.#end !== undefined) this.#write([], true, store, () => this.#finish(store));
      return;
    }
    let changes: ImageChange[];
    try {
      changes = decodeChunk(chunk.bytes);
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error;
      this.fail(error.message);
      return;
    }
    this.#write(changes, false, store, () => {
      this.#written = chunk.number;
      const { stream } = this.#options;
      this.#options.reply({ kind: 'snapshot-ack', stream, number: this.#written });
      this.#next();
    });
  }

  #write(
    changes: readonly ImageChange[],
    sync: boolean,
    store: ImageStore,
    done: () => void,
  ): void {
    this.#busy = true;
    store.write(changes, sync, (error: FileError | undefined) => {
      this.#busy = false;
      if (this.#over) this.#options.failed('given up', store);
      else if (error !== undefined) this.fail(`image cannot be written: ${error.message}`);
      else done();
    });
  }

  #finish(store: ImageStore): void {
    this.#over = true;
    this.#options.complete(store);
  }
}
