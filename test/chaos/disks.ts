import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHIM = fileURLToPath(new URL('./slow-disk.c', import.meta.url));
/** Room for a first segment, its spare, the image and what a run writes. */
const DISK_BYTES = 768 << 20;

const works = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** Small disks of their own for the members, which can be filled; needs root for the mounts. */
export class SmallDisks {
  readonly #mounts: string[] = [];

  /** Why there are none, or undefined. */
  static missing(): string | undefined {
    if (process.getuid?.() !== 0) return 'small disks need root, for a tmpfs of their own';
    return undefined;
  }

  /** A data directory on a new disk. */
  add(name: string, directory: string): string {
    const mount = join(directory, `${name}-disk`);
    mkdirSync(mount, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', mount]);
    this.#mounts.push(mount);
    return join(mount, 'data');
  }

  /** Leaves no byte free. */
  fill(name: string): void {
    const mount = this.#of(name);
    const file = openSync(join(mount, 'ballast'), 'a');
    try {
      for (const size of [1 << 20, 4096, 1]) {
        const piece = Buffer.alloc(size);
        try {
          for (;;) writeSync(file, piece);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  empty(name: string): void {
    rmSync(join(this.#of(name), 'ballast'), { force: true });
  }

  unmount(): void {
    for (const mount of this.#mounts) works('umount', ['-l', mount]);
  }

  #of(name: string): string {
    const mount = this.#mounts.find((each) => each.endsWith(`/${name}-disk`));
    if (mount === undefined) throw new Error(`${name} has no disk of its own`);
    return mount;
  }
}

/** Slow syncs, by a library loaded before libc; needs a C compiler. */
export class SlowDisks {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Why there are none, or undefined. */
  static missing(): string | undefined {
    return works('cc', ['--version']) ? undefined : 'slow disks need a C compiler';
  }

  static build(directory: string): SlowDisks {
    const library = join(directory, 'slow-disk.so');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SHIM, '-ldl']);
    return new SlowDisks(directory);
  }

  env(name: string): NodeJS.ProcessEnv {
    this.set(name, 0);
    return {
      LD_PRELOAD: join(this.#directory, 'slow-disk.so'),
      LOCKSTEP_SLOW_DISK: this.#file(name),
    };
  }

  /** Every sync of the member takes so much longer. */
  set(name: string, delayMs: number): void {
    writeFileSync(this.#file(name), String(delayMs));
  }

  #file(name: string): string {
    return join(this.#directory, `${name}-sync-ms`);
  }
}
