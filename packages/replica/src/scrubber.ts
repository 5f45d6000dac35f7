import {
  BinaryFormatError,
  type ImageSnapshot,
  type ImageStore,
  InvariantError,
  mark,
} from '@lockstep/model';
import type { LogStoreHandlers } from '@lockstep/storage';
import { IMAGE_DAMAGED } from '@lockstep/storage';
import { POSITION_KEY } from './image-writer.ts';
import type { Loop } from './loop.ts';

/** Read in one go; the pause behind it keeps the rate. */
const STEP_BYTES = 64 * 1024;

/** What scrubbing has done in this life. */
export interface ScrubStatus {
  readonly rounds: number;
  readonly bytes: number;
  /** Damages found. */
  readonly damages: number;
}

type LogDamage = Parameters<NonNullable<LogStoreHandlers['damaged']>>[0];

/**
 * Reads log and image again at a bounded rate and verifies every record (reference raft.md §6.5):
 * damage is met while others still hold what it took. A damaged part of the log goes as soon as the
 * image holds its effect; a damaged image is fetched from the leader, a leader hands over before.
 */
export class Scrubber {
  readonly #loop: Loop;
  #part: 'none' | 'log' | 'image' = 'none';
  #isReading = false;
  #nextMs: number;
  #roundBeganMs = 0;
  #store: ImageStore | undefined;
  #snapshot: ImageSnapshot | undefined;
  #imageDamage = '';
  #rounds = 0;
  #bytes = 0;
  #damages = 0;

  constructor(loop: Loop) {
    this.#loop = loop;
    this.#nextMs = loop.nowMs + loop.settings.scrubIntervalMs;
  }

  get status(): ScrubStatus {
    return { rounds: this.#rounds, bytes: this.#bytes, damages: this.#damages };
  }

  /** Why the image in force is not to be trusted; empty when it is. */
  get imageDamage(): string {
    return this.#imageDamage;
  }

  /** Once per tick. */
  tick(nowMs: number): void {
    const { settings, imageLost, repair, trust } = this.#loop;
    if (this.#imageDamage !== '') this.#replaceImage(nowMs);
    if (settings.scrubBytesPerSecond === 0 || this.#isReading || nowMs < this.#nextMs) return;
    if (imageLost || repair.pending || trust.outOfSpace) return;
    switch (this.#part) {
      case 'none':
        this.#part = 'log';
        this.#roundBeganMs = nowMs;
        return;
      case 'log':
        this.#isReading = true;
        this.#loop.log.scrub(STEP_BYTES, (bytes) => this.#stepped(bytes, 'image'));
        return;
      case 'image':
        this.#isReading = true;
        this.#stepImage();
    }
  }

  close(): void {
    this.#endImage();
  }

  /** The log found damage in what it read again. */
  logDamaged({ file, offset, reason, last }: LogDamage): void {
    mark('scrubbing found damage in the log');
    this.#damages += 1;
    const { snapshots, compaction, options } = this.#loop;
    options.log?.(`${file} is damaged at offset ${offset}: ${reason}; the image replaces it`);
    compaction.giveUp(last, snapshots?.keepFrom ?? Number.POSITIVE_INFINITY);
  }

  #stepped(bytes: number, next: 'image' | 'none'): void {
    this.#isReading = false;
    if (this.#loop.stopped) return;
    const { nowMs, settings } = this.#loop;
    this.#bytes += bytes;
    this.#nextMs = nowMs + (bytes * 1000) / settings.scrubBytesPerSecond;
    if (bytes > 0) return;
    this.#part = next;
    if (next !== 'none') return;
    this.#rounds += 1;
    this.#nextMs = Math.max(this.#nextMs, this.#roundBeganMs + settings.scrubIntervalMs);
  }

  #stepImage(): void {
    const { store } = this.#loop.writer;
    if (this.#store !== store) this.#endImage();
    this.#store = store;
    this.#snapshot ??= store.snapshot();
    this.#snapshot.next(STEP_BYTES, (error, records) => {
      // Another image is in force now: that one was verified when it was loaded.
      if (this.#loop.stopped || this.#loop.writer.store !== store) {
        this.#endRound();
        return;
      }
      let bytes = 0;
      try {
        for (const { key, value } of records) {
          bytes += key.length + value.length;
          if (key.length !== POSITION_KEY.length) this.#loop.machine.checkRow(key, value);
        }
      } catch (thrown) {
        if (!(thrown instanceof InvariantError || thrown instanceof BinaryFormatError))
          throw thrown;
        this.#foundImageDamage(thrown.message);
        return;
      }
      if (error?.code === IMAGE_DAMAGED) this.#foundImageDamage(error.message);
      else if (error !== undefined || records.length === 0) this.#endRound();
      else this.#stepped(bytes, 'none');
    });
  }

  #endRound(): void {
    this.#endImage();
    this.#stepped(0, 'none');
  }

  #endImage(): void {
    this.#snapshot?.close();
    this.#snapshot = undefined;
    this.#store = undefined;
  }

  #foundImageDamage(reason: string): void {
    mark('scrubbing found damage in the image');
    this.#damages += 1;
    this.#imageDamage = reason;
    this.#loop.options.log?.(`the image is damaged: ${reason}`);
    this.#endRound();
  }

  /** Memory holds the live state but not the versions of history: the whole image comes anew. */
  #replaceImage(nowMs: number): void {
    const loop = this.#loop;
    const { voters } = loop.configuration;
    // Alone it can only be told; the next start would refuse it.
    if (voters.every((id) => id === loop.settings.member)) return;
    if (loop.leads) {
      loop.transfers.volunteer(nowMs, loop.settings.electionMs);
      return;
    }
    this.#imageDamage = '';
    loop.imageLost = true;
    loop.applier.hold(true);
  }
}
