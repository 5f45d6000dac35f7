import type { ImageSnapshot, ImageStore, Index, MemberId } from '@lockstep/model';
import type { SnapshotMeta } from '@lockstep/raft';
import type { PeerMessage } from '@lockstep/transport';
import { checksum, encodeChunk } from './snapshot-chunk.ts';

export interface SnapshotSenderOptions {
  readonly to: MemberId;
  readonly stream: number;
  readonly meta: SnapshotMeta;
  readonly store: ImageStore;
  readonly chunkBytes: number;
  readonly chunksInFlight: number;
  readonly timeoutMs: number;
  /** False when the bulk channel cannot take it now. */
  send(message: PeerMessage): boolean;
  ended(ok: boolean, reason: string): void;
}

/**
 * Streams one consistent view of the image to one follower (design §11): chunks of about 1 MiB,
 * each with a CRC, a few in flight, the next only when the receiver has written an earlier one.
 */
export class SnapshotSender {
  readonly #options: SnapshotSenderOptions;
  readonly #snapshot: ImageSnapshot;
  /** Messages that the channel would not take yet. */
  #unsent: PeerMessage[] = [];
  #sent = 0;
  #acknowledged = 0;
  #crc = 0;
  #reading = false;
  #finished = false;
  #closed = false;
  #progressMs: number;

  constructor(options: SnapshotSenderOptions, nowMs: number) {
    this.#options = options;
    this.#snapshot = options.store.snapshot();
    this.#progressMs = nowMs;
    const { stream, meta } = options;
    this.#push({ kind: 'snapshot-begin', stream, meta });
    this.#readMore();
  }

  get stream(): number {
    return this.#options.stream;
  }

  /** The follower's log will go on behind this index. */
  get index(): Index {
    return this.#options.meta.index;
  }

  acknowledged(number: number, nowMs: number): void {
    if (number <= this.#acknowledged || number > this.#sent) return;
    this.#acknowledged = number;
    this.#progressMs = nowMs;
    this.#readMore();
  }

  tick(nowMs: number): void {
    this.#flush();
    this.#readMore();
    if (nowMs - this.#progressMs > this.#options.timeoutMs) this.end(false, 'no progress');
  }

  end(ok: boolean, reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.ended(ok, reason);
  }

  close(): void {
    this.#closed = true;
    this.#snapshot.close();
  }

  #push(message: PeerMessage): void {
    this.#unsent.push(message);
    this.#flush();
  }

  #flush(): void {
    while (this.#unsent.length > 0 && this.#options.send(this.#unsent[0]!)) this.#unsent.shift();
  }

  #readMore(): void {
    const { chunkBytes, chunksInFlight } = this.#options;
    if (this.#reading || this.#finished || this.#closed) return;
    if (this.#sent - this.#acknowledged >= chunksInFlight || this.#unsent.length > 0) return;
    this.#reading = true;
    this.#snapshot.next(chunkBytes, (error, records) => {
      this.#reading = false;
      if (this.#closed) return;
      if (error !== undefined) {
        this.end(false, `image cannot be read: ${error.message}`);
        return;
      }
      const { stream } = this.#options;
      if (records.length === 0) {
        this.#finished = true;
        this.#push({ kind: 'snapshot-end', stream, chunks: this.#sent, crc: this.#crc });
        return;
      }
      const bytes = encodeChunk(records);
      this.#crc = checksum(bytes, this.#crc);
      const number = ++this.#sent;
      this.#push({ kind: 'snapshot-chunk', stream, number, crc: checksum(bytes), bytes });
      this.#readMore();
    });
  }
}
