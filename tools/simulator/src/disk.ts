import type { FileError } from '@lockstep/model';
import { type FileOperation, MemoryDisk, MemoryImageDisk } from '@lockstep/storage';
import type { Stream } from './seed.ts';
import { beginLife, type Life, type World } from './world.ts';

const STALL_MS_MAX = 4000;

export interface DiskSpeed {
  /** Mean of a write or sync. */
  meanUs: number;
  /** Until then operations also take a spike of seconds now and then. */
  slowUntilUs: number;
  /** Until then nothing completes at all. */
  stuckUntilUs: number;
}

export interface DiskEvents {
  /** The power fails in the middle of a disk call. */
  crash(): void;
}

/**
 * The disk of one machine: log and identity files, and images. It outlives the processes. A power
 * loss can be armed to happen at any of its calls.
 */
export class SimDisk {
  readonly files: MemoryDisk;
  readonly images: MemoryImageDisk;
  readonly speed: DiskSpeed;
  readonly #world: World;
  readonly #stream: Stream;
  #life: Life;
  #callsLeft = Number.POSITIVE_INFINITY;
  /** Until then reads of the log give something else. */
  #misreadUntilUs = 0;
  /** What stale reads show: the log's files as they stood. Undefined: misdirected reads. */
  #former: Map<string, Uint8Array> | undefined;
  /** Wrong reads that this process got, and all before it. */
  misreads = 0;
  wrongReads = 0;

  constructor(world: World, node: number, speed: DiskSpeed, events: DiskEvents) {
    this.#world = world;
    this.#stream = world.stream(`disk:${node}`);
    this.speed = speed;
    this.#life = beginLife(node);
    const random = world.stream(`crash:${node}`);
    // Completions are delivered to whichever process runs; the disk itself forgets dead ones.
    const scheduler = {
      post: (callback: () => void) => void world.after(2, this.#life, 'disk', callback),
    };
    const clock = {
      setTimer: (delayMs: number, callback: () => void) => {
        const event = world.after(delayMs * 1000, this.#life, 'disk', callback);
        return {
          cancel: () => {
            event.run = undefined;
          },
        };
      },
    };
    this.files = new MemoryDisk({ random, scheduler, clock });
    this.images = new MemoryImageDisk({
      random,
      scheduler: {
        post: (callback) => {
          world.after(this.#delayMs('image') * 1000, this.#life, 'image', callback);
        },
      },
    });
    this.files.delayMs = (operation) => this.#delayMs(operation.kind);
    const count = () => {
      this.#callsLeft -= 1;
      if (this.#callsLeft > 0) return;
      this.#callsLeft = Number.POSITIVE_INFINITY;
      events.crash();
    };
    this.files.before = (_operation: FileOperation) => count();
    this.files.reading = (path, offset, bytes) => this.#reading(path, offset, bytes);
    this.images.before = count;
  }

  /** The process that now runs on this machine. */
  serve(life: Life): void {
    this.misreads = 0;
    this.#life = life;
  }

  /** The power fails at the call after `calls` more. */
  arm(calls: number): void {
    this.#callsLeft = calls;
  }

  /** Whatever troubles it is over. */
  heal(): void {
    this.#callsLeft = Number.POSITIVE_INFINITY;
    this.speed.slowUntilUs = 0;
    this.speed.stuckUntilUs = 0;
    this.#misreadUntilUs = 0;
    this.files.capacityBytes = Number.POSITIVE_INFINITY;
  }

  powerLoss(): void {
    this.#misreadUntilUs = 0;
    this.files.crash();
    this.images.crash();
  }

  /** Only the process died. */
  kill(): void {
    this.#misreadUntilUs = 0;
    this.files.kill();
    this.images.kill();
  }

  /** The next call of that kind fails; of a failed sync the dirty pages are lost. */
  failNext(kind: 'sync' | 'write' | 'read'): void {
    const error: FileError = { code: 'EIO', message: 'simulated input/output error' };
    this.files.failNext(kind, error);
    if (kind === 'write' && this.#stream.chance(0.3)) this.images.failNextWrite = error;
  }

  /**
   * Until then reads of log files give bytes of another place, or the bytes of now although later
   * ones were written. Ends with the process: what recovery reads is what it must go by.
   */
  misread(isStale: boolean, untilUs: number): void {
    this.#misreadUntilUs = untilUs;
    this.#former = undefined;
    if (!isStale) return;
    this.#former = new Map();
    for (const path of this.#logFiles()) {
      const inode = this.files.names.file(path)!;
      this.#former.set(path, inode.read(0, inode.size));
    }
  }

  #reading(path: string, offset: number, bytes: Uint8Array): Uint8Array {
    const { nowUs } = this.#world;
    if (nowUs >= this.#misreadUntilUs || !path.endsWith('.wal')) return bytes;
    if (!this.#stream.chance(0.5)) return bytes;
    const former = this.#former?.get(path);
    const inode = this.files.names.file(path);
    const other =
      this.#former === undefined
        ? inode?.read(this.#stream.below(Math.max(1, inode.size)), bytes.length)
        : former?.slice(offset, offset + bytes.length);
    if (other === undefined || Buffer.compare(other, bytes) === 0) return bytes;
    this.misreads += 1;
    this.wrongReads += 1;
    return other;
  }

  /** The medium takes `bytes` more and no more; Infinity: as many as one likes. */
  limit(bytes: number): void {
    this.files.capacityBytes = this.files.usedBytes() + bytes;
  }

  get isFull(): boolean {
    return this.files.capacityBytes !== Number.POSITIVE_INFINITY;
  }

  /** One bit of a log segment, or of an image record, flips. False: nothing to damage. */
  rot(medium: 'log' | 'image'): boolean {
    return medium === 'log' ? this.#rotLog() : this.#rotImage();
  }

  #logFiles(): string[] {
    const names = this.files.names.list('wal').filter((name) => name.endsWith('.wal'));
    return names.map((name) => `wal/${name}`);
  }

  #rotLog(): boolean {
    const paths = this.#logFiles();
    if (paths.length === 0) return false;
    const path = this.#stream.pick(paths);
    const { size } = this.files.names.file(path)!;
    if (size === 0) return false;
    this.files.flipBit(path, this.#stream.below(size), this.#stream.below(8));
    return true;
  }

  #rotImage(): boolean {
    const images = [...this.images.images.values()].filter(({ durable }) => durable.size > 0);
    if (images.length === 0) return false;
    const { durable, records } = this.#stream.pick(images);
    const key = this.#stream.pick([...durable.keys()].sort());
    const value = Uint8Array.from(durable.get(key)!);
    if (value.length === 0) return false;
    const at = this.#stream.below(value.length);
    value[at] = value[at]! ^ (1 << this.#stream.below(8));
    durable.set(key, value);
    records.set(key, value);
    return true;
  }

  #delayMs(kind: string): number {
    const { speed } = this;
    const stream = this.#stream;
    const heavy = kind === 'sync' || kind === 'image' || kind === 'syncDirectory';
    const mean = heavy ? speed.meanUs : speed.meanUs / 20;
    let us = 5 + stream.exponential(mean) + Math.max(0, speed.stuckUntilUs - this.#world.nowUs);
    if (this.#world.nowUs < speed.slowUntilUs && stream.chance(heavy ? 0.2 : 0.01)) {
      us += stream.between(10_000, STALL_MS_MAX * 1000);
    }
    return us / 1000;
  }
}
