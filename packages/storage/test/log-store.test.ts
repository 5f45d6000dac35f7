import type { ImageDirectory, Scheduler } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import type { OpenLog } from '../src/contract.ts';
import { LevelImageDirectory } from '../src/level-image-directory.ts';
import { openLevelLog } from '../src/level-log.ts';
import type { LogFixture } from '../src/log-driver.ts';
import { runLogStoreSuite } from '../src/log-store-suite.ts';
import { MemoryImageDisk } from '../src/memory-image-store.ts';
import { NodeFileSystem } from '../src/node-file-system.ts';
import { openWal } from '../src/wal/open-wal.ts';
import { realClock, realScheduler, temporaryDirectory } from './disk-fixtures.ts';
import { seededRandom, Turns } from './turns.ts';
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

/** A level log over a directory of images; each open of the log opens the image. */
function levelLogOn(directory: ImageDirectory, scheduler: Scheduler): OpenLog {
  return (identity, bootstrap, handlers, done) => {
    const open = (create: boolean): void =>
      directory.open('log', create, (error, store) => {
        if (error?.code === 'ENOENT' && !create) open(true);
        else if (error !== undefined) done(error, undefined as never, undefined as never);
        else openLevelLog(store, { scheduler })(identity, bootstrap, handlers, done);
      });
    open(false);
  };
}

async function memoryLevelLogFixture(): Promise<LogFixture> {
  const turns = new Turns();
  const disk = new MemoryImageDisk({ random: seededRandom(1), scheduler: turns });
  const open = levelLogOn(disk.mount(), turns);
  return { open, drive: () => void turns.drain(), dispose: async () => {} };
}

async function levelLogFixture(): Promise<LogFixture> {
  const { path, dispose } = await temporaryDirectory();
  const open = levelLogOn(new LevelImageDirectory(path), realScheduler);
  return { open, drive: () => {}, dispose };
}

runLogStoreSuite(framework, 'the memory log', memoryLogFixture);
runLogStoreSuite(framework, 'the write-ahead log on a memory disk', () => walFixture());
runLogStoreSuite(framework, 'the write-ahead log on the real disk', diskWalFixture);
runLogStoreSuite(framework, 'the level log on a memory image', memoryLevelLogFixture);
runLogStoreSuite(framework, 'the level log on classic-level', levelLogFixture);
