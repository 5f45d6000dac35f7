import { describe, expect, it } from 'vitest';
import { SegmentFiles } from '../src/wal/segment-files.ts';
import { isZero } from '../src/wal/segment-scan.ts';
import { type SegmentDamage, SegmentScrubber } from '../src/wal/segment-scrubber.ts';
import { CrashWorld, script, TINY } from './crash-world.ts';
import { seededRandom } from './turns.ts';

/** A log of several segments, and what scrubbing a whole round of them finds. */
function scrubbed(seed: number, stepBytes: number, damage: (world: CrashWorld) => void) {
  const world = new CrashWorld(seed, TINY);
  world.open();
  world.turns.drain();
  for (const step of script(world).slice(0, 11)) {
    step.run();
    world.turns.drain();
  }
  const names = world.disk.names.list('wal').filter((name) => name.endsWith('.wal'));
  const sealed = names.slice(0, -1).map((name) => {
    const bytes = world.disk.names.file(`wal/${name}`)!;
    let endOffset = bytes.size;
    while (endOffset > 0 && isZero(bytes.read(endOffset - 8, 8), 0, 8)) endOffset -= 8;
    return { segment: Number.parseInt(name, 10), endOffset };
  });
  damage(world);
  const found: SegmentDamage[] = [];
  const scrubber = new SegmentScrubber({
    files: new SegmentFiles(world.disk.mount(), 'wal'),
    sealed: () => sealed,
    damaged: (damaged) => found.push(damaged),
  });
  let read = 0;
  for (let step = 0; step < 10_000; step++) {
    let last = -1;
    scrubber.step(stepBytes, (bytes) => {
      last = bytes;
    });
    world.turns.drain();
    expect(last).toBeGreaterThanOrEqual(0);
    if (last === 0) return { found, read, sealed };
    read += last;
  }
  throw new Error('the round does not end');
}

describe('scrubbing segments', () => {
  it('finds nothing in a good log, whatever the size of a step', () => {
    for (const bytes of [1, 100, 1000, 100_000]) {
      const { found, sealed, read } = scrubbed(1, bytes, () => {});
      expect(found).toEqual([]);
      expect(sealed.length).toBeGreaterThan(2);
      expect(read).toBeGreaterThanOrEqual(sealed.length * 4096);
    }
  });

  it('finds a flipped bit wherever it is, once', () => {
    const random = seededRandom(3);
    for (let run = 0; run < 150; run++) {
      let place = '';
      const { found } = scrubbed(1, 700, ({ disk }) => {
        const names = disk.names.list('wal').filter((name) => name.endsWith('.wal'));
        const name = names[random.u32() % (names.length - 1)]!;
        const inode = disk.names.file(`wal/${name}`)!;
        // Where there are bytes: gaps between records are nobody's.
        let offset = 0;
        do offset = random.u32() % inode.size;
        while (inode.read(offset, 1)[0] === 0);
        disk.flipBit(`wal/${name}`, offset, random.u32() % 8);
        place = `wal/${name}`;
      });
      expect(
        found.map(({ file }) => file),
        `run ${run}`,
      ).toEqual([place]);
    }
  });

  it('passes over a segment that was compacted away meanwhile', () => {
    const { found } = scrubbed(1, 500, ({ disk }) => disk.names.unlink('wal/00000002.wal'));
    expect(found).toEqual([]);
  });
});
