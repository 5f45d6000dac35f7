import { crc32 } from 'node:zlib';
import type { FileError } from '@lockstep/model';
import { describe, expect, it } from 'vitest';
import { testEntries } from '../src/log-driver.ts';
import { CrashWorld, script, TINY } from './crash-world.ts';

/** Opens, appends the entries one record each, and lets the disk finish. */
function writtenWorld(records: number, bytes = 900, options = TINY): CrashWorld {
  const world = new CrashWorld(5, options);
  world.open();
  world.turns.drain();
  for (let index = 1; index <= records; index++) {
    world.append({ entries: testEntries(index, index, 1, bytes) });
    world.turns.drain();
  }
  return world;
}

function reopen(world: CrashWorld) {
  world.crash('process');
  const opened = world.open();
  world.turns.drain();
  expect(opened.error).toBeUndefined();
  return opened.state!;
}

const ROOMY = { ...TINY, firstSegmentBytes: 64 * 1024, segmentBytes: 64 * 1024 };

describe('write-ahead log and damage', { timeout: 60_000 }, () => {
  it('reports a flipped bit anywhere in an acknowledged record, with file and offset', () => {
    const sizes = [30, 900];
    for (const bytes of sizes) {
      const clean = writtenWorld(3, bytes, ROOMY);
      const end = clean.log!.sizeBytes;
      const start = 4096;
      const step = bytes === 30 ? 1 : 37;
      for (let offset = start; offset < end; offset += step) {
        const world = writtenWorld(3, bytes, ROOMY);
        const file = 'wal/00000001.wal';
        if (world.disk.names.file(file)!.read(offset, 1)[0] === 0 && offset % 8 !== 0) continue;
        world.disk.flipBit(file, offset, offset % 8);
        const state = reopen(world);
        const what = `${bytes} bytes, offset ${offset}`;
        if (state.health === 'clean') {
          // Only the gap between records may differ without anyone noticing.
          expect(state.lastIndex, what).toBe(3);
          continue;
        }
        expect(state.health, what).toBe('damaged');
        expect(state.damage!.file, what).toBe(file);
        expect(state.damage!.offset, what).toBeLessThanOrEqual(offset);
      }
    }
  });

  it('reports damage in an older segment and keeps what stands before it', () => {
    const world = writtenWorld(12);
    world.disk.flipBit('wal/00000002.wal', 4096 + 300, 2);
    const state = reopen(world);
    expect(state.health).toBe('damaged');
    expect(state.damage).toMatchObject({ file: 'wal/00000002.wal', offset: 4096 });
    expect(state.lastIndex).toBeLessThan(12);
    expect(state.lastIndex).toBeGreaterThan(0);
  });

  it('reports a missing segment, and a log that is shorter than its anchor', () => {
    for (const file of ['wal/00000001.wal', 'wal/00000002.wal', 'wal/00000003.wal']) {
      const world = writtenWorld(7);
      world.disk.names.unlink(file);
      expect(reopen(world).health, file).toBe('damaged');
    }
  });

  it('refuses a log of newer software and leaves it as it is', () => {
    const world = writtenWorld(2);
    const inode = world.disk.names.file('wal/00000001.wal')!;
    const header = Buffer.from(inode.read(0, 4096));
    header.writeUInt32LE(2, 8);
    header.writeUInt32LE(crc32(header.subarray(16), crc32(header.subarray(0, 12))), 12);
    inode.write(0, header);
    world.crash('process');
    const names = world.disk.names.list('wal');
    const opened = world.open();
    world.turns.drain();
    expect(opened.error).toEqual({
      code: 'EFORMAT',
      message: 'wal/00000001.wal: segment format 2 is unknown: newer software wrote this log',
    });
    expect(world.disk.names.list('wal')).toEqual(names);
    // A flipped bit in that field is damage.
    const other = writtenWorld(2);
    other.disk.flipBit('wal/00000001.wal', 8, 1);
    expect(reopen(other).health).toBe('damaged');
  });

  it('reports damage when every segment is gone', () => {
    const world = writtenWorld(2);
    for (const name of world.disk.names.list('wal')) {
      if (name.endsWith('.wal')) world.disk.names.unlink(`wal/${name}`);
    }
    const state = reopen(world);
    expect([state.health, state.lastIndex]).toEqual(['damaged', 0]);
  });

  it('writes nothing after finding damage until something is appended', () => {
    const world = writtenWorld(5);
    world.disk.flipBit('wal/00000002.wal', 4096 + 100, 1);
    reopen(world);
    const before = world.disk.names.list('wal').join();
    const writes: string[] = [];
    world.disk.before = ({ kind }) => void writes.push(kind);
    const state = reopen(world);
    expect(state.health).toBe('damaged');
    expect(world.disk.names.list('wal').join()).toBe(before);
  });

  it('stays damaged over restarts until the member has caught up', () => {
    const world = writtenWorld(5);
    world.disk.flipBit('wal/00000002.wal', 4096 + 100, 1);
    const { lastIndex } = reopen(world);
    const next = lastIndex + 1;
    world.append({ entries: testEntries(next, next + 5, 2, 700) });
    world.turns.drain();
    expect(world.log!.lastIndex()).toBe(next + 5);
    for (let i = 0; i < 2; i++) {
      const state = reopen(world);
      expect([state.health, state.lastIndex]).toEqual(['damaged', next + 5]);
      expect(state.damage!.file).toBe('wal/00000002.wal');
    }
    world.log!.repaired();
    world.turns.drain();
    const repaired = reopen(world);
    expect([repaired.health, repaired.lastIndex]).toEqual(['clean', next + 5]);
    expect(repaired.damage).toBeUndefined();
  });

  it('remembers a vote whose record stands behind the damage', () => {
    const world = writtenWorld(5);
    world.append({ hardState: { term: 9, vote: 3, commit: 2 } });
    world.turns.drain();
    world.append({ entries: testEntries(6, 6, 9, 2000) });
    world.append({ entries: testEntries(7, 7, 9, 4000) });
    world.turns.drain();
    world.disk.flipBit('wal/00000002.wal', 4096 + 100, 1);
    const state = reopen(world);
    expect(state.health).toBe('damaged');
    expect([state.hardState.term, state.hardState.vote]).toEqual([9, 3]);
  });

  it('refuses a log of another member', () => {
    const world = writtenWorld(1);
    world.crash('process');
    let error: FileError | undefined;
    world.openAs({ cluster: '00000000000000ab', member: 2 }, (failure) => {
      error = failure;
    });
    world.turns.drain();
    expect(error?.code).toBe('DATA_DIRECTORY_MISMATCH');
  });
});

