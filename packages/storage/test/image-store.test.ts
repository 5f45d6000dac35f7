import { describe, expect, it } from 'vitest';
import { runImageStoreSuite } from '../src/image-store-suite.ts';
import { LevelImageDirectory } from '../src/level-image-directory.ts';
import { MemoryImageDisk } from '../src/memory-image-store.ts';
import { temporaryDirectory } from './disk-fixtures.ts';
import { seededRandom, Turns } from './turns.ts';

const framework = { describe, it, expect };

runImageStoreSuite(framework, 'the memory image', async () => {
  const turns = new Turns();
  const disk = new MemoryImageDisk({ random: seededRandom(1), scheduler: turns });
  return { directory: disk.mount(), drive: () => void turns.drain(), dispose: async () => {} };
});

runImageStoreSuite(framework, 'classic-level', async () => {
  const { path, dispose } = await temporaryDirectory();
  return { directory: new LevelImageDirectory(path), drive: () => {}, dispose };
});

describe('memory image under a power loss', () => {
  it('loses only a suffix of what was not synced', () => {
    const kept = new Set<number>();
    for (let seed = 1; seed < 60; seed++) {
      const turns = new Turns();
      const disk = new MemoryImageDisk({ random: seededRandom(seed), scheduler: turns });
      const directory = disk.mount();
      directory.open('a', true, (_error, store) => {
        const write = (number: number): void => {
          if (number > 6) return;
          const key = Uint8Array.of(number);
          store.write([{ key, value: key }], number === 2, () => write(number + 1));
        };
        write(1);
      });
      turns.drain();
      disk.crash();
      let count = 0;
      disk.mount().open('a', false, (_error, store) => {
        store.snapshot().next(1000, (_failure, records) => {
          count = records.length;
          expect(records.map(({ key }) => key[0])).toEqual([1, 2, 3, 4, 5, 6].slice(0, count));
        });
      });
      turns.drain();
      kept.add(count);
    }
    expect([...kept].sort()).toEqual([2, 3, 4, 5, 6]);
  });
});
