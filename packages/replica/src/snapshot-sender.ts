import {
  type ImageSnapshot,
  type ImageStore,
  type Index,
  type MemberId,
  mark,
} from '@lockstep/model';
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
  /** What was sent is sent again when nothing was acknowledged for so long. */
  readonly resendMs: number;
  /** False when the bulk channel cannot take it now. */
  send(message: PeerMessage): boolean;
  ended(ok: boolean, reason: string): void;
}

/**
 * Streams one consistent view of the image to one follower (design §11): chunks of about 1 MiB,
 * each with a CRC, a few in flight, the next only when the receiver has written an earlier one.
 * What is not acknowledged is kept and sent again when the link was lost, or when nothing moves:
 * a broken connection costs the chunks in flight and not the stream.
 */
export class SnapshotSender {
  readonly #options: SnapshotSenderOptions;
  readonly #snapshot: ImageSnapshot;
  /** Messages that the receiver has not acknowledged, oldest first. */
  #window: PeerMessage[] = [];
  /** Of these, how many have left. */
  #left = 0;
  #resentMs: number;
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
    this.#resentMs = nowMs;
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
    const rest = this.#window.findIndex(
      (message) =>
        message.kind === 'snapshot-end' ||
        (message.kind === 'snapshot-chunk' && message.number > number),
    );
    const gone = rest < 0 ? this.#window.length : rest;
    this.#window.splice(0, gone);
    this.#left = Math.max(0, this.#left - gone);
    this.#readMore();
  }

  tick(nowMs: number): void {
    const { timeoutMs, resendMs } = this.#options;
    if (nowMs - this.#progressMs > timeoutMs) {
      this.end(false, 'no progress');
      return;
    }
    if (nowMs - Math.max(this.#progressMs, this.#resentMs) > resendMs) this.resend(nowMs);
    this.#flush();
    this.#readMore();
  }

  /** The link is a new one, or what was sent seems lost. */
  resend(nowMs: number): void {
    if (this.#left > 0) mark('snapshot chunks sent again');
    this.#resentMs = nowMs;
    this.#left = 0;
    this.#flush();
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
    this.#window.push(message);
    this.#flush();
  }

  #flush(): void {
    while (this.#left < this.#window.length && this.#options.send(this.#window[this.#left]!)) {
      this.#left += 1;
    }
  }

  #readMore(): void {
    const { chunkBytes, chunksInFlight } = this.#options;
    if (this.#reading || this.#finished || this.#closed) return;
    if (this.#sent - this.#acknowledged >= chunksInFlight) return;
    if (this.#left < this.#window.length) return;
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