describe('write-ahead log and unsynced sectors', { timeout: 60_000 }, () => {
  /** A record of several sectors, of which the crash keeps those in `kept`. */
  function crashedWorld(kept: (sector: number) => boolean) {
    const world = writtenWorld(2, 700, ROOMY);
    const inode = world.disk.names.file('wal/00000001.wal')!;
    const size = world.log!.sizeBytes;
    world.append({ entries: testEntries(3, 6, 1, 700) });
    const written = inode.read(0, inode.size);
    const from = Math.ceil(size / 8) * 8;
    for (let at = from; at < from + 4000; ) {
      const length = 512 - (at % 512);
      if (!kept(Math.floor(at / 512) - Math.floor(from / 512))) {
        inode.write(at, new Uint8Array(length));
      }
      at += length;
    }
    expect(Buffer.compare(written, inode.read(0, inode.size))).not.toBe(0);
    return world;
  }

  it('takes a record with any sector missing for torn, in whatever order they reached the disk', () => {
    for (let missing = 0; missing < 6; missing++) {
      const one = reopen(crashedWorld((sector) => sector !== missing));
      expect([one.health, one.lastIndex], `sector ${missing} missing`).toEqual(['torn', 2]);
      const rest = reopen(crashedWorld((sector) => sector === missing));
      expect([rest.health, rest.lastIndex], `only sector ${missing}`).toEqual(['torn', 2]);
    }
  });
});

