import type { FileError } from '@lockstep/model';
import { type FileOperation, MemoryDisk, MemoryImageDisk } from '@lockstep/storage';
import type { Stream } from './seed.ts';
import type { Life, World } from './world.ts';

const STALL_MS_MAX = 4000;

export interface DiskSpeed {
  /** Mean of a write or sync. */
  meanUs: number;
  /** Until then operations also take a spike of seconds now and then. */
  slowUntilUs: number;
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

  constructor(world: World, node: number, speed: DiskSpeed, events: DiskEvents) {
    this.#world = world;
    this.#stream = world.stream(`disk:${node}`);
    this.speed = speed;
    this.#life = { node, alive: true, pausedUntilUs: 0 };
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
    this.images.before = count;
  }

  /** The process that now runs on this machine. */
  serve(life: Life): void {
    this.#life = life;
  }

  /** The power fails at the call after `calls` more. */
  arm(calls: number): void {
    this.#callsLeft = calls;
  }

  disarm(): void {
    this.#callsLeft = Number.POSITIVE_INFINITY;
    this.speed.slowUntilUs = 0;
    this.files.capacityBytes = Number.POSITIVE_INFINITY;
  }

  powerLoss(): void {
    this.files.crash();
    this.images.crash();
  }

  /** Only the process died. */
  kill(): void {
    this.files.kill();
    this.images.kill();
  }

  failNextSync(): void {
    const error: FileError = { code: 'EIO', message: 'simulated input/output error' };
    this.files.failNext('sync', error);
  }

  /** The medium takes `bytes` more and no more; Infinity: as many as one likes. */
  limit(bytes: number): void {
    this.files.capacityBytes = this.files.usedBytes() + bytes;
  }

  get isFull(): boolean {
    return this.files.capacityBytes !== Number.POSITIVE_INFINITY;
  }

  /** One bit of a log segment, or of an image record, flips at rest. False: nothing to damage. */
  rot(): boolean {
    return this.#stream.chance(0.5) ? this.#rotLog() : this.#rotImage();
  }

  #rotLog(): boolean {
    const names = this.files.names.list('wal').filter((name) => name.endsWith('.wal'));
    if (names.length === 0) return false;
    const path = `wal/${this.#stream.pick(names)}`;
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
    let us = 5 + stream.exponential(mean);
    if (this.#world.nowUs < speed.slowUntilUs && stream.chance(heavy ? 0.2 : 0.01)) {
      us += stream.between(10_000, STALL_MS_MAX * 1000);
    }
    return us / 1000;
  }
}
