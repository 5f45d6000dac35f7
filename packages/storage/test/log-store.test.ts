import { describe, expect, it } from 'vitest';
import type { LogFixture } from '../src/log-driver.ts';
import { runLogStoreSuite } from '../src/log-store-suite.ts';
import { NodeFileSystem } from '../src/node-file-system.ts';
import { openWal } from '../src/wal/open-wal.ts';
import { realClock, realScheduler, temporaryDirectory } from './disk-fixtures.ts';
import { memoryLogFixture, SMALL, walFixture } from './virtual-fixtures.ts';

const framework = { describe, it, expect };

async function diskWalFixture(): Promise<LogFixture> {
  const { path, dispose } = await temporaryDirectory();
  const open = openWal(new NodeFileSystem(path), {
    ...SMALL,
    scheduler: realScheduler,
    clock: realClock,
  });
  return { open, drive: () => {}, dispose };
}

runLogStoreSuite(framework, 'the memory log', memoryLogFixture);
runLogStoreSuite(framework, 'the write-ahead log on a memory disk', () => walFixture());
runLogStoreSuite(framework, 'the write-ahead log on the real disk', diskWalFixture);
