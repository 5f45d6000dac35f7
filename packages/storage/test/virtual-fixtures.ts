import type { LogFixture } from '../src/log-driver.ts';
import { MemoryDisk } from '../src/memory-file-system.ts';
import { MemoryLogContents, openMemoryLog } from '../src/memory-log-store.ts';
import { openWal, type WalOptions } from '../src/wal/open-wal.ts';
import { seededRandom, Turns } from './turns.ts';

/** Small enough that a few appends cross segments and leave the cache. */
export const SMALL: Partial<WalOptions> = {
  segmentBytes: 32 * 1024,
  firstSegmentBytes: 16 * 1024,
  cacheBytesMax: 10_000,
};

export function memoryWorld(seed = 1) {
  const turns = new Turns();
  const disk = new MemoryDisk({ random: seededRandom(seed), scheduler: turns, clock: turns });
  return { turns, disk };
}

export async function memoryLogFixture(): Promise<LogFixture> {
  const turns = new Turns();
  const open = openMemoryLog(turns, new MemoryLogContents());
  return { open, drive: () => void turns.drain(), dispose: async () => {} };
}

export async function walFixture(options: Partial<WalOptions> = SMALL): Promise<LogFixture> {
  const { turns, disk } = memoryWorld();
  const wal = openWal(disk.mount(), { scheduler: turns, clock: turns, ...options });
  return { open: wal, drive: () => void turns.drain(), dispose: async () => {} };
}