describe('write-ahead log and errors', { timeout: 60_000 }, () => {
  it('acknowledges nothing after a failed sync, although later syncs would succeed', () => {
    for (const kind of ['sync', 'write'] as const) {
      const world = writtenWorld(2, 100, ROOMY);
      world.disk.failNext(kind);
      world.append({ entries: testEntries(3, 3, 1) });
      world.append({ entries: testEntries(4, 4, 1) });
      world.turns.drain();
      world.append({ entries: testEntries(5, 5, 1) });
      world.turns.drain();
      expect(world.failure?.code).toBe('EIO');
      expect(world.acknowledged).toBe(2);
      expect(world.log!.lastIndex()).toBe(2);
    }
  });

  it('makes durable what it reads back after a failed sync', () => {
    const world = writtenWorld(2, 100, ROOMY);
    world.disk.failNext('sync');
    world.append({ entries: testEntries(3, 3, 1) });
    world.turns.drain();
    const first = reopen(world);
    world.crash('power');
    const opened = world.open();
    world.turns.drain();
    expect(opened.state!.lastIndex).toBe(first.lastIndex);
  });

  it('stops on an error of rename or of a directory sync when a segment is begun', () => {
    for (const kind of ['rename', 'syncDirectory'] as const) {
      const world = writtenWorld(1, 100);
      world.disk.failNext(kind);
      world.append({ entries: testEntries(2, 2, 1, 2500) });
      world.turns.drain();
      expect(world.failure?.code).toBe('EIO');
      expect(world.acknowledged).toBe(1);
    }
  });

  it('waits for space when the spare cannot be made, and goes on when there is some', () => {
    const world = new CrashWorld(1, TINY);
    world.open();
    world.disk.capacityBytes = 6144 + 8192 + 1000;
    world.turns.drain();
    expect(world.spaceReports).toEqual([true]);
    expect(world.log!.outOfSpace).toBe(true);
    expect(world.disk.names.list('wal')).not.toContain('spare');
    world.append({ entries: testEntries(1, 1, 1) });
    world.turns.drain();
    expect(world.acknowledged).toBe(1);
    world.append({ entries: testEntries(2, 2, 1, 3000) });
    world.turns.advance(5000);
    expect([world.acknowledged, world.failure]).toEqual([1, undefined]);
    world.disk.capacityBytes = Number.POSITIVE_INFINITY;
    world.turns.advance(5000);
    expect(world.acknowledged).toBe(2);
    expect(world.spaceReports).toEqual([true, false]);
    expect(world.log!.outOfSpace).toBe(false);
  });

  it('finishes a close while the disk still works on the spare', () => {
    const world = new CrashWorld(1, TINY);
    world.open();
    world.turns.drain(20);
    let closed = 0;
    world.turns.drain(10);
    world.log?.close(() => {
      closed += 1;
    });
    world.turns.drain();
    expect(closed).toBe(world.log === undefined ? 0 : 1);
  });

  it('deletes segments that hold nothing live, and only those', () => {
    const world = writtenWorld(20);
    const segments = () => world.disk.names.list('wal').filter((name) => name.endsWith('.wal'));
    const before = segments().length;
    world.compact(10);
    world.turns.drain();
    const after = segments().length;
    expect(after).toBeLessThan(before);
    expect(after).toBeGreaterThan(1);
    world.compact(20);
    world.turns.drain();
    expect(segments().length).toBe(1);
    expect(reopen(world).lastIndex).toBe(20);
  });

  it('reports an acknowledged record that rots while the log is open', () => {
    const world = writtenWorld(12);
    world.disk.flipBit('wal/00000002.wal', 4096 + 300, 2);
    for (let index = 1; index <= 12 && world.failure === undefined; index++) {
      world.log!.entries(index, index + 1, 0);
      world.turns.drain();
    }
    expect(world.failure?.code).toBe('LOG_DAMAGED');
  });

  it('survives the whole script with a process death at any time', () => {
    for (let stop = 1; stop < 19; stop++) {
      const world = new CrashWorld(stop, TINY);
      world.open();
      world.turns.drain();
      for (const step of script(world).slice(0, stop)) {
        step.run();
        world.turns.drain(step.turns);
      }
      const state = reopen(world);
      expect(['clean', 'torn']).toContain(state.health);
      expect(world.judge(state)).toBeUndefined();
    }
  });
});
